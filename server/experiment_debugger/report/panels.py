"""One panel of a picture: lines in colours that colour-blind people can tell apart, marks, and a legend above."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from experiment_debugger.metrics.chart import Panel, Zoom
from experiment_debugger.metrics.lines import Line, Scale
from experiment_debugger.metrics.marks import Mark
from experiment_debugger.report.captions import CHARACTER, LEGEND_WIDTH, LONGEST_LABEL, columns, drawable, told_apart
from experiment_debugger.report.quoting import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#000000")
"""Okabe and Ito (2008), without the yellow that white swallows and the vermilion that is kept for trouble."""
TROUBLE = "#D55E00"
QUIET = "#777777"
FEW_POINTS = 60
"""Lines with at most so many points show each of them."""
MOST_NOTES = 4
"""Marks that are told above a panel; with several of them a number stands at each."""
LONGEST_OF_MANY, LONGEST_NOTE = 25, 100
LINE = 16
"""Pixels of a row of text."""
LABEL_AT = -0.108
"""Right end of the label of the y axis, in widths of the panel: ticks to its right, two rows of it to its left."""
FLOOR = 0.035
"""Height of what stands at the bottom of a panel, as a share of it: values that are not finite, zeros of a log axis."""
LEAST_RANGE = 0.01
"""Share of its values that a linear axis covers at least: less is rounding, and its ticks would be alike."""
LARGEST = 1e150
"""Heights beyond overflow the arithmetic of axes, and so do those below its inverse on a logarithmic one."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a panel stands: `first` and `last` of those that share its axis; `zoom` is the part of it that is shown."""

    panel: Panel
    checkpoints: tuple[int, ...]
    first: bool
    last: bool
    zoom: Zoom | None = None

    @property
    def notes(self) -> list[Mark]:
        """The marks that are told; a restart once for all panels of an axis."""
        told = {mark.text: mark for mark in reversed(self.panel.marks) if mark.kind != "resume" or self.first}
        return list(reversed(told.values()))[:MOST_NOTES]

    @property
    def names(self) -> list[str]:
        """What the legend says, line by line of the panel."""
        names = [line.label for line in self.panel.lines]
        names += [f"and {self.panel.left_out} more"] if self.panel.left_out else []
        names += ["checkpoint"] if self.checkpoints else []
        names = [drawable(name) for name in names]
        return told_apart(names, LONGEST_LABEL if len(names) <= 2 else LONGEST_OF_MANY)

    @property
    def rows(self) -> int:
        """Rows of text above the panel."""
        return -(-len(self.names) // columns(self.names)) + len(note_rows(self.notes))


def draw_panel(axes: Axes, place: Place) -> None:
    """Lines, marks and what they mean; the x axis is labelled below the last panel that shares it."""
    panel = place.panel
    drawn = [_draw_line(axes, line, panel.scale) for line in panel.lines]
    drawn += [_nothing()] if panel.left_out else []
    drawn += [_draw_checkpoints(axes, place.checkpoints)] if place.checkpoints else []
    _set_scale(axes, panel)
    _set_range(axes, panel, place.zoom)
    for mark in panel.marks:
        _draw_mark(axes, mark, panel.scale)
    _draw_notes(axes, place)
    _legend(axes, drawn, place)
    axes.yaxis.set_label_coords(LABEL_AT, 0.5)
    axes.set_ylabel(_height_label(panel))
    axes.tick_params(labelbottom=place.last)
    if place.last:
        axes.set_xlabel(_axis_label(panel, place.zoom))
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.grid(visible=True, color="#E5E5E5", linewidth=0.6)
    axes.set_axisbelow(True)


def _height_label(panel: Panel) -> str:
    if panel.scale == "linear":
        return panel.name
    zeros = panel.scale == "log" and any(0.0 in line.values for line in panel.lines)
    return f"{panel.name}\n({panel.scale}{', 0 at the bottom' if zeros else ''})"


def _axis_label(panel: Panel, zoom: Zoom | None) -> str:
    if zoom is None:
        return panel.axis
    return f"{panel.axis} (cut at {_place(zoom.high)}; the run goes on to {_place(zoom.last)})"


def _draw_line(axes: Axes, line: Line, scale: Scale) -> Any:
    """The line, with a sign at each point where they are few or stand alone."""
    heights = [_within(value) for value in line.values]
    if scale == "log":
        heights = [height if height > 0 else math.nan for height in heights]
    color = COLORS[line.color % len(COLORS)]
    marker = "o" if len(heights) <= FEW_POINTS else ""
    style = "--" if line.other_run else "-"
    width = 1.4 if marker or line.other_run else 1.1
    (drawn,) = axes.plot(
        line.steps, heights, style, color=color, marker=marker, markersize=3.5, linewidth=width, zorder=3
    )
    if not marker:
        alone = list(_alone(heights))
        axes.plot([line.steps[i] for i in alone], [heights[i] for i in alone], "o", color=color, markersize=3, zorder=3)
    _draw_floor(axes, line, [not math.isfinite(value) for value in line.values], TROUBLE)
    if scale == "log":
        _draw_floor(axes, line, [value == 0 for value in line.values], color)
    return drawn


def _draw_floor(axes: Axes, line: Line, there: Sequence[bool], color: str) -> None:
    """Points without a height, as a thin bar at the bottom of the panel; single ones as a dot."""
    shown = [step if one else math.nan for step, one in zip(line.steps, there, strict=True)]
    style = {"color": color, "transform": axes.get_xaxis_transform(), "zorder": 2}
    axes.plot(shown, [FLOOR] * len(shown), linewidth=2.0, solid_capstyle="butt", **style)  # type: ignore[arg-type]
    alone = [shown[index] for index in _alone(shown)]
    axes.plot(alone, [FLOOR] * len(alone), "|", markersize=5, **style)  # type: ignore[arg-type]


def _within(value: float) -> float:
    """A height that can be drawn; NaN leaves a hole."""
    if not math.isfinite(value):
        return math.nan
    size = 0.0 if value == 0 else max(1 / LARGEST, min(LARGEST, abs(value)))
    return math.copysign(size, value)


def _alone(heights: Sequence[float]) -> Any:
    """Indices of points between two holes, which a line would not show."""
    padded = [math.nan, *heights, math.nan]
    for index, (before, value, after) in enumerate(zip(padded, heights, padded[2:], strict=False)):
        if math.isnan(before) and math.isnan(after) and not math.isnan(value):
            yield index


def _draw_mark(axes: Axes, mark: Mark, scale: Scale) -> None:
    if mark.value is None:
        style, width = (":", 0.9) if mark.kind == "resume" else ("-", 1.2)
        axes.axvline(mark.place, color=_color(mark), linewidth=width, linestyle=style, zorder=1)
        return
    height, at_floor = _height(mark, scale)
    transform = axes.get_xaxis_transform() if at_floor else axes.transData
    axes.plot(
        [mark.place], [height], "o", color=TROUBLE, markersize=9, markerfacecolor="none", zorder=4, transform=transform
    )


def _height(mark: Mark, scale: Scale) -> tuple[float, bool]:
    """Height of a mark, and whether it counts from the bottom of the panel: zeros of a log axis."""
    if mark.value is None:
        return 0.97, True
    return (FLOOR, True) if scale == "log" and mark.value <= 0 else (_within(mark.value), False)


def _color(mark: Mark) -> str:
    return QUIET if mark.kind == "resume" else TROUBLE


def _draw_checkpoints(axes: Axes, steps: Sequence[int]) -> Any:
    (drawn,) = axes.plot(
        steps,
        [0.0] * len(steps),
        "^",
        color=QUIET,
        markersize=5,
        transform=axes.get_xaxis_transform(),
        clip_on=False,
        zorder=2,
    )
    return drawn


def _set_scale(axes: Axes, panel: Panel) -> None:
    """Scale and ticks with plain numbers: the usual formatters speak mathematics or hide an offset in a corner."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

    if panel.scale == "log":
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(numticks=6))
    elif panel.scale == "symlog":
        axes.set_yscale("symlog", linthresh=1.0)
    else:
        axes.yaxis.set_major_locator(MaxNLocator(nbins=5))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.5g}"))
    axes.xaxis.set_major_locator(MaxNLocator(nbins=8, integer=True))
    axes.xaxis.set_major_formatter(FuncFormatter(_place))


def _set_range(axes: Axes, panel: Panel, zoom: Zoom | None) -> None:
    """The axes' ends: room around a single position, and around values that differ by rounding."""
    low, high = axes.get_xlim()
    if zoom is not None:
        margin = (zoom.high - zoom.low) * 0.03
        axes.set_xlim(zoom.low - margin, zoom.high + margin)
    elif high - low < 1:
        axes.set_xlim((low + high) / 2 - 1, (low + high) / 2 + 1)
    bottom, top = axes.get_ylim()
    least = LEAST_RANGE * max(abs(bottom), abs(top))
    if panel.scale == "linear" and top - bottom < least:
        middle = bottom / 2 + top / 2
        axes.set_ylim(middle - least / 2, middle + least / 2)


def _place(value: float, _: object = None) -> str:
    return f"{value:,.0f}" if abs(value) < 1e9 else f"{value:.4g}"


def _draw_notes(axes: Axes, place: Place) -> None:
    """What the marks are, in rows above the panel, and their numbers in it."""
    for up, (text, color) in enumerate(reversed(note_rows(place.notes))):
        axes.annotate(
            text, (0, 1), xycoords="axes fraction", xytext=(4, up * LINE + 4), textcoords="offset pixels", color=color
        )
    if len(place.notes) > 1:
        numbers = {mark.text: number for number, mark in enumerate(place.notes, 1)}
        for mark in place.panel.marks:
            if mark.text in numbers:
                _draw_number(axes, mark, numbers[mark.text], place.panel.scale)


def _draw_number(axes: Axes, mark: Mark, number: int, scale: Scale) -> None:
    low, high = axes.get_xlim()
    is_right = mark.place > low + 0.97 * (high - low)
    height, at_floor = _height(mark, scale)
    axes.annotate(
        str(number),
        (mark.place, height),
        xycoords=axes.get_xaxis_transform() if at_floor else "data",
        xytext=(-7 if is_right else 7, 0) if mark.value is not None else (-3 if is_right else 3, 0),
        textcoords="offset points",
        ha="right" if is_right else "left",
        va="center" if mark.value is not None else "top",
        color=_color(mark),
        fontweight="bold",
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6, "alpha": 0.75},
        zorder=5,
    )


def note_rows(notes: Sequence[Mark]) -> list[tuple[str, str]]:
    """(text, colour) of the rows that say what the marks are, with their numbers where there are several."""
    rows: list[tuple[str, str]] = []
    for number, mark in enumerate(notes, 1):
        text = one_line(drawable(mark.text), LONGEST_NOTE)
        text = f"{number}  {text}" if len(notes) > 1 else text
        color = _color(mark)
        if rows and rows[-1][1] == color and len(rows[-1][0]) + len(text) + 4 <= LEGEND_WIDTH / CHARACTER:
            rows[-1] = (f"{rows[-1][0]}    {text}", color)
        else:
            rows.append((text, color))
    return rows


def _legend(axes: Axes, drawn: Sequence[Any], place: Place) -> None:
    """Above the panel, where it hides nothing. Names are set afterwards: matplotlib drops those that begin with _."""
    names, notes = place.names, note_rows(place.notes)
    legend = axes.legend(
        drawn,
        [str(index) for index in range(len(names))],
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0 + len(notes) * LINE / axes.bbox.height),
        ncols=columns(names),
        frameon=False,
        borderaxespad=0.1,
        handlelength=1.8,
        columnspacing=1.4,
        labelspacing=0.25,
    )
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set_text(name)


def _nothing() -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], linestyle="none")
