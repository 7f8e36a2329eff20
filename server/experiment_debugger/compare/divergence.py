"""Where the curves of two runs part, and the noise between runs that differ in their seed alone.

from the first report    initialisation, data order, settings or environment: nothing has been learnt yet
later                    equal for a while: dropout, workers, the next epoch's order, sums in another order, a resume
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from experiment_debugger.evidence import RunEvidence
from experiment_debugger.metrics.course import rounded
from experiment_debugger.metrics.pairs import common_points, same_name, same_value
from experiment_debugger.metrics.selection import Curve, every_curve, is_machine
from experiment_debugger.models import Value

OF_THE_MACHINE = frozenset({"step-time", "data-time", "throughput", "memory", "host-memory", "time"})
"""Roles that differ between any two runs: of the machine, not of learning."""
WIDTH = 2.0
"""Standard deviations of the seeds that are still noise."""


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first position at which a metric of two runs differs; `equal_up_to` is the last one that was the same."""

    key: str
    step: int
    values: tuple[Value, Value]
    equal_up_to: int | None

    @property
    def from_start(self) -> bool:
        """Whether the first report that both have differs already."""
        return self.equal_up_to is None


@dataclass(frozen=True, slots=True)
class Band:
    """The last value of a metric over runs that differ in their seed alone, and where another run's lies."""

    key: str
    step: int
    runs: int
    mean: float
    std: float

    def holds(self, value: float) -> bool:
        """Whether a value is within WIDTH standard deviations of the seeds."""
        return abs(value - self.mean) <= WIDTH * self.std


def learning_curves(evidence: RunEvidence) -> list[Curve]:
    """The curves that learning decides."""
    return [curve for curve in every_curve(evidence) if curve.role not in OF_THE_MACHINE and not is_machine(curve)]


def divergence_of(first: Sequence[Curve], second: Sequence[Curve]) -> Divergence | None:
    """The earliest difference of any metric that both runs report; None where none differs."""
    return min(_divergences(first, second), key=lambda one: (one.step, one.key), default=None)


def _divergences(first: Sequence[Curve], second: Sequence[Curve]) -> Iterator[Divergence]:
    for ours, theirs in _pairs(first, second):
        points = list(common_points(ours, theirs))
        at = next((index for index, (_, one, other) in enumerate(points) if not same_value(one, other)), None)
        if at is not None:
            step, one, other = points[at]
            yield Divergence(ours.key, step, (rounded(one), rounded(other)), points[at - 1][0] if at else None)


def _pairs(first: Sequence[Curve], second: Sequence[Curve]) -> Iterator[tuple[Curve, Curve]]:
    others = {same_name(curve): curve for curve in second}
    yield from ((curve, others[same_name(curve)]) for curve in first if same_name(curve) in others)


def has_common(first: Sequence[Curve], second: Sequence[Curve]) -> bool:
    """Whether any metric has a position that both runs report."""
    return any(next(common_points(ours, theirs), None) for ours, theirs in _pairs(first, second))


def bands_of(runs: Sequence[Sequence[Curve]]) -> list[Band]:
    """The band of every metric that all these runs report at the last position that they share; two runs at least."""
    if len(runs) < 2:
        return []
    found: list[Band] = []
    for curve in runs[0]:
        alike = [next((one for one in run if same_name(one) == same_name(curve)), None) for run in runs]
        known = [one for one in alike if one is not None]
        shared = set.intersection(*(set(one.steps) for one in known)) if len(known) == len(runs) else set()
        if shared:
            values = [one.values[list(one.steps).index(max(shared))] for one in known]
            found.append(Band(curve.key, max(shared), len(runs), statistics.fmean(values), statistics.stdev(values)))
    return found
