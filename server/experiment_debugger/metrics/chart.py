"""What a picture of a run shows: panels with lines, marks at what is odd, a title and a caption. Nothing is drawn here.

loss          train, val ------------------------x nan at step 640
grad norm     log scale  ---------------/
learning rate
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from experiment_debugger.evidence import quote_of
from experiment_debugger.metrics.course import anomalies
from experiment_debugger.metrics.findings import Told
from experiment_debugger.metrics.selection import OTHER, Curve
from experiment_debugger.metrics.thinning import thinned
from experiment_debugger.metrics.view import MetricsView
from experiment_debugger.readers.series import Axis

MarkKind = Literal["nonfinite", "finding", "spike", "overflow", "resume"]
MARKS: tuple[MarkKind, ...] = ("nonfinite", "finding", "spike", "overflow", "resume")
"""In the order in which their labels find room."""
DIGITS = 5e-3
"""What rounding may change, as a share of a value."""
GROUPS: tuple[tuple[str, frozenset[str]], ...] = (
    ("loss", frozenset({"loss", "eval-loss"})),
    ("metric", frozenset({"metric"})),
    ("gradient norm", frozenset({"grad-norm"})),
    ("learning rate", frozenset({"learning-rate"})),
    ("loss scale", frozenset({"loss-scale"})),
    ("throughput", frozenset({"throughput"})),
    ("time", frozenset({"step-time", "data-time"})),
    ("memory", frozenset({"memory", "host-memory"})),
)
AXES: tuple[Axis, ...] = ("step", "epoch", "record")
"""Panels of one axis stand together, labelled below the last one."""
MOST_PANELS = 4
MOST_LINES = 6
POINTS = 1400
"""Points a line: two for each pixel column of the picture."""
DECADES = 2.0
"""A panel whose positive values span more than this has a logarithmic scale."""
MOST_RESUMES = 6


@dataclass(frozen=True, slots=True)
class Line:
    """One thinned curve; `color` counts the lines of a panel."""

    label: str
    color: int
    steps: tuple[float, ...]
    values: tuple[float, ...]
    other_run: bool = False
    evaluation: bool = False


@dataclass(frozen=True, slots=True)
class Mark:
    """Something odd at a position; `value` is None where it has no height."""

    kind: MarkKind
    step: int
    value: float | None
    text: str


@dataclass(frozen=True, slots=True)
class Panel:
    """Lines of one unit over one axis; `left_out` counts the lines that found no room."""

    name: str
    axis: Axis
    scale: Literal["linear", "log", "symlog"]
    lines: tuple[Line, ...]
    marks: tuple[Mark, ...]
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Chart:
    """A whole picture."""

    title: str
    caption: str
    panels: tuple[Panel, ...]
    checkpoints: tuple[int, ...] = ()


def chart_of(view: MetricsView, *, chosen: bool = False) -> Chart:
    """The picture of a view; `chosen` when the user named keys or roles, so that nothing is too unimportant."""
    groups: dict[tuple[str, Axis], list[Told]] = {}
    for told in view.told:
        groups.setdefault((_group(told.curve), told.curve.axis), []).append(told)
    shown = _worth_showing(groups, chosen=chosen)
    title = " and ".join(name if "run" in name else f"run {name}" for name in (view.run_id, view.other_id) if name)
    panels = tuple(_panel(name, axis, groups[name, axis], view) for name, axis in shown)
    rest = list(dict.fromkeys(name for name, axis in groups if (name, axis) not in shown))
    return Chart(title, _caption(view, rest), panels, view.checkpoints)


def _group(curve: Curve) -> str:
    return next((name for name, roles in GROUPS if curve.kind in roles), OTHER)


def _worth_showing(groups: dict[tuple[str, Axis], list[Told]], *, chosen: bool) -> list[tuple[str, Axis]]:
    """At most MOST_PANELS groups: those with findings before the others, series without a role last."""
    names = [name for name, _ in GROUPS] + [OTHER]

    def weight(group: tuple[str, Axis]) -> tuple[bool, int]:
        return not any(told.findings for told in groups[group]), names.index(group[0])

    known = [group for group in groups if group[0] != OTHER or chosen or any(told.findings for told in groups[group])]
    best = sorted(known or groups, key=weight)[:MOST_PANELS]
    return sorted(best, key=lambda group: (AXES.index(group[1]), names.index(group[0])))


def _caption(view: MetricsView, rest: Sequence[str]) -> str:
    parts = [view.headline]
    if view.other_id is not None:
        parts = [_parting(view), *([view.headline] if view.told and view.headline else [])]
    if rest:
        parts.append(f"Not drawn: {', '.join(rest)}.")
    return " ".join(part if part.endswith((".", "!")) else f"{part}." for part in parts)


def _parting(view: MetricsView) -> str:
    if not view.parted:
        return "The runs do not part beyond noise"
    fact = min(view.parted, key=lambda one: one["step"])
    one, other = fact["values"]
    equal = f"; equal up to {fact['equal_up_to']}" if "equal_up_to" in fact else ""
    return f"The runs part at {fact['step']}: {quote_of(fact['key'])} {one} against {other}{equal}"


def _panel(name: str, axis: Axis, told: Sequence[Told], view: MetricsView) -> Panel:
    curves = _distinct([one.curve for one in told])
    drawn = curves[:MOST_LINES] if view.other_id is None else _of_both_runs(curves)
    several = len({(curve.run_id, *_identity(curve)) for curve in drawn}) < len(drawn)
    paths = _telling_parts([curve.path for curve in drawn]) if several else [""] * len(drawn)
    lines = tuple(_line(curve, color, view, path) for color, (curve, path) in enumerate(zip(drawn, paths, strict=True)))
    marks = sorted((mark for one in told for mark in _marks(one, view)), key=lambda mark: MARKS.index(mark.kind))
    return Panel(name, axis, _scale(name, lines), lines, tuple(marks), len(curves) - len(drawn))


def _distinct(curves: Sequence[Curve]) -> list[Curve]:
    """The curves without those that only repeat another one: a log, a CSV and a tracker often hold the same numbers."""
    kept: list[Curve] = []
    for curve in sorted(curves, key=len, reverse=True):
        same = (one for one in kept if one.run_id == curve.run_id and _identity(one) == _identity(curve))
        if not any(_repeats(curve, one) for one in same):
            kept.append(curve)
    return [curve for curve in curves if any(curve is one for one in kept)]


def _repeats(curve: Curve, longer: Curve) -> bool:
    """Whether every point of a curve stands in another one; logs print fewer digits than trackers keep."""
    values = dict(zip(longer.steps, longer.values, strict=True))
    return all(
        step in values and (math.isclose(value, values[step], rel_tol=DIGITS, abs_tol=DIGITS) or value != value)  # noqa: PLR0124 (NaN)
        for step, value in zip(curve.steps, curve.values, strict=True)
    )


def _of_both_runs(curves: Sequence[Curve]) -> list[Curve]:
    """The first metrics, each in both runs."""
    keys = list(dict.fromkeys(map(_identity, curves)))[: MOST_LINES // 2]
    return [curve for curve in curves if _identity(curve) in keys][:MOST_LINES]


def _telling_parts(paths: Sequence[str]) -> list[str]:
    """The paths without the folders that all of them share, in front and behind."""
    parts = [path.split("/") for path in paths]
    shared = [len(set(column)) == 1 for column in zip(*parts, strict=False)]
    ahead = shared.index(False) if False in shared else 0
    behind = [len(set(column)) == 1 for column in zip(*(path[::-1] for path in parts), strict=False)]
    last = behind.index(False) if False in behind else 0
    return ["/".join(path[ahead : len(path) - last]) or path[-1] for path in parts]


def _identity(curve: Curve) -> tuple[str, int | None, bool]:
    return curve.key, curve.rank, curve.evaluation


def _line(curve: Curve, color: int, view: MetricsView, path: str) -> Line:
    kept = thinned(curve.values, POINTS)
    label = quote_of(curve.key)
    if curve.evaluation and curve.role in {"loss", "eval-loss"} and "val" not in label.lower():
        label = f"{label} (eval)"
    if curve.rank is not None:
        label = f"{label} [rank {curve.rank}]"
    if path:
        label = f"{label}, {quote_of(path)}"
    if view.other_id is not None:
        label = f"{label}, run {curve.run_id}"
    other = curve.run_id != view.run_id
    steps, values = _broken_where_it_goes_back([curve.steps[i] for i in kept], [curve.values[i] for i in kept])
    return Line(label, color, steps, values, other, curve.evaluation)


def _broken_where_it_goes_back(
    steps: Sequence[int], values: Sequence[float]
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


def _scale(name: str, lines: Sequence[Line]) -> Literal["linear", "log", "symlog"]:
    """Logarithmic over more than two decades. A learning rate stays linear: a schedule is known by its shape."""
    finite = [abs(value) for line in lines for value in line.values if math.isfinite(value)]
    positive = [value for value in finite if value > 0]
    if name == "learning rate" or not positive or max(positive) <= min(positive) * 10**DECADES:
        return "linear"
    if all(value > 0 for line in lines for value in line.values if math.isfinite(value)):
        return "log"
    return "symlog" if max(positive) > 10 ** (2 * DECADES) else "linear"


def _marks(told: Told, view: MetricsView) -> Iterator[Mark]:
    """What is odd in one curve: its first value that is not finite, its spike, its overflows, its restarts."""
    curve = told.curve
    for fact in anomalies(curve):
        value = fact.get("value")
        height = float(value) if isinstance(value, (int, float)) else None
        if fact["kind"] == "nonfinite":
            yield Mark("nonfinite", fact["step"], None, f"{value} at {curve.axis} {fact['step']:,}")
        elif fact["kind"] in {"spike", "drop", "jump"}:
            yield Mark("spike", fact["step"], height, f"{fact['kind']} to {value:.4g} at {curve.axis} {fact['step']:,}")
        elif fact["kind"] == "overflow":
            yield Mark(
                "overflow", fact["step"], height, f"{fact['count']} overflows from {curve.axis} {fact['step']:,}"
            )
    for finding, point in told.findings:
        if point.step is not None and isinstance(point.value, (int, float)) and not finding.recovered:
            yield Mark("finding", point.step, float(point.value), f"{finding.rule} at {curve.axis} {point.step:,}")
    if curve.run_id == view.run_id:
        yield from _resumes(curve)


def _resumes(curve: Curve) -> Iterator[Mark]:
    backs = [(before, after) for before, after in pairwise(curve.steps) if after < before]
    for before, after in backs[:MOST_RESUMES]:
        yield Mark("resume", after, None, f"resumed at {after:,} (from {before:,})")
