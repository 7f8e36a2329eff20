"""Lines of a panel: which curves only repeat another one, how they are called, and on which scale they are legible."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import Literal

from experiment_debugger.evidence import quote_of
from experiment_debugger.metrics.selection import Curve
from experiment_debugger.metrics.thinning import thinned

Scale = Literal["linear", "log", "symlog"]
DIGITS = 5e-3
"""What rounding may change, as a share of a value, or of the largest one near zero."""
FEWEST_COMMON = 3
"""Points that curves of two names must share to be the same."""
POINTS = 1400
"""Points a line: two for each pixel column of the picture."""
DECADES = 2.0
"""Positive values that span more than this are drawn on a logarithmic scale."""
SQUEEZED = 0.2
"""Share of a learning rate's points below a hundredth of its largest from which on it is: else its shape tells more."""


@dataclass(frozen=True, slots=True)
class Line:
    """One thinned curve; `color` counts the lines of a panel."""

    label: str
    color: int
    steps: tuple[float, ...]
    values: tuple[float, ...]
    other_run: bool = False
    evaluation: bool = False


def distinct(curves: Sequence[Curve], *, by_name: bool) -> list[Curve]:
    """The curves without those that only repeat a denser one: a log, a CSV and a tracker often hold the same numbers.

    Where somebody has asked by name, a curve is only left out for one of the same name.
    """
    kept: list[_Kept] = []
    for curve in sorted(curves, key=lambda one: (-len(one), one.axis != "step")):
        if not any(_comparable(curve, one.curve, by_name=by_name) and one.repeats(curve) for one in kept):
            kept.append(_Kept(curve))
    chosen = {id(one.curve) for one in kept}
    return [curve for curve in curves if id(curve) in chosen]


class _Kept:
    """A curve that is drawn, and its values by position."""

    def __init__(self, curve: Curve) -> None:
        self.curve = curve

    @cached_property
    def _values(self) -> dict[int, float]:
        return dict(zip(self.curve.steps, self.curve.values, strict=True))

    @cached_property
    def _near(self) -> float:
        """What rounding may change near zero."""
        return DIGITS * max((abs(value) for value in self.curve.values if math.isfinite(value)), default=0.0)

    def repeats(self, curve: Curve) -> bool:
        """Whether every point of a curve stands here as well; logs print fewer digits than trackers keep.

        Positions of different kinds say nothing: then the values must be the same, one by one.
        """
        if curve.axis != self.curve.axis:
            pairs = zip(curve.values, self.curve.values, strict=False)
            return len(curve) == len(self.curve) and all(_is_same(*pair) for pair in pairs)
        points = zip(curve.steps, curve.values, strict=True)
        return all(step in self._values and _is_same(value, self._values[step], self._near) for step, value in points)


def _is_same(value: float, other: float, near: float = 0.0) -> bool:
    """Whether two values differ by rounding only; NaN and infinity are both no number."""
    if not (math.isfinite(value) and math.isfinite(other)):
        return math.isfinite(value) == math.isfinite(other)
    return math.isclose(value, other, rel_tol=DIGITS, abs_tol=near)


def _comparable(curve: Curve, other: Curve, *, by_name: bool) -> bool:
    if identity(curve) == identity(other):
        return curve.run_id == other.run_id
    return _origin(curve) == _origin(other) and not by_name and curve.path != other.path and len(curve) >= FEWEST_COMMON


def _origin(curve: Curve) -> tuple[str, str, int | None, bool]:
    return curve.run_id, curve.kind, curve.rank, curve.evaluation


def identity(curve: Curve) -> tuple[str, int | None, bool]:
    """What makes two curves of different sources or runs the same metric."""
    return curve.key, curve.rank, curve.evaluation


def telling_parts(paths: Sequence[str]) -> list[str]:
    """The one folder that tells the paths apart, else what is left without the folders that all of them share."""
    parts = [path.split("/") for path in paths]
    columns = list(zip(*parts, strict=False))
    alone = next((column for column in columns if len(set(column)) == len(set(paths))), None)
    if alone is not None:
        return list(alone)
    shared = [len(set(column)) == 1 for column in columns]
    ahead = shared.index(False) if False in shared else 0
    return ["/".join(path[ahead:]) or path[-1] for path in parts]


def line_of(curve: Curve, color: int, path: str, *, run_id: str, several: bool) -> Line:
    """A curve as a line; `path` is what tells its source apart, `several` whether two runs are drawn."""
    label = quote_of(curve.key)
    if curve.evaluation and curve.role in {"loss", "eval-loss"} and not {"val", "test"} & _letters(label):
        label = f"{label} (eval)"
    if curve.rank is not None:
        label = f"{label} [rank {curve.rank}]"
    label += f", {quote_of(path)}" if path else ""
    label += f", run {curve.run_id}" if several else ""
    kept, places = thinned(curve.values, POINTS), places_of(curve)
    steps, values = _broken_where_it_goes_back([places[i] for i in kept], [curve.values[i] for i in kept])
    return Line(label, color, steps, values, curve.run_id != run_id, curve.evaluation)


def merged(lines: Sequence[Line]) -> list[Line]:
    """Lines that cover each other as one, with both names."""
    found: dict[tuple[object, ...], Line] = {}
    for line in lines:
        same = (line.steps, line.values, line.other_run, line.evaluation)
        found[same] = replace(found[same], label=f"{found[same].label} = {line.label}") if same in found else line
    return list(found.values())


def _letters(label: str) -> set[str]:
    return {name for name in ("val", "test") if name in label.lower()}


def places_of(curve: Curve) -> Sequence[float]:
    """Positions to draw at: several points of one epoch stand evenly within it."""
    if curve.axis != "epoch" or len(set(curve.steps)) == len(curve):
        return curve.steps
    return [place for step, points in groupby(curve.steps) for place in _within(step, len(list(points)))]


def _within(step: int, count: int) -> Iterator[float]:
    return (step + at / count for at in range(count))


def _broken_where_it_goes_back(
    steps: Sequence[float], values: Sequence[float]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The points with a hole at every restart, so that no line is drawn back."""
    places, heights = [], []
    for index, (step, value) in enumerate(zip(steps, values, strict=True)):
        if index and step < steps[index - 1]:
            places.append(math.nan)
            heights.append(math.nan)
        places.append(float(step))
        heights.append(value)
    return tuple(places), tuple(heights)


def scale_of(curves: Sequence[Curve], *, schedule: bool = False) -> Scale:
    """Logarithmic over more than two decades, where zeros stand apart at the bottom; `schedule` is a learning rate."""
    finite = [value for curve in curves for value in curve.values if math.isfinite(value)]
    sizes = [abs(value) for value in finite if value]
    top = max(sizes, default=0.0)
    low = [size for size in sizes if size < top / 10**DECADES]
    if not low or (schedule and len(low) < SQUEEZED * len(sizes)):
        return "linear"
    if min(finite) >= 0:
        return "log"
    return "symlog" if top > 10 ** (2 * DECADES) else "linear"
