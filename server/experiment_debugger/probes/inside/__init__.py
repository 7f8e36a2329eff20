"""The agent inside a Python process of the user's: Python 3.8, standard library, and the user's own torch.

It is loaded by its place under the private name `_experiment_debugger_probe`, at the start of the interpreter.
A probe is a module with `install(agent)`.
"""

from __future__ import annotations

import sys
from typing import Any, Mapping

from .agent import Agent
from .config import CONFIG, Config


def start(environ: Mapping[str, str]) -> None:
    """Load the agent; a failure of ours costs one line on stderr and nothing else."""
    if not environ.get(CONFIG):
        return
    try:
        agent = Agent(Config.read(environ[CONFIG]))
        agent.start()
        _install(agent)
    except Exception as error:
        sys.stderr.write(f"experiment-debugger: the probe could not be loaded: {error!r}\n")


def launch(environ: Mapping[str, str], arguments: list[str]) -> None:
    """Load the agent, then run a script (`x.py ...`) or a module (`-m pkg ...`) as Python itself would."""
    start(environ)
    from . import launching

    launching.run(arguments)


def _install(agent: Agent) -> None:
    """Every part of the agent; those that need torch are loaded when it is there."""
    from . import guard, stacks

    stacks.install(agent)
    guard.install(agent)
    agent.when_imported("torch", lambda torch: _attach(agent, torch))


def _attach(agent: Agent, torch: Any) -> None:
    from . import training

    training.attach(agent, torch)
