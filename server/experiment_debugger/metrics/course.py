"""What is odd in a curve.

    spike at step 640: 41.0 after 1.9, the largest of 5     steps go back from 640 to 500     nan from step 641

These are observations. What they mean is for the rules to say; their findings stand next to them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import Any

from experiment_debugger.metrics.selection import Curve
from experiment_debugger.metrics.trends import SAMPLE, finite_steps, noise_of
from experiment_debugger.models import Value, as_value
from experiment_debugger.rules.curves import spread

SPIKE = 10.0
"""Standard deviations of the differences between neighbours that a spike must exceed."""
SPIKE_SHARE = 0.5
"""Share of the usual level that it must reach as well: a quiet curve has no spikes in its last digit."""
FEWEST_FOR_SPIKE = 8
SOON = 50
"""Points that count as near: within them a spike comes back, and before it was none so high."""
MOST_CANDIDATES = 50
GAP = 10
"""Times the usual distance between two points."""
FEWEST_DISTANCES, EVEN = 2, 0.1
"""Spikes are periodic where so many distances differ by at most this share."""
PLANNED = frozenset({"learning-rate", "loss-scale"})
"""Roles whose jumps somebody planned, or which have a name of their own."""
HIGH_IS_GOOD = frozenset({"metric", "throughput"})
"""Roles whose sudden fall is what matters."""


def rounded(value: float) -> Value:
    """A value with six digits: more cost tokens and tell nothing; whole numbers stay exact."""
    exact = as_value(value)
    return as_value(float(f"{value:.6g}")) if isinstance(exact, float) else exact


def extremes(curve: Curve) -> tuple[int, int] | None:
    """Indices of the smallest and the largest finite value."""
    finite = [index for index, value in enumerate(curve.values) if math.isfinite(value)]
    if not finite:
        return None
    return min(finite, key=curve.values.__getitem__), max(finite, key=curve.values.__getitem__)


def has_gaps(curve: Curve) -> bool:
    """Whether a value is not finite."""
    return not all(map(math.isfinite, curve.values))


def anomalies(curve: Curve) -> list[dict[str, Any]]:
    """What is odd in a curve: where it stops being finite, its largest spike, overflows, gaps, steps that go back."""
    found = (_nonfinite(curve), _overflows(curve), _spike(curve), _backwards(curve), _gap(curve))
    return [one for one in found if one is not None]


def rank_of(kind: str) -> str:
    """Which one of several is told: of spikes the largest, of what lasts the first."""
    return "largest" if kind in {"spike", "drop"} else "first"


def _nonfinite(curve: Curve) -> dict[str, Any] | None:
    bad = [index for index, value in enumerate(curve.values) if not math.isfinite(value)]
    if not bad:
        return None
    fact = {"kind": "nonfinite", "step": curve.steps[bad[0]], "value": as_value(curve.values[bad[0]])}
    return {**fact, "count": len(bad)}


def _overflows(curve: Curve) -> dict[str, Any] | None:
    if curve.role != "loss-scale":
        return None
    drops = [
        index
        for index in range(1, len(curve))
        if curve.values[index] < curve.values[index - 1] and curve.steps[index] >= curve.steps[index - 1]
    ]
    if not drops:
        return None
    fact = {"kind": "overflow", "step": curve.steps[drops[0]], "value": rounded(curve.values[drops[0]])}
    return {**fact, "count": len(drops)}


def _spike(curve: Curve) -> dict[str, Any] | None:
    """The largest jump to the bad side that noise does not explain; where it stays, the first one."""
    if curve.role in PLANNED:
        return None
    sign = -1 if curve.role in HIGH_IS_GOOD else 1
    spikes = _standing_out(curve, _jumps(curve, sign), sign)
    if not spikes:
        return None
    index = max(spikes, key=spikes.__getitem__)
    name = "spike" if sign > 0 else "drop"
    if not _comes_back(curve, index, sign * spikes[index]):
        name, index = "jump", min(spikes)
    fact = {"kind": name, "step": curve.steps[index], "value": rounded(curve.values[index])}
    return {**fact, "before": rounded(curve.values[index - 1]), "count": len(spikes)} | _period(curve, sorted(spikes))


def _jumps(curve: Curve, sign: int) -> dict[int, float]:
    """Index and size of the jumps that exceed the noise of the whole curve, the largest MOST_CANDIDATES of them."""
    pairs = finite_steps(curve.values)
    if len(pairs) < FEWEST_FOR_SPIKE:
        return {}
    stride = max(1, len(pairs) // SAMPLE)
    level = abs(median([after for _, after in pairs[::stride]]))
    least = max(SPIKE * spread([after - before for before, after in pairs[::stride]]), SPIKE_SHARE * level)
    jumps = {
        index: jump
        for index, (before, after) in enumerate(pairwise(curve.values), 1)
        if math.isfinite(jump := sign * (after - before))
        and jump > least
        and curve.steps[index] >= curve.steps[index - 1]
    }
    return dict(sorted(jumps.items(), key=lambda one: -one[1])[:MOST_CANDIDATES])


def _standing_out(curve: Curve, jumps: dict[int, float], sign: int) -> dict[int, float]:
    """The jumps that leave what came before them but for one point; other jumps aside: of periodic ones each counts.

    A jump must also be more than the noise just there: a young curve is wilder.
    """
    found = {}
    for index, size in jumps.items():
        near = [at for at in range(max(0, index - SOON), index) if at not in jumps]
        before = [value for value in map(curve.values.__getitem__, near) if math.isfinite(value)]
        if len(before) < FEWEST_FOR_SPIKE or size <= SPIKE * noise_of(before):
            continue
        if sum(sign * (curve.values[index] - value) <= 0 for value in before) <= 1:
            found[index] = size
    return found


def _period(curve: Curve, spikes: Sequence[int]) -> dict[str, Any]:
    """The distance of spikes that come evenly."""
    distances = [curve.steps[after] - curve.steps[before] for before, after in pairwise(spikes)]
    even = len(distances) >= FEWEST_DISTANCES and max(distances) - min(distances) <= EVEN * max(distances)
    return {"every": round(median(distances))} if even else {}


def _comes_back(curve: Curve, index: int, jump: float) -> bool:
    """Whether half of a jump is undone soon: what stays is no spike, and then its beginning matters."""
    middle = curve.values[index] - jump / 2
    after = [value for value in curve.values[index + 1 : index + 1 + SOON] if math.isfinite(value)]
    return any((value < middle) == (jump > 0) for value in after)


def _backwards(curve: Curve) -> dict[str, Any] | None:
    cuts = [index for index in range(1, len(curve)) if curve.steps[index] < curve.steps[index - 1]]
    if not cuts:
        return None
    fact = {"kind": "steps-back", "step": curve.steps[cuts[0] - 1], "to": curve.steps[cuts[0]]}
    return {**fact, "count": len(cuts)}


def _gap(curve: Curve) -> dict[str, Any] | None:
    distances = [after - before for before, after in pairwise(curve.steps)]
    forward = [distance for distance in distances if distance > 0]
    if len(forward) < FEWEST_FOR_SPIKE or max(forward) <= GAP * median(forward):
        return None
    index = distances.index(max(forward))
    return {"kind": "gap", "step": curve.steps[index], "to": curve.steps[index + 1]}
