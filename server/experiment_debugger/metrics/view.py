"""The answer of read-run-metrics as data, in any size that is asked for.

{"run": "42", "series": [{"key": "train/loss", "role": "loss", "path": "logs/run-42.log", "n": 641,
  "first": [0, 2.31], "min": [612, 0.81], "max": [0, 2.31], "last": [640, "nan"], "trend": "falling",
  "change": -0.65, "anomalies": [{"kind": "finding", "rule": "loss-nan-onset", "step": 640, "value": "nan"}]}],
 "omitted": {"series": 12, "roles": {"memory": 4, "other": 8}, "keys": ["epoch"], "how": "..."}}
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from experiment_debugger.diagnose import Examination
from experiment_debugger.evidence import RunEvidence, quote_of
from experiment_debugger.metrics.course import extremes, has_gaps, rounded
from experiment_debugger.metrics.findings import Told, about_series, both_headlines, headline, tell
from experiment_debugger.metrics.pairs import partings
from experiment_debugger.metrics.selection import MACHINE, Curve, Wanted, every_curve, is_machine, place_of, select
from experiment_debugger.metrics.thinning import thinned
from experiment_debugger.metrics.trends import trend
from experiment_debugger.report.budget import Tree

MOST_PARTINGS = 5
MOST_KEYS = 8
"""Keys that are named of the series that are left out."""


@dataclass
class MetricsView:
    """Series of one run, or of two, the ones with findings first; `headline` says what is wrong in a line.

    The first `listed` of them are shown; the others are only counted until somebody asks for them by name.
    """

    run_id: str
    told: list[Told]
    headline: str
    listed: int
    other_id: str | None = None
    parted: list[dict[str, Any]] = field(default_factory=list)
    checkpoints: tuple[int, ...] = ()
    _facts: dict[int, Tree] = field(default_factory=dict)

    def __len__(self) -> int:
        """Number of series to show."""
        return self.listed

    @property
    def shown(self) -> list[Told]:
        """The series to show."""
        return self.told[: self.listed]

    def tree(self, count: int, points: int) -> Tree:
        """The first `count` series in reading order, each with at most `points` points."""
        chosen = sorted(range(min(count, len(self))), key=self._reading_order)
        data: Tree = {"run": self.run_id, "series": [self._series(index, points) for index in chosen]}
        if self.other_id is not None:
            data |= {"with": self.other_id, "parted": self.parted[:MOST_PARTINGS]}
        omitted = self._omitted(count, data["series"] if points else [])
        return {**data, "omitted": omitted} if omitted else data

    def _reading_order(self, index: int) -> tuple[int, int, str, bool]:
        curve = self.told[index].curve
        return place_of(curve), curve.evaluation, curve.key, curve.run_id != self.run_id

    def _series(self, index: int, points: int) -> Tree:
        if index not in self._facts:
            self._facts[index] = self._fact(self.told[index])
        fact = self._facts[index]
        if not points:
            return fact
        curve = self.told[index].curve
        return {**fact, "points": [_point(curve, at) for at in thinned(curve.values, points)]}

    def _fact(self, told: Told) -> Tree:
        curve = told.curve
        fact: Tree = {"run": curve.run_id} if self.other_id is not None else {}
        fact |= {"key": quote_of(curve.key), "role": curve.role, "path": curve.path, "rank": curve.rank}
        fact |= {"evaluation": curve.evaluation or None, "axis": None if curve.axis == "step" else curve.axis}
        fact |= {"n": len(curve), "first": _point(curve, 0)}
        if (found := extremes(curve)) is not None:
            fact |= {"min": _point(curve, found[0]), "max": _point(curve, found[1])}
        fact["last"] = _point(curve, len(curve) - 1)
        if (course := trend(curve)) is not None:
            fact |= {"trend": course.name, "change": course.change, "factor": course.factor}
        fact = {key: value for key, value in fact.items() if value is not None}
        return {**fact, "anomalies": told.anomalies()}

    def _omitted(self, count: int, series: Sequence[Tree]) -> Tree:
        left_out: Tree = {}
        rest = [told.curve for told in self.told[count:]]
        if rest:
            left_out = {"series": len(rest), "roles": dict(Counter(map(_kind, rest)))}
            keys = dict.fromkeys(quote_of(curve.key) for curve in rest if len(curve) > 1 and not is_machine(curve))
            left_out |= {"keys": [*keys][:MOST_KEYS]} if keys else {}
        if points := sum(one["n"] - len(one["points"]) for one in series):
            left_out["points"] = points
        return left_out


def _point(curve: Curve, index: int) -> list[Any]:
    """[position, value]."""
    return [curve.steps[index], rounded(curve.values[index])]


def _kind(curve: Curve) -> str:
    return MACHINE if is_machine(curve) else curve.kind


def read_metrics(run: Examination, wanted: Wanted, other: Examination | None = None) -> MetricsView:
    """The series that were asked for, with what the rules say about them; `other` is the run of `--with`."""
    curves, told = _told(run, wanted)
    listed = _listed(told, wanted)
    head, checkpoints = headline(listed, run.diagnosis), checkpoints_of(run.evidence)
    run_id = run.evidence.run.id
    if other is None:
        return MetricsView(run_id, _shown_first(told, listed), head, len(listed), checkpoints=checkpoints)
    theirs, theirs_told = _told(other, wanted)
    theirs_listed, other_id = _listed(theirs_told, wanted), other.evidence.run.id
    head = both_headlines({run_id: head, other_id: headline(theirs_listed, other.diagnosis)})
    listed += theirs_listed
    both = _shown_first([*told, *theirs_told], listed)
    return MetricsView(run_id, both, head, len(listed), other_id, partings(curves, theirs), checkpoints)


def _told(run: Examination, wanted: Wanted) -> tuple[list[Curve], list[Told]]:
    curves = select(every_curve(run.evidence), wanted, run.evidence.run.id)
    return curves, tell(curves, about_series(run.findings))


def _listed(told: Sequence[Told], wanted: Wanted) -> list[Told]:
    """What is shown unasked: findings, NaN, and curves with a role; without any, those that have none, else everything.

    A single point is shown where it is all that there is of its role.
    """
    if wanted.by_name:
        return [*told]
    curves = [one for one in told if len(one.curve) > 1 and not is_machine(one.curve)]
    drawn = {one.curve.role for one in curves}
    points = [one for one in told if len(one.curve) == 1 and one.curve.role not in drawn and not is_machine(one.curve)]
    known = [one for one in [*curves, *points] if one.curve.role is not None]
    shown = {id(one) for one in (known or curves)} | {id(one) for one in told if one.findings or has_gaps(one.curve)}
    return [one for one in told if id(one) in shown] or [*told]


def _shown_first(told: Sequence[Told], listed: Sequence[Told]) -> list[Told]:
    """What is shown, then the rest; both with findings first, then in the order of roles, machine readings last."""
    shown = {id(one) for one in listed}

    def place(one: Told) -> tuple[bool, bool, bool, int, bool]:
        curve = one.curve
        return id(one) not in shown, not one.findings, is_machine(curve), place_of(curve), curve.evaluation

    return sorted(told, key=place)


_CHECKPOINT_STEP = re.compile(r"(?:checkpoint|ckpt|step|iter|global_step)[-_=]?0*(\d{1,12})(?!\d)", re.IGNORECASE)


def checkpoints_of(evidence: RunEvidence) -> tuple[int, ...]:
    """The steps that names of checkpoints tell: `checkpoint-500`, `epoch=3-step=600.ckpt`, `global_step1000`."""
    names = (artifact.name for artifact in evidence.run.of_kind("checkpoint"))
    return tuple(sorted({int(found.group(1)) for name in names for found in _CHECKPOINT_STEP.finditer(name)}))
