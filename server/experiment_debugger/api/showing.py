"""How structured answers read for people; the command line prints this where it does not print JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiment_debugger.report.budget import Tree

if TYPE_CHECKING:
    from experiment_debugger.models import Diagnosis
    from experiment_debugger.results import Comparison, HandoffResult, ReportResult, RiskResult, SmokeResult


def show_diagnosis(diagnosis: Diagnosis) -> str:
    """The answer of `classify_failure` for people."""
    from experiment_debugger.report.markdown import debug_markdown

    return debug_markdown(diagnosis)


def show_context(context: Tree) -> str:
    """The answer of `gather_run_context` for people."""
    from experiment_debugger.report.context import context_markdown

    return context_markdown(context)


def show_metrics(metrics: Tree) -> str:
    """The answer of `read_run_metrics` for people."""
    from experiment_debugger.report.metrics import metrics_markdown

    return metrics_markdown(metrics)


def show_comparison(result: Comparison) -> str:
    """The answer of `compare_runs` for people."""
    from experiment_debugger.report.comparison import comparison_markdown

    return comparison_markdown(result)


def show_smoke(result: SmokeResult) -> str:
    """The answer of `run_smoke_test` for people."""
    from experiment_debugger.report.smoke import smoke_markdown

    return smoke_markdown(result)


def show_report(result: ReportResult) -> str:
    """The answer of `write_debug_report` for people."""
    from experiment_debugger.report.writing import report_markdown

    return report_markdown(result)


def show_risk(result: RiskResult) -> str:
    """The answer of `append_risk_board` for people."""
    from experiment_debugger.report.writing import risk_markdown

    return risk_markdown(result)


def show_handoff(result: HandoffResult) -> str:
    """The answer of `hand_off` for people."""
    from experiment_debugger.report.writing import handoff_markdown

    return handoff_markdown(result)
