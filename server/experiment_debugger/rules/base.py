"""The form of every rule and cause, and the three entry points of detectors.

A log signature is data, one entry of `signatures/<family>.yaml`:

    - id: slurm-oom-kill
      title: The scheduler's cgroup killed a step that used more host memory than the job was given
      mode: crash
      symptom_class: host-memory-exhausted
      role: root
      level: fatal
      needs: [log]
      match:
        literals: ['oom_kill event', 'oom-kill event']
        regex: 'Detected (?P<count>\\d+) oom[-_]kill events? in StepId=(?P<step_id>\\S+)'
      why: 'The limit is host RAM of the whole job, loader workers included.'
      confirm: ['sacct: State OUT_OF_MEMORY, compare MaxRSS with ReqMem']
      false_positives: ['a helper process was killed while the trainer went on']
      references: ['https://github.com/SchedMD/slurm/...']
      verified: source
      examples:
        fires: ['slurmstepd: error: Detected 1 oom_kill event in StepId=123.0. Some of the step tasks ...']
        silent: ['oom_kill event counter reset']

A cause is an entry of `taxonomy/<family>.yaml`; modes and symptom classes stand in `taxonomy/modes.yaml` and
`taxonomy/symptoms.yaml`. Everything is found by scanning the folders; there is no list to keep.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from experiment_debugger.models import Evidence, Finding, Frozen, Kind, Level, Mode, Position, Role, RunState, Within

ID_PATTERN = r"^[a-z][a-z0-9]*(?:-[a-z0-9]+)+$"
MIN_LITERAL = 6

RuleId = Annotated[str, Field(pattern=ID_PATTERN)]
Text = Annotated[str, Field(min_length=8)]
Need = Literal["log", "scheduler", "kernel", "config", "code", "series", "pair"]
Verified = Literal["source", "thread", "run"]


class WithinLines(Frozen):
    """Another text that must stand within `lines` lines of the match, in the same file and rank."""

    lines: int = Field(ge=1, le=200)
    literals: tuple[str, ...] = Field(min_length=1)


class Match(Frozen):
    """How a signature recognises a line. There is no further operator: more logic means a detector.

    `literals` are mandatory, case-sensitive, at least 6 characters, any of them makes the line a candidate (they carry
    the speed of the scan); `regex` then decides and its named groups become values; `unless` on the same line vetoes;
    `min_count` counts matches per file.
    """

    literals: tuple[str, ...] = Field(min_length=1)
    regex: str | None = None
    unless: str | None = None
    within_lines: WithinLines | None = None
    min_count: int = Field(default=1, ge=1)

    @field_validator("literals")
    @classmethod
    def _literals_are_long(cls, literals: tuple[str, ...]) -> tuple[str, ...]:
        for literal in literals:
            if len(literal) < MIN_LITERAL:
                raise ValueError(f"literal '{literal}' has fewer than {MIN_LITERAL} characters; use a longer one")
            if not literal.isprintable():
                raise ValueError(f"literal {literal!r} has a control character; use the regex for it")
        return literals

    @cached_property
    def pattern(self) -> re.Pattern[str] | None:
        """The compiled regex; compiled on first use because most rules never see a candidate line."""
        return re.compile(self.regex) if self.regex else None

    @cached_property
    def veto(self) -> re.Pattern[str] | None:
        """The compiled `unless`."""
        return re.compile(self.unless) if self.unless else None


class Examples(Frozen):
    """Lines as frameworks print them: every `fires` must match, every `silent` must not."""

    fires: tuple[str, ...] = Field(min_length=1)
    silent: tuple[str, ...] = Field(min_length=1)


class RuleInfo(Frozen):
    """What signatures, detectors and code checks have in common."""

    id: RuleId
    title: Text
    mode: Mode | None = None
    kind: Kind = "bug"
    symptom_class: str
    role: Role
    level: Level
    needs: tuple[Need, ...] = ("log",)
    within: Within | None = None
    run_state: RunState | None = None
    why: Text
    confirm: tuple[Text, ...] = Field(min_length=1)
    false_positives: tuple[Text, ...] = ()
    references: tuple[str, ...] = Field(min_length=1)
    verified: Verified

    @model_validator(mode="after")
    def _root_has_mode(self) -> RuleInfo:
        if self.role in {"root", "symptom"} and self.mode is None:
            raise ValueError(f"role {self.role} needs a mode")
        return self

    def finding(self, position: Position, evidence: Iterable[Evidence], **facts: Any) -> Finding:
        """A finding of this rule; `facts` are its further fields, and those that differ from the rule's own."""
        own = {name: getattr(self, name) for name in ("mode", "kind", "symptom_class", "role", "level", "title")}
        return Finding(rule=self.id, position=position, evidence=tuple(evidence), **{**own, **facts})


class Signature(RuleInfo):
    """A line pattern with its meaning."""

    match: Match
    refines: tuple[RuleId, ...] = ()
    examples: Examples

    def groups(self, text: str) -> dict[str, str] | None:
        """Named groups of the match in one line, or None when the line does not match (min_count aside)."""
        match = self.match
        if match.veto and match.veto.search(text):
            return None
        if match.pattern is None:
            return {} if any(literal in text for literal in match.literals) else None
        found = match.pattern.search(text)
        return None if found is None else {key: value for key, value in found.groupdict().items() if value is not None}


class Cause(Frozen):
    """Why something failed, as far as evidence can say, and what to do about it.

    `supported_by` names rules whose finding speaks for this cause; one of `requires` (default: any of supported_by)
    must have fired. `contradicted_by` names rules that speak against it. `tempting_fix` only silences.
    """

    id: RuleId
    mode: Mode
    text: Text
    shows: Text
    confirm: Text
    fix: Text
    tempting_fix: Text
    supported_by: tuple[RuleId, ...] = Field(min_length=1)
    requires: tuple[RuleId, ...] = ()
    contradicted_by: tuple[RuleId, ...] = ()
    references: tuple[str, ...] = ()
    next_skill: Literal["data-pipeline-manager", "result-diagnosis", "run-experiment"] | None = None


class ModeInfo(Frozen):
    """One of the eight modes."""

    id: Mode
    title: Text
    means: Text
    never: Text
    cheapest_test: Text
    collect: tuple[Text, ...] = Field(min_length=1)


class SymptomClass(Frozen):
    """A node of the cause-and-effect graph: a root `leads_to` effects, a symptom is explained by a root.

    `rank` orders classes that are equally early and unexplained: smaller is nearer to a root. `late` marks classes
    that are reported after their effect (a scheduler prints the kill when the step has ended).
    """

    id: str = Field(pattern=r"^[a-z]+(?:-[a-z]+)*$")
    text: Text
    leads_to: tuple[str, ...] = ()
    rank: int = Field(ge=0, le=11)
    late: bool = False


@dataclass(frozen=True)
class Detector:
    """A rule with logic. `scope` says what `check` is given: one series, one run, or a pair of runs.

    A detector of series is called for every series of its `roles` (of any role when there are none).
    """

    info: RuleInfo
    scope: Literal["series", "run", "pair"]
    check: Callable[..., Iterable[Finding]]
    roles: tuple[str, ...] = ()


Wrap = Callable[[Callable[..., Iterable[Finding]]], Detector]


def series_detector(*roles: str, **info: Any) -> Wrap:
    """Decorator: `check(entry, series, evidence)` looks at one metric series of the source `entry`."""
    return _detector("series", {"needs": ("series",), **info}, roles)


def run_detector(**info: Any) -> Wrap:
    """Decorator: `check(evidence, book)` looks at everything that was read of one run."""
    return _detector("run", info)


def pair_detector(**info: Any) -> Wrap:
    """Decorator: `check(one, other)` compares two runs."""
    return _detector("pair", info)


def _detector(scope: Literal["series", "run", "pair"], info: dict[str, Any], roles: tuple[str, ...] = ()) -> Wrap:
    def wrap(check: Callable[..., Iterable[Finding]]) -> Detector:
        return Detector(RuleInfo(**info), scope, check, roles)

    return wrap
