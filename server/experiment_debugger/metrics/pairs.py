"""Where two runs part: the first position at which the same metric differs, and from where on it is more than noise.

step          10    20    30    40                     loss: equal up to 20, beyond noise from 40
loss of 42    2.31  2.04  1.97  1.80
loss of 43    2.31  2.04  1.99  5.12
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from experiment_debugger.metrics.course import rounded
from experiment_debugger.metrics.selection import Curve
from experiment_debugger.rules.curves import noise

LASTING = 3
"""Points in a row, or up to the end, that must differ before it is said that two runs part."""
BEYOND = 4.0
"""Standard deviations of the noise between neighbours."""
MOST_POINTS = 50_000


def partings(first: Sequence[Curve], second: Sequence[Curve]) -> list[dict[str, Any]]:
    """For every metric that both runs have: where they part; metrics that never do are left out."""
    others = {same_name(curve): curve for curve in second}
    pairs = ((curve, others[same_name(curve)]) for curve in first if same_name(curve) in others)
    return [fact for ours, theirs in pairs if (fact := _parting(ours, theirs)) is not None]


def same_name(curve: Curve) -> tuple[str, int | None, bool, str]:
    """What the curves of two runs are matched by."""
    return curve.key, curve.rank, curve.evaluation, curve.axis


def _parting(ours: Curve, theirs: Curve) -> dict[str, Any] | None:
    points = list(common_points(ours, theirs))
    differs = next((index for index, (_, one, other) in enumerate(points) if not same_value(one, other)), None)
    if differs is None:
        return None
    index = _beyond_noise(points, differs)
    if index is None and differs == 0:
        return None
    step, one, other = points[differs if index is None else index]
    fact: dict[str, Any] = {"key": ours.key, "step": step, "values": [rounded(one), rounded(other)]}
    if differs:
        fact["equal_up_to"] = points[differs - 1][0]
    return fact


def common_points(ours: Curve, theirs: Curve) -> Iterator[tuple[int, float, float]]:
    """(position, value of one, value of the other) where both have a point; a repeated position counts once."""
    values = dict(zip(theirs.steps, theirs.values, strict=True))
    mine = dict(zip(ours.steps, ours.values, strict=True))
    common = [step for step in mine if step in values][:MOST_POINTS]
    return ((step, mine[step], values[step]) for step in common)


def same_value(one: float, other: float) -> bool:
    """Whether two values are the same to the last digit; NaN is the same as NaN."""
    return one == other or (math.isnan(one) and math.isnan(other))


def _beyond_noise(points: Sequence[tuple[int, float, float]], start: int) -> int | None:
    """The first point from which on the difference is larger than the noise of both, for LASTING points."""
    least = BEYOND * max(_noise([one for _, one, _ in points]), _noise([other for _, _, other in points]))
    streak = 0
    for index in range(start, len(points)):
        _, one, other = points[index]
        apart = math.isfinite(one) != math.isfinite(other) or (math.isfinite(one) and abs(one - other) > least)
        streak = streak + 1 if apart else 0
        if streak == LASTING:
            return index - LASTING + 1
    return len(points) - streak if streak else None


def _noise(values: Sequence[float]) -> float:
    scatter = noise([value for value in values if math.isfinite(value)])
    return scatter if math.isfinite(scatter) else 0.0
