"""Earlier smoke tests of the project: was the failure reproduced here, by the same command, before its fix."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from experiment_debugger.smoke.records import PLAN, Records
from experiment_debugger.verify.trial import Trial


def was_reproduced(trial: Trial) -> bool:
    """Whether an earlier test with this command answered `reproduced` for this run at another commit."""
    now, run = trial.plan.command.spoken, trial.plan.run
    return any(
        kept.get("asked") == now
        and kept.get("answer", {}).get("verdict") == "reproduced"
        and kept.get("change") is None
        and run is not None
        and kept.get("run_id") == run.id
        and kept.get("commit") != trial.plan.commit
        for kept in _earlier(trial)
    )


def _earlier(trial: Trial) -> Iterator[dict[str, Any]]:
    folder = trial.records.folder
    for path in sorted(folder.parent.glob("s-*"), reverse=True):
        if path != folder:
            yield Records(path).read(PLAN)
