"""The verbs: one function each. Both surfaces are built from COMMANDS; the first lines of a docstring are its help.

Everything heavy is imported inside the functions, so that listing verbs and `--help` cost next to nothing.
"""

from __future__ import annotations

from typing import Any

from experiment_debugger.api.comparing import compare_runs
from experiment_debugger.api.reading import (
    classify_failure,
    debug,
    explain,
    gather_run_context,
    list_modes,
    read_run_logs,
    read_run_metrics,
)
from experiment_debugger.api.showing import (
    show_comparison,
    show_context,
    show_diagnosis,
    show_handoff,
    show_metrics,
    show_report,
    show_risk,
    show_smoke,
)
from experiment_debugger.api.smoke import ALLOW_RUN, ask_to_run, run_smoke_test
from experiment_debugger.api.writing import append_risk_board, hand_off, write_debug_report
from experiment_debugger.command import Command
from experiment_debugger.report.budget import TextAnswer, speakable

__all__ = ["ALLOW_RUN", "COMMANDS", "classify_failure", "explain", "list_modes", "structured"]

COMMANDS: tuple[Command, ...] = (
    Command(debug, title="Debug a run", exit_code=True),
    Command(gather_run_context, title="Gather the context of a run", result="structured", show=show_context),
    Command(read_run_logs, title="Read the logs of a run"),
    Command(read_run_metrics, title="Read the metrics of a run", result="structured", show=show_metrics, picture=True),
    Command(classify_failure, title="Classify a failure", result="structured", show=show_diagnosis, exit_code=True),
    Command(compare_runs, title="Compare runs", result="structured", show=show_comparison),
    Command(
        run_smoke_test,
        title="Run a smoke test",
        result="structured",
        show=show_smoke,
        question=ask_to_run,
        read_only=False,
        destructive=True,
        idempotent=False,
        open_world=True,
    ),
    Command(write_debug_report, title="Write the debug report", result="structured", show=show_report, read_only=False),
    Command(append_risk_board, title="Record a risk", result="structured", show=show_risk, read_only=False),
    Command(hand_off, title="Hand a run to a sibling skill", result="structured", show=show_handoff, read_only=False),
    Command(explain, title="Explain a mode, cause or rule"),
)


def structured(result: Any) -> Any:
    """An answer as plain data, the same on every surface: no empty keys, no lone surrogates."""
    from experiment_debugger.models import Frozen, as_dict

    if isinstance(result, TextAnswer):
        return speakable(result.as_json())
    return speakable(as_dict(result) if isinstance(result, Frozen) else result)
