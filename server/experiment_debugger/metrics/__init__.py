"""The numbers of a run as a reader wants them: which series, how each went, what is odd in it, and what to draw."""

from __future__ import annotations

from experiment_debugger.metrics.chart import Chart, chart_of
from experiment_debugger.metrics.selection import Wanted
from experiment_debugger.metrics.view import MetricsView, read_metrics

__all__ = ["Chart", "MetricsView", "Wanted", "chart_of", "read_metrics"]
