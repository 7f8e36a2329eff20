"""How a curve went, in a word or two, and how far: never against what its first and last value show.

    2.31 ... 0.81  falling -65%       0.02 ... 1  rising x41       0 ... 1e-3 ... 0  rises then falls
    8388608 ... 131072 ... 524288  falling x0.0625     1.9 ... 2.2 under noise of 0.5  noisy

It is told of the finite part. The levels are medians of a few bins, with the first and the last value where these
lie beyond noise: a curve that falls within its first bin has fallen.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from experiment_debugger.metrics.selection import Curve
from experiment_debugger.rules.curves import bins, spread

BINS = 8
FEWEST = 3
"""Finite points below which a curve has no course."""
STILL = 0.02
"""A curve whose levels move by less than this share of itself is flat."""
TURN = 0.25
"""Share of the whole movement that must be undone for a curve to have turned."""
LEVEL = 0.1
"""Share of the whole movement below which what lies between the two ends is level."""
BEYOND_NOISE = 5.0
"""Noise over the root of a level's points, so many times, is what a movement must exceed: two medians differ by 1.8."""
OUTLYING = 3.0
"""Noise, so many times, beyond which an end of the curve is a level of its own."""
SAMPLE = 20_000
"""Differences that are looked at for the noise; more change nothing and take seconds."""
TENFOLD, HUNDREDTH = 10.0, 0.01
"""Growth beyond the one and decay below the other are told as a factor: percents no longer say anything."""


@dataclass(frozen=True, slots=True)
class Trend:
    """The word; `change` is relative to the start, `factor` is end over start where the change is large."""

    name: str
    change: float | None = None
    factor: float | None = None


def trend(curve: Curve) -> Trend | None:
    """How the finite part of a curve went; None where it has fewer than three points."""
    values = [value for value in curve.values if math.isfinite(value)]
    if len(values) < FEWEST:
        return None
    scale = max(map(abs, values)) or 1.0
    path = _path([value / scale for value in values])
    if path.name is not None:
        return Trend(path.name)
    turns = list(_turns(path.levels, path.least))
    if len(turns) > 2:
        return Trend("turning")
    name = ("rising" if turns[0] > 0 else "falling") if len(turns) == 1 else _turning(turns[0])
    start, end = path.levels[0], path.levels[-1]
    if (end - start) * (values[-1] / scale - values[0] / scale) > 0:
        return Trend(name, *_extent(start, end))
    return Trend("noisy" if len(turns) == 1 else name)


@dataclass(frozen=True, slots=True)
class _Path:
    """Levels with both ends, the least movement that is a turn, and the word where there is no movement."""

    levels: list[float]
    least: float
    name: str | None


def _path(values: Sequence[float]) -> _Path:
    levels = bins(values, BINS)
    noise = noise_of(values)
    share = len(values) // len(levels)
    beyond = BEYOND_NOISE * noise / math.sqrt(share) if share > 1 else 0.0
    start = [values[0]] if abs(values[0] - levels[0]) > OUTLYING * noise else []
    end = [values[-1]] if abs(values[-1] - levels[-1]) > OUTLYING * noise else []
    path = [*start, *levels, *end]
    still = STILL * max(map(abs, levels))
    inner, span = max(levels) - min(levels), max(path) - min(path)
    if span <= max(beyond, still):
        name = "noisy" if span > still or noise > max(map(abs, levels)) / 4 else "flat"
        return _Path(path, span, name)
    level = max(beyond, still, LEVEL * span)
    ends = min(abs(path[0] - levels[0]), abs(path[-1] - levels[-1]))
    between = "flat between its ends" if inner <= level < ends else None
    return _Path(path, max(beyond, still, TURN * span), between)


def _turns(levels: Sequence[float], least: float) -> Iterator[int]:
    """1 for every rise and -1 for every fall, by turns; what is undone by less than `least` is no turn."""
    low = high = levels[0]
    direction = 0
    for level in levels:
        low, high = min(low, level), max(high, level)
        if direction <= 0 and level - low >= least:
            direction, high = 1, level
            yield direction
        elif direction >= 0 and high - level >= least:
            direction, low = -1, level
            yield direction


def _turning(first: int) -> str:
    return "rises then falls" if first > 0 else "falls then rises"


def _extent(start: float, end: float) -> tuple[float | None, float | None]:
    """(relative change, None), or (None, factor) where that says more; from zero there is neither."""
    if not start:
        return None, None
    factor = end / start
    if factor > TENFOLD or 0 < factor < HUNDREDTH:
        return None, _short(factor)
    change = _short((end - start) / abs(start))
    return (change, None) if change is not None and abs(change) <= TENFOLD else (None, None)


def _short(value: float) -> float | None:
    return float(f"{value:.2g}") if math.isfinite(value) else None


def noise_of(values: Sequence[float]) -> float:
    """Standard deviation of a point around its curve, from the differences of neighbours, evenly picked."""
    stride = max(1, len(values) // SAMPLE)
    steps = [values[at + 1] - values[at] for at in range(0, len(values) - 1, stride)]
    return spread(steps) / math.sqrt(2) if steps else 0.0


def finite_steps(values: Sequence[float]) -> list[tuple[float, float]]:
    """Neighbours whose difference is finite."""
    return [(before, after) for before, after in pairwise(values) if math.isfinite(after - before)]
