"""The verb that holds runs against each other."""

# No `from __future__ import annotations` here: the surfaces read the annotations of these functions as objects.

from typing import TYPE_CHECKING

from experiment_debugger.api.places import examined, project_of, run_of
from experiment_debugger.arguments import LastGood, MaxTokens, ProjectDir, RunIds
from experiment_debugger.command import CALL
from experiment_debugger.errors import DebuggerError
from experiment_debugger.report.budget import DEFAULT_TOKENS

if TYPE_CHECKING:
    from experiment_debugger.results import Comparison


def compare_runs(
    run_ids: RunIds = None,
    last_good: LastGood = None,
    project: ProjectDir = None,
    max_tokens: MaxTokens = DEFAULT_TOKENS,
) -> "Comparison":
    """What differs between runs: settings, command, code, packages, data, checkpoint, where their curves part, new log
    lines; and what that says. Or paths of checkpoints, one or several.
    """
    from experiment_debugger.compare import comparison
    from experiment_debugger.compare.checkpoints import checkpoints_named, compare_checkpoint_files
    from experiment_debugger.compare.last_good import last_good as newest_good
    from experiment_debugger.report.comparison import fitted_comparison

    place, names = project_of(project), list(run_ids or ())
    files = checkpoints_named(place, names, typed=CALL.get().typed) if names else []
    if files and last_good is None:
        return fitted_comparison(compare_checkpoint_files(place, files), max_tokens)
    if last_good is not None:
        names = [last_good, *names]
    if len(names) < 2 and last_good is None:
        raise DebuggerError(f"expected two or more runs, or --last-good RUN; found {len(names)}; name the other one")
    runs = [examined(run_of(name, place)) for name in names]
    if last_good is not None:
        runs = [newest_good(runs[0]), *runs]
    return fitted_comparison(comparison.compare_runs(runs), max_tokens)
