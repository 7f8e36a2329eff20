"""What is marked in a panel: the onset of NaN, findings, spikes, overflows, restarts; one mark a place."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

from experiment_debugger.metrics.course import anomalies, rank_of
from experiment_debugger.metrics.findings import Told
from experiment_debugger.metrics.lines import places_of
from experiment_debugger.metrics.selection import Curve
from experiment_debugger.readers.series import Axis

MarkKind = Literal["nonfinite", "finding", "spike", "overflow", "resume"]
MARKS: tuple[MarkKind, ...] = ("nonfinite", "finding", "spike", "overflow", "resume")
"""In the order in which they are told."""
MOST_RESUMES = 6


@dataclass(frozen=True, slots=True)
class Mark:
    """Something odd at a position; `place` is where it is drawn, `value` None where it has no height."""

    kind: MarkKind
    step: int
    value: float | None
    name: str
    axis: Axis
    place: float
    lasting: bool = False

    @property
    def text(self) -> str:
        """What is told of it: `nan from step 58 on`."""
        if self.kind == "resume":
            return self.name
        return f"{self.name} from {self.axis} {self.step:,} on" if self.lasting else self._at

    @property
    def _at(self) -> str:
        return f"{self.name} at {self.axis} {self.step:,}"


def marks_of(drawn: Sequence[Told], repeated: Sequence[Told], run_id: str) -> tuple[Mark, ...]:
    """The marks of a panel's curves, and the findings that were made on a curve that only repeats one of them."""
    rules = {finding.rule for one in drawn for finding, _ in one.troubles}
    marks = [mark for one in drawn for mark in (*_findings(one), *_anomalies(one.curve))]
    marks += [mark for one in repeated for mark in _findings(one) if mark.name not in rules]
    marks += [mark for one in drawn if one.curve.run_id == run_id for mark in _resumes(one.curve)]
    first = min((mark.step for mark in marks if mark.kind == "nonfinite"), default=None)
    kept = (mark for mark in marks if mark.kind != "nonfinite" or mark.step == first)
    return tuple(_joined(sorted(kept, key=lambda mark: MARKS.index(mark.kind))))


def _joined(marks: Iterable[Mark]) -> list[Mark]:
    """One mark a place: `loss-diverged, spike to 255.2 at step 44`."""
    places: dict[tuple[bool, float, float | None], Mark] = {}
    for mark in marks:
        height = None if mark.value is None else float(f"{mark.value:.3g}")
        place = mark.kind == "resume", mark.place, height
        first = places.get(place)
        if first is None:
            places[place] = mark
        elif mark.name not in first.name:
            places[place] = replace(first, name=f"{first.name}, {mark.name}")
    return list(places.values())


def _findings(told: Told) -> Iterator[Mark]:
    for finding, point in told.troubles:
        if point.step is not None and isinstance(point.value, (int, float)):
            yield _mark("finding", told.curve, point.step, float(point.value), finding.rule)


def _anomalies(curve: Curve) -> Iterator[Mark]:
    """Its first value that is not finite, its largest spike, its first overflow."""
    for fact in anomalies(curve):
        kind, step, value = fact["kind"], fact["step"], fact.get("value")
        if kind == "nonfinite":
            yield replace(_mark("nonfinite", curve, step, None, str(value)), lasting=_lasts(curve, fact))
        elif kind in {"spike", "drop", "jump"}:
            yield _mark("spike", curve, step, value, f"{kind} to {fact['value']:.4g}{_number(fact)}")
        elif kind == "overflow":
            yield _mark("overflow", curve, step, value, f"overflow{_number(fact)}")


def _number(fact: dict[str, Any]) -> str:
    return f" ({rank_of(fact['kind'])} of {fact['count']})" if fact["count"] > 1 else ""


def _lasts(curve: Curve, fact: dict[str, Any]) -> bool:
    """Whether no value is finite from there on."""
    tail = curve.values[len(curve) - fact["count"] :]
    return fact["count"] > 1 and not any(map(math.isfinite, tail))


def _mark(kind: MarkKind, curve: Curve, step: int, value: float | None, name: str) -> Mark:
    return Mark(kind, step, None if value is None else float(value), name, curve.axis, _place(curve, step, value))


def _place(curve: Curve, step: int, value: float | None) -> float:
    """Where the point is drawn; several points of one epoch stand within it."""
    places = places_of(curve)
    if places is curve.steps:
        return float(step)
    there = [index for index, one in enumerate(curve.steps) if one == step]
    if value is None:
        exact = (index for index in there if not math.isfinite(curve.values[index]))
    else:
        exact = (index for index in there if math.isclose(curve.values[index], value, rel_tol=1e-4))
    return float(places[next(exact, there[0])]) if there else float(step)


def _resumes(curve: Curve) -> Iterator[Mark]:
    backs = [(before, after) for before, after in pairwise(curve.steps) if after < before]
    for before, after in backs[:MOST_RESUMES]:
        yield Mark("resume", after, None, f"back to {after:,} (from {before:,})", curve.axis, float(after))
