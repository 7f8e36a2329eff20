"""One panel of a picture: lines in colours that colour-blind people can tell apart, marks, and a legend above."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from experiment_debugger.metrics.chart import Line, Mark, Panel
from experiment_debugger.report.quoting import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#000000")
"""Okabe and Ito (2008), without the yellow that white swallows and the vermilion that is kept for trouble."""
TROUBLE = "#D55E00"
QUIET = "#777777"
FEW_POINTS = 60
"""Lines with at most so many points show each of them."""
MOST_LABELS = 3
LABEL_HEIGHT = 0.13
"""Height of one row of labels, as a share of the panel."""
LEGEND_WIDTH = 686
"""Pixels in one row of a legend."""
CHARACTER, SIGN = 6.6, 58
"""Pixels of a character and of what stands between two names of a legend."""
LONGEST_LABEL, LONGEST_OF_MANY, LONGEST_MARK = 40, 25, 60
LARGEST = 1e150
"""Heights beyond overflow the arithmetic of axes, and so do those below its inverse on a logarithmic one."""


def draw_panel(axes: Axes, panel: Panel, checkpoints: Sequence[int], *, first: bool, last: bool) -> None:
    """Marks below, lines above them; the x axis is labelled below the last panel that shares it."""
    for mark in panel.marks:
        _draw_mark(axes, mark)
    drawn = [_draw_line(axes, line) for line in panel.lines]
    drawn += [_nothing()] if panel.left_out else []
    drawn += [_draw_checkpoints(axes, checkpoints)] if checkpoints else []
    _set_scale(axes, panel)
    labels = [mark for mark in panel.marks if mark.kind != "resume" or first]
    _label(axes, labels)
    _legend(axes, drawn, legend_names(panel, checkpoints=bool(checkpoints)))
    axes.yaxis.set_label_coords(-0.113, 0.5)
    axes.set_ylabel(panel.name + (" (log)" if panel.scale != "linear" else ""))
    _widen(axes)
    axes.tick_params(labelbottom=last)
    if last:
        axes.set_xlabel(panel.axis)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.grid(visible=True, color="#E5E5E5", linewidth=0.6)
    axes.set_axisbelow(True)


def _draw_line(axes: Axes, line: Line) -> Any:
    """The line, with a sign at each point where they are few or stand alone."""
    heights = [_within(value) for value in line.values]
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
    bad = [step for step, value in zip(line.steps, line.values, strict=True) if not math.isfinite(value)]
    axes.plot(
        bad, [0.0] * len(bad), "|", color=TROUBLE, markersize=7, transform=axes.get_xaxis_transform(), clip_on=False
    )
    return drawn


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


def _draw_mark(axes: Axes, mark: Mark) -> None:
    if mark.kind == "resume":
        axes.axvline(mark.step, color=QUIET, linewidth=0.9, linestyle=":", zorder=1)
    elif mark.value is None:
        axes.axvline(mark.step, color=TROUBLE, linewidth=1.2, zorder=1)
    else:
        axes.plot(
            [mark.step], [_within(mark.value)], "o", color=TROUBLE, markersize=9, markerfacecolor="none", zorder=4
        )


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


def _widen(axes: Axes) -> None:
    """Room around a single position, whose ticks would be fractions of a step."""
    low, high = axes.get_xlim()
    if high - low < 1:
        middle = (low + high) / 2
        axes.set_xlim(middle - 1, middle + 1)


def _place(value: float, _: object = None) -> str:
    return f"{value:,.0f}" if abs(value) < 1e9 else f"{value:.4g}"


def _label(axes: Axes, marks: Sequence[Mark]) -> None:
    """The texts of the first marks, each in a row of its own above the lines."""
    shown = _apart(marks)[:MOST_LABELS]
    if not shown:
        return
    _make_room(axes, len(shown) * LABEL_HEIGHT)
    low, high = axes.get_xlim()
    for row, mark in enumerate(shown):
        is_right = mark.step > (low + high) / 2
        axes.annotate(
            one_line(mark.text, LONGEST_MARK),
            (mark.step, 1 - row * LABEL_HEIGHT),
            xycoords=axes.get_xaxis_transform(),
            xytext=(-5 if is_right else 5, -2),
            textcoords="offset points",
            ha="right" if is_right else "left",
            va="top",
            color=QUIET if mark.kind == "resume" else TROUBLE,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
            zorder=5,
        )


def _apart(marks: Sequence[Mark]) -> list[Mark]:
    """One mark of each text, and of several series that stop being finite only the first."""
    first = min((mark.step for mark in marks if mark.kind == "nonfinite"), default=None)
    kept = [mark for mark in marks if mark.kind != "nonfinite" or mark.step == first]
    return list({mark.text: mark for mark in reversed(kept)}.values())[::-1]


def _make_room(axes: Axes, share: float) -> None:
    """The upper end of the axis, so that a share of the panel is free above the lines."""
    transform = axes.yaxis.get_transform()
    low, high = transform.transform(axes.get_ylim())
    room = (high - low) * share / (1 - share)
    top = float(transform.inverted().transform(high + room))
    if math.isfinite(top):
        axes.set_ylim(top=top)


def legend_names(panel: Panel, *, checkpoints: bool = False) -> list[str]:
    """What the legend says, line by line of the panel."""
    names = [line.label for line in panel.lines]
    names += [f"and {panel.left_out} more"] if panel.left_out else []
    names += ["checkpoint"] if checkpoints else []
    return [shortened(_drawable(name), LONGEST_LABEL if len(names) <= 2 else LONGEST_OF_MANY) for name in names]


def _columns(names: Sequence[str]) -> int:
    return max(1, min(len(names), int(LEGEND_WIDTH / (max(map(len, names)) * CHARACTER + SIGN))))


def legend_rows(panel: Panel, *, checkpoints: bool = False) -> int:
    """Rows that the legend takes."""
    names = legend_names(panel, checkpoints=checkpoints)
    return -(-len(names) // _columns(names))


def _legend(axes: Axes, drawn: Sequence[Any], names: Sequence[str]) -> None:
    """Above the panel, where it hides nothing. Names are set afterwards: matplotlib drops those that begin with _."""
    legend = axes.legend(
        drawn,
        [str(index) for index in range(len(names))],
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=_columns(names),
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


def shortened(name: str, length: int = LONGEST_LABEL) -> str:
    """A long name without its middle: both ends of a metric's name tell it apart."""
    half = (length - 1) // 2
    return name if len(name) <= length else f"{name[:half]}\u2026{name[-half:]}"


def wrapped(text: str, width: int) -> str:
    """Text in lines of at most `width` characters, three of them at most."""
    return "\n".join(textwrap.wrap(_drawable(text), width, max_lines=3, placeholder=" \u2026"))


def _drawable(text: str) -> str:
    """Text without what cannot be seen, and with a question mark for signs that the font does not have."""
    return "".join(mark if ord(mark) in _glyphs() else "?" for mark in one_line(text, 1000))


@lru_cache(maxsize=1)
def _glyphs() -> frozenset[int]:
    """The signs that the font has; for others matplotlib warns and draws empty boxes."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    return frozenset(get_font(findfont(FontProperties())).get_charmap())
