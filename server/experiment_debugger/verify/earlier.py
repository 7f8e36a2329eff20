"""The smoke tests of a run that have ended, newest first, as their records tell them.

.experiment-debugger/smoke/s-20261130-214501-3f2a/smoke.json
    {"run_id": "42", "asked": "python train.py", "commit": "1f3c9ab...", "answer": {"verdict": "reproduced", ...}}
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from experiment_debugger.case import SmokeTest, Tried
from experiment_debugger.results import Isolation, SmokeResult
from experiment_debugger.smoke.order import GIVEN
from experiment_debugger.smoke.records import HOME, PLAN, Records

MOST_READ = 300
"""Newest records that are looked at; older ones belong to other cases."""


def tests_of(root: Path, run_id: str) -> tuple[SmokeTest, ...]:
    """The ended smoke tests of a run, newest first; isolations belong to the test that they were started with."""
    folders = sorted((root / HOME / "smoke").glob("s-*"), key=_age, reverse=True)
    return tuple(_ended(folders[:MOST_READ], run_id))


def _age(folder: Path) -> tuple[str, int]:
    """Its second is in the name of a folder; within that second the time of its last change tells."""
    try:
        changed = (folder / PLAN).stat().st_mtime_ns
    except OSError:
        changed = 0
    return folder.name[:17], changed


def _ended(folders: list[Path], run_id: str) -> Iterator[SmokeTest]:
    for folder in folders:
        kept = Records(folder).read(PLAN)
        if kept.get("run_id") != run_id or kept.get("change"):
            continue
        try:
            answer = SmokeResult.model_validate(kept.get("answer"))
        except ValidationError:  # still running, or its server is gone
            continue
        if answer.verdict is not None:
            yield _tested(answer, kept)


def _tested(answer: SmokeResult, kept: dict[str, Any]) -> SmokeTest:
    first = answer.diagnosis.modes[0] if answer.diagnosis and answer.diagnosis.modes else None
    assert answer.verdict is not None  # noqa: S101 (asked by the only caller)
    return SmokeTest(
        id=answer.id,
        verdict=answer.verdict,
        proves=answer.proves,
        summary=answer.summary,
        command=str(kept.get("asked") or kept.get("command") or ""),
        own_command=kept.get("source") != GIVEN,
        commit=answer.commit,
        dirty=answer.dirty,
        failure=f"{first.mode}, {first.cause or 'cause open'}" if first else None,
        isolations=tuple(_tried(one) for one in answer.isolations),
        passing_changes=tuple(one.change for one in answer.isolations if one.verdict == "passed"),
    )


def _tried(one: Isolation) -> Tried:
    result = one.says if one.speaks == "nothing" else f"speaks {one.speaks} it: {one.says}"
    return Tried(hypothesis=one.about, test=f"try {one.change} ({one.id})", result=result)
