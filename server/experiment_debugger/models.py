"""The types that flow from readers through rules and diagnosis to the surfaces.

Everything here is a frozen pydantic model that refuses unknown fields. Bulk data (lines, points) is not: see
`readers`. The JSON that users see is `as_dict` of these models: keys without a value are left out.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Mode = Literal[
    "nan-gradient",
    "oom",
    "slow-training",
    "slow-data",
    "metric-error",
    "repro-failure",
    "crash",
    "silent-error",
]
MODES: tuple[Mode, ...] = (
    "nan-gradient",
    "oom",
    "slow-training",
    "slow-data",
    "metric-error",
    "repro-failure",
    "crash",
    "silent-error",
)
_ALIASES: dict[str, Mode] = {
    "nan": "nan-gradient",
    "oom": "oom",
    "slow": "slow-training",
    "metric": "metric-error",
    "repro": "repro-failure",
    "crash": "crash",
    "silent": "silent-error",
}
MODE_ALIASES: dict[str, Mode] = {**_ALIASES, **{mode: mode for mode in MODES}}

Kind = Literal["bug", "science"]
Role = Literal["root", "symptom", "teardown", "context", "ending"]
Level = Literal["fatal", "error", "warning", "info"]
Confidence = Literal["high", "medium", "low"]
RunState = Literal["running", "completed", "failed", "cancelled", "timeout", "preempted", "unknown"]
Verdict = Literal["failure", "healthy", "inconclusive"]
Phase = Literal[
    "startup",
    "step-0",
    "early-training",
    "mid-training",
    "late-training",
    "evaluation",
    "checkpoint",
    "shutdown",
    "unknown",
]
Within = Literal["init", "data", "forward", "backward", "optimizer", "collective", "evaluation", "checkpoint"]
Determinism = Literal["deterministic", "intermittent", "unknown"]
Value = float | int | str
"""A number, or one of "nan", "inf", "-inf" (JSON has no such numbers), or a short text."""


class Frozen(BaseModel):
    """Base of all types here: immutable, no unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def as_value(number: float) -> Value:
    """A float as it may stand in JSON: NaN and infinities become "nan", "inf", "-inf"."""
    if math.isnan(number):
        return "nan"
    if math.isinf(number):
        return "inf" if number > 0 else "-inf"
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


class Evidence(Frozen):
    """What was seen and where. `line` is 1-based, lines end at \\n only; `quote` can be re-read at that place."""

    path: str
    line: int | None = None
    step: int | None = None
    quote: str | None = None
    key: str | None = None
    value: Value | None = None


class Onset(Frozen):
    """When in training the failure began."""

    phase: Phase = "unknown"
    step: int | None = None
    within: Within | None = None


class Position(Frozen):
    """Where a finding stands in the run, as far as known; used for the partial order of findings.

    `time` is seconds since the epoch as printed on the line itself (no time zone), `not_before` the stamp of the
    nearest earlier line, `rank` the global rank, `attempt` the 0-based index of the retry, requeue or resume.
    """

    path: str
    line: int | None = None
    step: int | None = None
    time: float | None = None
    not_before: float | None = None
    rank: int | None = None
    attempt: int = 0


class Finding(Frozen):
    """One rule's symptom, with at least one piece of evidence."""

    rule: str
    mode: Mode | None
    kind: Kind = "bug"
    symptom_class: str
    role: Role
    level: Level
    title: str
    position: Position
    evidence: Annotated[tuple[Evidence, ...], Field(min_length=1)]
    count: int = 1
    values: dict[str, str] = {}
    exception: str | None = None
    recovered: bool = False
    fingerprint: str = ""


class Outcome(Frozen):
    """What became of one rule: "looked and found nothing" is never the same as "could not look"."""

    rule: str
    status: Literal["fired", "clear", "not_applicable", "error"]
    reason: str | None = None
    findings: tuple[Finding, ...] = ()


class Hypothesis(Frozen):
    """One ranked explanation: (mode, cause) with its support and what would refute it."""

    mode: Mode
    cause: str | None = None
    confidence: Confidence
    summary: str
    onset: Onset
    evidence: tuple[Evidence, ...]
    against: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    refute_with: str | None = None
    next_checks: tuple[str, ...] = ()
    rules: tuple[str, ...]


class Consequence(Frozen):
    """A loud line that another finding explains."""

    rule: str
    path: str
    line: int | None = None
    explained_by: str


class Checked(Frozen):
    """All rules by outcome, so that silence can be told from blindness."""

    fired: tuple[str, ...] = ()
    error: tuple[str, ...] = ()
    not_applicable: dict[str, int] = {}
    clear: int = 0
    suppressed: int | None = None


class Coverage(Frozen):
    """What was read. `points` are those of metric series next to the logs; the names of paths carry the reason."""

    files: int = 0
    lines: int = 0
    bytes: int = 0
    points: int | None = None
    unreadable: tuple[str, ...] = ()
    not_looked_at: tuple[str, ...] = ()
    note: str | None = None


class Diagnosis(Frozen):
    """The answer of classify-failure."""

    schema_version: int = 1
    run_id: str
    run_state: RunState
    verdict: Verdict
    summary: str
    modes: tuple[Hypothesis, ...] = ()
    determinism: Determinism = "unknown"
    consequences: tuple[Consequence, ...] = ()
    next_skill: str | None = None
    seen_before: tuple[str, ...] = ()
    checked: Checked
    coverage: Coverage
    omitted: dict[str, int] = {}


class AttemptFact(Frozen):
    """One try of a run: its label (such as `slurm-42-1.out`) and how many files carry it."""

    index: int
    label: str
    files: int


class RunFact(Frozen):
    """Which run this is, how it was found, how it ended, and how far it came."""

    id: str
    how_found: str
    state: RunState
    attempts: tuple[AttemptFact, ...] = ()
    last_step: int | None = None
    planned_steps: int | None = None
    failed_in: Onset | None = None


class ArtifactFact(Frozen):
    """One file of the run; `why` says how it came to belong to it, `bytes` is its size on disk.

    Of a checkpoint: the `step` it was saved at, which parts of a resume it has, and what is damaged or hostile.
    """

    path: str
    kind: str
    bytes: int
    why: str
    attempt: int | None = None
    rank: int | None = None
    step: int | None = None
    state: dict[str, bool] | None = None
    damage: str | None = None


class Said(Frozen):
    """A fact with the place that says it (`path:line`)."""

    value: Value
    at: str


class ErrorFact(Frozen):
    """The exact error: exception, message, the deepest frame of the user's own code, and where it is quoted from."""

    path: str
    line: int
    text: str
    exception: str | None = None
    frame: str | None = None
    function: str | None = None


class RunContext(Frozen):
    """The answer of gather-run-context; `changed` are inputs that are not what they were when first looked at."""

    run: RunFact
    artifacts: tuple[ArtifactFact, ...]
    config: dict[str, Said] = {}
    command: Said | None = None
    commit_of_run: Said | None = None
    commit_now: str | None = None
    dirty: bool | None = None
    environment: dict[str, Said] = {}
    hardware: dict[str, Said] = {}
    error: ErrorFact | None = None
    scheduler: dict[str, Said] = {}
    changed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    siblings: tuple[str, ...] = ()
    omitted: dict[str, int] = {}


def as_dict(model: BaseModel) -> dict[str, Any]:
    """The model as plain data without keys that have no value (None); empty lists and zeros stay."""
    return model.model_dump(mode="json", exclude_none=True)
