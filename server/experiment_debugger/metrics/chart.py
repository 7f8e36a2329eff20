"""What a picture of a run shows: panels with lines, marks at what is odd, a title and a caption. Nothing is drawn here.

loss          train, val ------------------------x nan at step 640
grad norm     log scale  ---------------/
learning rate
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from experiment_debugger.evidence import quote_of
from experiment_debugger.metrics.findings import Told
from experiment_debugger.metrics.lines import Line, Scale, distinct, identity, line_of, merged, scale_of, telling_parts
from experiment_debugger.metrics.marks import Mark, marks_of
from experiment_debugger.metrics.selection import OTHER, Curve
from experiment_debugger.metrics.units import unit_of
from experiment_debugger.metrics.view import MetricsView
from experiment_debugger.readers.series import Axis

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
NAMES = [*(name for name, _ in GROUPS), OTHER]
AXES: tuple[Axis, ...] = ("step", "epoch", "record")
"""Panels of one axis stand together, labelled below the last one."""
MOST_PANELS = 4
MOST_LINES = 6
SLIVER = 0.1
"""Share of the axis below which what is finite of a curve is too narrow to be seen."""
FEWEST_SHOWN = 5
"""Points behind the last finite one that are shown then."""


@dataclass(frozen=True, slots=True)
class Panel:
    """Lines of one unit over one axis; `left_out` counts the lines that found no room.

    Panels of the same `shared` position have one axis: records of different sources are different positions.
    """

    name: str
    axis: Axis
    shared: str
    scale: Scale
    lines: tuple[Line, ...]
    marks: tuple[Mark, ...]
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Zoom:
    """The part of an axis that is shown, and where it would end."""

    low: float
    high: float
    last: float


@dataclass(frozen=True, slots=True)
class Chart:
    """A whole picture; `zooms` are by the `shared` of a panel."""

    title: str
    caption: str
    panels: tuple[Panel, ...]
    checkpoints: tuple[int, ...] = ()
    zooms: Mapping[str, Zoom] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Group:
    """What shares a panel."""

    name: str
    unit: str
    axis: Axis
    shared: str
    kind: str = ""

    @property
    def label(self) -> str:
        return f"{self.name} ({self.unit})" if self.unit else self.name


def chart_of(view: MetricsView, *, chosen: bool = False) -> Chart:
    """The picture of a view; `chosen` when the user named keys or roles, so that nothing is too unimportant."""
    every = distinct([one.curve for one in view.shown], by_name=chosen)
    kept = {id(curve) for curve in every}
    groups = _groups([one for one in view.shown if id(one.curve) in kept], chosen=chosen)
    repeated = [one for one in view.shown if id(one.curve) not in kept]
    shown = _worth_showing(groups, chosen=chosen)
    title = " and ".join(name if "run" in name else f"run {name}" for name in (view.run_id, view.other_id) if name)
    panels = [_panel(group, groups[group], repeated, view) for group in shown]
    drawn = {panel.name for panel in panels}
    rest = list(dict.fromkeys(name for group in groups if group not in shown and (name := _named(group)) not in drawn))
    zooms = {shared: zoom for shared in {one.shared for one in panels} if (zoom := _zoom(panels, shared)) is not None}
    for at, group in enumerate(shown):
        if group.shared in zooms:
            panels[at] = _panel(group, _cut(groups[group], zooms[group.shared]), repeated, view)
    return Chart(title, _caption(view, rest), tuple(panels), view.checkpoints, zooms)


def _cut(told: Sequence[Told], zoom: Zoom) -> list[Told]:
    """The part that is shown, so that thinning is done for it alone."""
    curves = [one.curve.between(0, math.ceil(zoom.high)) for one in told]
    return [replace(one, curve=curve) for one, curve in zip(told, curves, strict=True) if len(curve)]


def _groups(shown: Sequence[Told], *, chosen: bool) -> dict[_Group, list[Told]]:
    """Curves by what they can share a panel with; single points are no curves."""
    several = [one for one in shown if chosen or one.troubles or len(one.curve) > 1] or list(shown)
    groups: dict[_Group, list[Told]] = {}
    for told in several:
        groups.setdefault(_group(told.curve), []).append(told)
    return {part: some for group, all_told in groups.items() for part, some in _apart(group, all_told)}


def _group(curve: Curve) -> _Group:
    name = next((name for name, roles in GROUPS if curve.kind in roles), OTHER)
    return _Group(name, "" if name == "loss" else unit_of(curve.key), curve.axis, _shared(curve))


def _shared(curve: Curve) -> str:
    """The axis by name: rows are common to the columns of a table, points that were only counted to nothing else."""
    if curve.axis != "record":
        return curve.axis
    is_counted = curve.steps[0] == 0 and curve.steps[-1] == len(curve) - 1
    return f"record {len(curve)}" if is_counted else f"record of {curve.path}"


def _apart(group: _Group, told: Sequence[Told]) -> Iterator[tuple[_Group, list[Told]]]:
    """Curves that no scale could show together: shares and large numbers, R2 and squared errors."""
    if scale_of([one.curve for one in told]) == "linear" and group.name not in {"metric", OTHER}:
        yield group, list(told)
        return
    parts: dict[str, list[Told]] = {}
    for one in told:
        parts.setdefault(_size_of(one.curve, group), []).append(one)
    for kind, some in parts.items():
        yield replace(group, kind=kind), some


def _size_of(curve: Curve, group: _Group) -> str:
    """Below zero, a share, or neither; a logarithmic panel holds all that are not below zero."""
    finite = [value for value in curve.values if math.isfinite(value)]
    if min(finite, default=0.0) < 0:
        return "signed"
    return "share" if group.name == "metric" and max(finite, default=0.0) <= 1 else ""


def _worth_showing(groups: Mapping[_Group, Sequence[Told]], *, chosen: bool) -> list[_Group]:
    """At most MOST_PANELS groups: those with findings first, series without a role or a known position last."""
    counted = {group.name for group in groups if group.axis != "record"}

    def weight(group: _Group) -> tuple[bool, bool, int, int]:
        longest = max(len(told.curve) for told in groups[group])
        only_records = group.axis == "record" and group.name in counted
        return not any(told.troubles for told in groups[group]), only_records, NAMES.index(group.name), -longest

    known = [group for group in groups if group.name != OTHER or chosen or any(told.troubles for told in groups[group])]
    best = sorted(known or groups, key=weight)[:MOST_PANELS]
    return sorted(best, key=lambda group: (AXES.index(group.axis), group.shared, NAMES.index(group.name)))


def _named(group: _Group) -> str:
    return "series without a role" if group.name == OTHER else group.label


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


def _panel(group: _Group, told: Sequence[Told], repeated: Sequence[Told], view: MetricsView) -> Panel:
    """`repeated` are curves that repeat a drawn one: what was found on them is marked as well."""
    every = [one.curve for one in told]
    drawn = every[:MOST_LINES] if view.other_id is None else _of_both_runs(every, view.run_id)
    several = len({(curve.run_id, *identity(curve)) for curve in drawn}) < len(drawn)
    paths = telling_parts([curve.path for curve in drawn]) if several else [""] * len(drawn)
    lines = merged(
        [
            line_of(curve, color, path, run_id=view.run_id, several=view.other_id is not None)
            for color, (curve, path) in enumerate(zip(drawn, paths, strict=True))
        ]
    )
    on_lines = [one for one in told if any(one.curve is curve for curve in drawn)]
    alike = [one for one in repeated if replace(_group(one.curve), kind=group.kind) == group]
    marks = marks_of(on_lines, alike, view.run_id)
    scale = scale_of(drawn, schedule=group.name == "learning rate")
    return Panel(group.label, group.axis, group.shared, scale, tuple(lines), marks, len(every) - len(drawn))


def _of_both_runs(curves: Sequence[Curve], run_id: str) -> list[Curve]:
    """The first metrics, each in both runs, `run_id` first."""
    keys = list(dict.fromkeys(map(identity, curves)))[: MOST_LINES // 2]
    shown = [curve for curve in curves if identity(curve) in keys]
    return sorted(shown, key=lambda curve: (keys.index(identity(curve)), curve.run_id != run_id))[:MOST_LINES]


def _zoom(panels: Sequence[Panel], shared: str) -> Zoom | None:
    """Twice the finite part of a curve that stays NaN, where that part is a sliver and nothing is marked beyond it."""
    lines = [line for panel in panels if panel.shared == shared for line in panel.lines]
    places = [place for line in lines for place in line.steps if math.isfinite(place)]
    ends = [found for line in lines if (found := _finite_end(line)) is not None]
    if not ends:
        return None
    low, last, end = min(places), max(places), max(place for place, _ in ends)
    high = max(low + 2 * (end - low), end + FEWEST_SHOWN * max(distance for _, distance in ends))
    beyond = any(mark.place > high for panel in panels if panel.shared == shared for mark in panel.marks)
    return None if beyond or end - low >= SLIVER * (last - low) or high >= last else Zoom(low, high, last)


def _finite_end(line: Line) -> tuple[float, float] | None:
    """(last finite place, distance to the next one) of a line that is not finite from there to its end."""
    finite = [index for index, value in enumerate(line.values) if math.isfinite(value)]
    if not finite or finite[-1] + 1 >= len(line.values) or any(map(math.isnan, line.steps)):
        return None
    at = finite[-1]
    return line.steps[at], line.steps[at + 1] - line.steps[at]
