"""experiment-debugger: one evidence-backed diagnosis for a failed training run."""

__version__ = "0.1.0"
