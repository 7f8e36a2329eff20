"""How the run ended: what schedulers, wrappers and the log itself say."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from experiment_debugger.diagnose.ranking import comes_before
from experiment_debugger.discovery.declared import run_state
from experiment_debugger.evidence import FileEvidence, RunEvidence
from experiment_debugger.models import Finding, RunState
from experiment_debugger.rules.rulebook import Rulebook

DEADLY = frozenset({"crash", "oom", None})
FRESH_STAMP = 14 * 3600.0
"""Seconds; stamps carry no time zone, so a stamp of this moment may look up to 14 hours off."""
WRITTEN_LATELY = 3600.0
"""Seconds since a log with such a stamp was last written; copying makes a file younger, never older."""
FRESH_FILE = 600.0
"""Seconds since a log without stamps was last written that still mean: it is being written."""
COPIED_TOGETHER = 60.0
"""Seconds between the oldest and the newest file of a run; files that were copied or checked out have one age."""


@dataclass(frozen=True)
class Ending:
    """How the last attempt ended.

    `normal`: the run says that it ended well, or its last report stands at the planned end, and no failure is later.
    `progressing`: it is still being written, or was declared running, and its last lines are progress.
    `stops`: the log ends with reports of training, without a word.
    """

    state: RunState
    normal: bool
    progressing: bool
    stops: bool
    said_by: Finding | None


def ending_of(
    evidence: RunEvidence, findings: Sequence[Finding], failures: Sequence[Finding], book: Rulebook
) -> Ending:
    """The end of the last attempt."""
    endings = [finding for finding in findings if finding.role == "ending"]
    last = endings[-1] if endings else None
    after = [failure for failure in failures if last is None or comes_before(failure, last) is not True]
    in_progress = any(_ends_in_progress(entry) for entry in evidence.files)
    reached = any(_reached_plan(entry) for entry in evidence.files)
    normal = not after and (last is not None or reached)
    declared = run_state(evidence.run.declared.state) == "running"
    alive = not failures and not normal and (declared or (in_progress and is_alive(evidence)))
    lived_on = (last is not None or reached) and all(_lets_live(failure) for failure in failures)
    state = "running" if alive else _state(evidence, failures, normal or lived_on, book)
    return Ending(state, normal, alive, in_progress and not normal and not alive, last)


def _reached_plan(entry: FileEvidence) -> bool:
    """Whether a log stands at its end; where the end itself was not reported, its last line must be whole."""
    progress = entry.progress
    return progress.reached_plan and (progress.stands_at_total or not entry.stats.torn)


def _lets_live(failure: Finding) -> bool:
    """Whether a process survives such a failure: a NaN or a wrong metric does not end it."""
    return failure.mode not in DEADLY and failure.level != "fatal"


def is_alive(evidence: RunEvidence) -> bool:
    """Whether the run is being written now: a fresh stamp, or a fresh file without stamps."""
    now = time.time()
    stamps = [entry.last_time for entry in evidence.files if entry.last_time is not None]
    newest = max((entry.artifact.mtime for entry in evidence.files), default=0.0)
    if stamps:
        return abs(now - max(stamps)) < FRESH_STAMP and now - newest < WRITTEN_LATELY
    oldest = min((artifact.mtime for artifact in evidence.run.artifacts), default=now)
    return now - newest < FRESH_FILE and newest - oldest > COPIED_TOGETHER


def _state(evidence: RunEvidence, failures: Sequence[Finding], ended: bool, book: Rulebook) -> RunState:
    for failure in reversed(failures):
        info = book.info(failure.rule)
        if info is not None and info.run_state is not None:
            return info.run_state
    if failures and not ended and any(failure.level in {"fatal", "error"} for failure in failures):
        return "failed"
    return "completed" if ended else run_state(evidence.run.declared.state)


def _ends_in_progress(entry: FileEvidence) -> bool:
    """Whether the last lines of the file are training or evaluation reports."""
    lines = entry.progress.lines
    return bool(lines) and entry.stats.last_line - lines[-1] <= 3
