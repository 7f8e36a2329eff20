"""How a curve went, in one word, and what is odd in it.

    falling (-65 %)     spike at step 640: 41.0 after 1.9     steps go back from 640 to 500     nan from step 641

These are observations. What they mean is for the rules to say; their findings stand next to them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import Any

from experiment_debugger.metrics.selection import Curve
from experiment_debugger.models import Value, as_value
from experiment_debugger.rules.curves import NORMAL, bins, rising_share

BINS = 8
FEWEST_FOR_TREND = 3
STILL = 0.02
"""A curve whose level moves by less than this share of itself is flat."""
STEADY = 0.7
"""Share of levels that go one way which makes a trend out of a curve that turned early: warm-up, then decay."""
BEYOND_NOISE = 5.0
"""Noise over the root of a level's points, so many times, is what a trend must exceed: two medians differ by 1.8."""
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
SAMPLE = 20_000
"""Differences that are looked at for the noise; more change nothing and take seconds."""
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


def trend(curve: Curve) -> tuple[str, float] | None:
    """(falling, rising, flat or noisy; change of the level relative to where the movement began)."""
    values = [value for value in curve.values if math.isfinite(value)]
    if len(values) < FEWEST_FOR_TREND:
        return None
    levels = bins(values, BINS)
    span, scale = max(levels) - min(levels), max(map(abs, levels))
    share = len(values) // len(levels)
    beyond = BEYOND_NOISE * _noise(values) / math.sqrt(share) if share > 1 else 0.0
    if not math.isfinite(span) or span <= STILL * scale:
        return ("noisy" if _noise(values) > scale / 4 else "flat"), _relative(levels[0], levels[-1])
    name = _direction(levels, span)
    start = {"falling": max(levels), "rising": min(levels)}.get(name, levels[0])
    if abs(levels[-1] - start) <= beyond:
        return "noisy", _relative(levels[0], levels[-1])
    return name, _relative(start, levels[-1])


def _direction(levels: Sequence[float], span: float) -> str:
    net, share = levels[-1] - levels[0], rising_share(levels)
    if abs(net) >= span / 2:
        return "rising" if net > 0 else "falling"
    if share >= STEADY:
        return "rising"
    return "falling" if share <= 1 - STEADY else "noisy"


def _relative(start: float, end: float) -> float:
    """The change as a share of where it began; from zero there is none, and 0 says so."""
    change = (end - start) / abs(start) if start else 0.0
    return float(f"{change:.2g}") if math.isfinite(change) else 0.0


def _noise(values: Sequence[float]) -> float:
    """Standard deviation of a point around its curve, from the differences of neighbours."""
    return _scatter([after - before for before, after in _sample(values)]) / math.sqrt(2)


def _sample(values: Sequence[float]) -> Iterator[tuple[float, float]]:
    """Neighbours, all of them or evenly many."""
    stride = max(1, len(values) // SAMPLE)
    return ((values[at], values[at + 1]) for at in range(0, len(values) - 1, stride))


def _scatter(values: Sequence[float]) -> float:
    if not values:
        return 0.0
    level = median(values)
    return NORMAL * median([abs(value - level) for value in values])


def anomalies(curve: Curve) -> list[dict[str, Any]]:
    """What is odd in a curve: where it stops being finite, its largest spike, overflows, gaps, steps that go back."""
    found = (_nonfinite(curve), _overflows(curve), _spike(curve), _backwards(curve), _gap(curve))
    return [one for one in found if one is not None]


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
    pairs = [(before, after) for before, after in pairwise(curve.values) if math.isfinite(after - before)]
    if curve.role in PLANNED or len(pairs) < FEWEST_FOR_SPIKE:
        return None
    sign = -1 if curve.role in HIGH_IS_GOOD else 1
    stride = max(1, len(pairs) // SAMPLE)
    level = abs(median([after for _, after in pairs[::stride]]))
    least = max(SPIKE * _scatter([after - before for before, after in pairs[::stride]]), SPIKE_SHARE * level)
    jumps = [
        (jump, index)
        for index, (before, after) in enumerate(pairwise(curve.values), 1)
        if math.isfinite(jump := sign * (after - before))
        and jump > least
        and curve.steps[index] >= curve.steps[index - 1]
    ]
    if not jumps:
        return None
    likely = sorted(jumps, key=lambda one: -one[0])[:MOST_CANDIDATES]
    spikes = [(size, index) for size, index in likely if _stands_out(curve, index, sign, size)]
    if not spikes:
        return None
    size, index = spikes[0]
    name = "spike" if sign > 0 else "drop"
    if not _comes_back(curve, index, sign * size):
        name, index = "jump", min(index for _, index in spikes)
    fact = {"kind": name, "step": curve.steps[index], "value": rounded(curve.values[index])}
    return {**fact, "before": rounded(curve.values[index - 1]), "count": len(spikes)}


def _stands_out(curve: Curve, index: int, sign: int, size: float) -> bool:
    """Whether a jump leaves what came before it, and is more than the noise just there: a young curve is wilder."""
    before = [value for value in curve.values[max(0, index - SOON) : index] if math.isfinite(value)]
    if len(before) < FEWEST_FOR_SPIKE or size <= SPIKE * _noise(before):
        return False
    return all(sign * (curve.values[index] - value) > 0 for value in before)


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
