"""What a pass must have behind it before it may be cited as proof of a fix.

A pass alone may be this machine (another device, another library), an uncommitted change, or a shorter run: the same
command must have failed here before, at a commit from which the tested one descends.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from experiment_debugger import git
from experiment_debugger.smoke.records import PLAN, Records
from experiment_debugger.verify.trial import Trial


def doubt_of(trial: Trial) -> str | None:
    """Why a pass proves no fix; None when it does."""
    workspace, plan = trial.workspace, trial.plan
    if plan.failure is None:
        return "there was no failure to fix"
    if plan.is_preflight or workspace is None or workspace.commit is None:
        return "it tested no commit"
    if workspace.dirty:
        return "something that no commit holds took part"
    if trial.change is not None:
        return "a change made for the test is no fix"
    if trial.touched:
        return f"files of the run changed meanwhile ({len(trial.touched)})"
    if not any(_was_reproduction(kept, trial, workspace.commit) for kept in _earlier(trial)):
        return "this command was not seen to fail here at an earlier commit; run it without --at first"
    return None


def _was_reproduction(kept: dict[str, Any], trial: Trial, commit: str) -> bool:
    answer, before = kept.get("answer"), kept.get("commit")
    run = trial.plan.run
    if not isinstance(answer, dict) or answer.get("proves") != "the failure" or not isinstance(before, str):
        return False
    asked = (kept.get("asked"), kept.get("run_id"), kept.get("resume"))
    resume = str(trial.plan.resume) if trial.plan.resume else None
    same = run is not None and asked == (trial.plan.command.spoken, run.id, resume)
    return same and before != commit and _descends(trial, before, commit)


def _descends(trial: Trial, before: str, commit: str) -> bool:
    return git.output(trial.plan.place.root, "merge-base", "--is-ancestor", before, commit) is not None


def _earlier(trial: Trial) -> Iterator[dict[str, Any]]:
    folder = trial.records.folder
    for path in sorted(folder.parent.glob("s-*"), reverse=True):
        if path != folder:
            yield Records(path).read(PLAN)
