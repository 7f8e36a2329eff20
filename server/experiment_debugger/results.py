"""What verbs answer that act, as frozen models like those of `models`.

{"id": "s-20261130-214501-3f2a", "run_id": "42", "verdict": "reproduced", "proves": "the failure", "commit": ...}
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from experiment_debugger.models import Diagnosis, Evidence, Frozen, Value

SmokeVerdict = Literal["reproduced", "different-failure", "passed", "timed-out", "inconclusive"]
Proof = Literal["the failure", "the fix", "nothing"]
CheckName = Literal["smoke-test", "fix-committed", "experiment-unchanged", "risk-recorded"]
CHECKS: tuple[CheckName, ...] = ("smoke-test", "fix-committed", "experiment-unchanged", "risk-recorded")
CheckResult = Literal["pass", "fail", "unknown"]
Status = Literal["diagnosed", "not-fixed", "fixed", "fixed, not fully verified"]


class Isolation(Frozen):
    """One `--try`: the same command with one change. It speaks for or against a hypothesis and is never a fix."""

    change: str
    id: str
    verdict: SmokeVerdict
    speaks: Literal["for", "against", "nothing"]
    about: str
    says: str


class SmokeResult(Frozen):
    """The answer of run-smoke-test; without `verdict` the test is still running.

    `steps` are optimizer steps seen (steps of the log where none were), `exit` the status or the name of a signal,
    `stopped` why the test ended the command itself, `probes` what the injected code saw, `artifacts` whether the run's
    own files are as they were. `proves` is what the result may be cited for.
    """

    id: str
    run_id: str | None = None
    verdict: SmokeVerdict | None = None
    summary: str
    proves: Proof = "nothing"
    argv: tuple[str, ...]
    source: str | None = None
    commit: str | None = None
    dirty: bool | None = None
    steps: int | None = None
    seconds: float | None = None
    exit: int | str | None = None
    stopped: str | None = None
    diagnosis: Diagnosis | None = None
    probes: dict[str, Value] = Field(default_factory=dict)
    resources: dict[str, Value] = Field(default_factory=dict)
    artifacts: str | None = None
    isolations: tuple[Isolation, ...] = ()
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    records: str | None = None
    omitted: dict[str, int] = Field(default_factory=dict)


class Check(Frozen):
    """One question of the final sanity check, answered from facts; `reason` is the user's word about it."""

    check: CheckName
    result: CheckResult
    evidence: tuple[str, ...]
    reason: str | None = None


class ReportResult(Frozen):
    """The answer of write-debug-report: `changed` are the sections that are new or different, `status` is computed."""

    run_id: str
    path: str
    status: Status
    summary: str
    sanity_check: tuple[Check, ...]
    changed: tuple[str, ...] = ()
    picture: str | None = None
    notes: tuple[str, ...] = ()
    omitted: dict[str, int] = Field(default_factory=dict)


class RiskResult(Frozen):
    """The answer of append-risk-board: the row as it stands on the board now, by column."""

    id: str
    path: str
    action: Literal["added", "updated", "unchanged"]
    row: dict[str, str]
    notes: tuple[str, ...] = ()
    omitted: dict[str, int] = Field(default_factory=dict)


class HandoffResult(Frozen):
    """The answer of hand-off: `ready` only where the consumer can act without asking; `missing` is what keeps it."""

    id: str
    to: str
    status: str
    action: Literal["added", "updated", "unchanged"]
    paths: tuple[str, ...]
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    omitted: dict[str, int] = Field(default_factory=dict)


class Difference(Frozen):
    """One thing that is not the same in all runs; `values` in the order of the runs (None: not known or not set).

    `group` says what a setting decides, `at` where each value stands, `note` what the values say together.
    """

    key: str
    values: tuple[Value | None, ...]
    group: str | None = None
    at: tuple[str, ...] = ()
    note: str | None = None


class Parting(Frozen):
    """The first position at which a metric of two runs differs; without `equal_up_to` their first report does."""

    key: str
    step: int
    values: tuple[Value, Value]
    equal_up_to: int | None = None


class Comparison(Frozen):
    """The answer of compare-runs: the first run against the others.

    `differences` by section: config, command, code, environment, data, checkpoint, metrics, and log, which are lines
    of a shape that only the second run has.
    """

    run_ids: tuple[str, ...]
    verdict: str
    first_divergence: Parting | None = None
    differences: dict[str, tuple[Difference, ...] | tuple[Evidence, ...]]
    missing: tuple[str, ...] = ()
    omitted: dict[str, int] = Field(default_factory=dict)
