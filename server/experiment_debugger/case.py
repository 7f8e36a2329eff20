"""One debugged run as its report tells it: what was found, what somebody has told about it, and what is proven.

{"status": "fixed", "sanity_check": [{"check": "smoke-test", "result": "pass", "evidence": ["s-2026..."]}],
 "fix": {"commit": "5d6e7f8...", "files": ["data/collate.py"]}, "told": {"root_cause": "Truncation cut every answer."}}
"""

from __future__ import annotations

from pydantic import Field

from experiment_debugger.models import Diagnosis, Frozen, RunContext
from experiment_debugger.results import Check, CheckName, Proof, SmokeVerdict, Status

MOST_REMEMBERED = 50
"""Hypotheses and notes that a report keeps of what was told; more is a diary."""


class Tried(Frozen):
    """One hypothesis, the test of it, and what came out."""

    hypothesis: str
    test: str = ""
    result: str = ""


class Told(Frozen):
    """What people and assistants have told about a case; the report remembers it.

    `fix_commit` is a full sha. `reasons` say, by check, why something stays unknown or is not done. What argues about a
    fix (why it is unchanged, reasons) was told about the commit `told_for`.
    """

    root_cause: str | None = None
    fix_commit: str | None = None
    why_unchanged: str | None = None
    hypotheses: tuple[Tried, ...] = ()
    notes: tuple[str, ...] = ()
    reasons: dict[CheckName, str] = Field(default_factory=dict)
    told_for: str | None = None

    def then(self, later: Told) -> Told:
        """What is known after something more was told: a later word about the same thing replaces the earlier one."""
        known = {one.hypothesis: one for one in (*self.hypotheses, *later.hypotheses)}
        return Told(
            root_cause=later.root_cause or self.root_cause,
            fix_commit=later.fix_commit or self.fix_commit,
            why_unchanged=later.why_unchanged or self.why_unchanged,
            hypotheses=tuple(known.values())[-MOST_REMEMBERED:],
            notes=tuple(dict.fromkeys((*self.notes, *later.notes)))[-MOST_REMEMBERED:],
            reasons={**self.reasons, **later.reasons},
            told_for=None if later.why_unchanged or later.reasons else self.told_for,
        )


class SmokeTest(Frozen):
    """One smoke test of the run that has ended; `command` as it was asked for, `failure` the mode and cause it showed.

    `own_command`: it ran the command of the run, not one given by hand.
    """

    id: str
    verdict: SmokeVerdict
    proves: Proof
    summary: str
    command: str
    own_command: bool
    commit: str | None = None
    dirty: bool | None = None
    failure: str | None = None
    isolations: tuple[Tried, ...] = ()
    passing_changes: tuple[str, ...] = ()


class Fix(Frozen):
    """The commit that fixes: full shas, the files it changes that are code or config, and what speaks about them.

    `base` is the commit of the failing run, where known; `descends` whether the fix comes after it; `proven` the commit
    at which a smoke test has proven it; `uncommitted` those of its files that the working tree changes again;
    `other_files` are documents and the like; `kept` whether a branch or tag still has the corrected commit;
    `undone` those of its files that what is checked out has otherwise (None: it is not checked out at all).
    """

    commit: str
    subject: str
    files: tuple[str, ...] = ()
    other_files: tuple[str, ...] = ()
    uncommitted: tuple[str, ...] = ()
    base: str | None = None
    descends: bool | None = None
    told: bool = False
    proven: str | None = None
    kept: bool = True
    undone: tuple[str, ...] | None = ()

    @property
    def corrected(self) -> str:
        """The commit that the corrected job runs at: the one that was proven, which may have more than the fix."""
        return self.proven or self.commit


class Changed(Frozen):
    """One setting that differs between the failing run and its fix; no value: it is not there."""

    key: str
    path: str
    group: str
    before: str | None = None
    after: str | None = None


class Changes(Frozen):
    """What differs between the failing commit and the fix, as far as it can be compared."""

    settings: tuple[Changed, ...] = ()
    configs: tuple[str, ...] = ()
    other_configs: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    other_files: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()


class Case(Frozen):
    """Everything that the report, the hand-offs and the sanity check speak about.

    `board_problem` says why a board could not be read; then its ids are not known.
    """

    run_id: str
    context: RunContext
    diagnosis: Diagnosis
    told: Told = Told()
    tested: tuple[SmokeTest, ...] = ()
    fix: Fix | None = None
    changes: Changes | None = None
    sanity_check: tuple[Check, ...] = ()
    status: Status = "diagnosed"
    risks: tuple[str, ...] = ()
    handoffs: tuple[str, ...] = ()
    board_problem: str | None = None
    pictures: tuple[str, ...] = ()

    def check(self, name: CheckName) -> Check:
        """One answer of the sanity check."""
        return next(one for one in self.sanity_check if one.check == name)
