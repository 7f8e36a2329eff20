"""A chart as a PNG: stacked panels that share the step axis, legible at 800 pixels, of at most 100 kB.

matplotlib is loaded on the first picture, through its object-oriented interface: no pyplot, no window, no file of the
working folder. Its text is never read as mathematics, because `$` in a metric's name is a dollar sign.
"""

from __future__ import annotations

import io
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiment_debugger.errors import DebuggerError
from experiment_debugger.metrics.chart import Chart
from experiment_debugger.report.captions import wrapped
from experiment_debugger.report.panels import LINE, Place, draw_panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 800  # pixels
LEFT, RIGHT, MARGIN = 108, 18, 8
TITLE, TICKS, GAP = 24, 42, 18
"""Heights of the title, of the labels below an axis, and between panels."""
PANEL, SINGLE_PANEL = 130, 260
DPI = 100
LARGEST = 100_000  # bytes
PALETTES = (256, 64, 16)
FONT_SIZE = 9.0
CAPTION_WIDTH = 118  # characters of a line below the panels


_DRAWING = threading.Lock()
"""matplotlib is not thread-safe, and the server answers in threads."""


def new_picture(name: str) -> Path:
    """The path of a picture that may be written; raises `DebuggerError` where it may not, before anything is read."""
    path = Path(os.path.expanduser(name))
    if path.suffix.lower() != ".png":
        raise DebuggerError(f"Expected --plot FILE.png, found '{name}'; only PNG is written.")
    if os.path.lexists(path):
        raise DebuggerError(f"Expected a new file for --plot, found that '{name}' exists; name another one.")
    if not path.parent.is_dir():
        raise DebuggerError(f"Expected a folder '{path.parent}' for --plot, found none; create it.")
    return path


def write_picture(path: Path, png: bytes) -> None:
    """Write it, never over a file that has appeared meanwhile."""
    try:
        with open(path, "xb") as file:
            file.write(png)
    except OSError as problem:
        raise DebuggerError(f"Expected to write '{path}', found: {problem.strerror}; name another file.") from None


def draw(chart: Chart) -> bytes:
    """The picture as PNG."""
    with _DRAWING:
        _load()
        image = _rendered(_figure(chart), chart)
    return image if len(image) <= LARGEST else _smaller(image)


def _load() -> None:
    """Load matplotlib with its own defaults: a matplotlibrc of the project could turn on LaTeX, or be broken."""
    try:
        import matplotlib as mpl
    except Exception as problem:  # noqa: BLE001 - a broken installation or settings file is the user's to mend
        raise DebuggerError(
            f"Expected matplotlib to load, found {type(problem).__name__}: {problem}; mend it, or ask without a plot."
        ) from None
    mpl.rcdefaults()
    mpl.rcParams.update({"text.parse_math": False, "font.size": FONT_SIZE, "axes.unicode_minus": False})


def _figure(chart: Chart) -> Figure:
    from matplotlib.figure import Figure

    places = _places(chart)
    caption = wrapped(chart.caption, CAPTION_WIDTH)
    inside = PANEL if len(places) > 1 else SINGLE_PANEL
    heights = [LINE * place.rows + GAP + inside + (TICKS if place.last else 0) for place in places]
    height = TITLE + sum(heights) + LINE * (caption.count("\n") + 1) + 2 * MARGIN
    figure = Figure(figsize=(WIDTH / DPI, height / DPI), dpi=DPI)
    figure.text(LEFT / WIDTH, 1 - MARGIN / height, wrapped(chart.title, 90), fontsize=11, fontweight="bold", va="top")
    figure.text(MARGIN / WIDTH, MARGIN / height, caption, va="bottom")
    shared: dict[str, Axes] = {}
    top = height - TITLE
    for place, taken in zip(places, heights, strict=True):
        bottom = top - LINE * place.rows - GAP - inside
        box = (LEFT / WIDTH, bottom / height, (WIDTH - LEFT - RIGHT) / WIDTH, inside / height)
        axes = figure.add_axes(box, sharex=shared.get(place.panel.shared))
        shared.setdefault(place.panel.shared, axes)
        draw_panel(axes, place)
        top -= taken
    return figure


def _places(chart: Chart) -> list[Place]:
    """The panels from top to bottom; the axis is labelled once, below the last panel that shares it."""
    axes = [panel.shared for panel in chart.panels]
    places = []
    for index, panel in enumerate(chart.panels):
        first, last = panel.shared not in axes[:index], panel.shared not in axes[index + 1 :]
        checkpoints = chart.checkpoints if first and panel.axis == "step" else ()
        places.append(Place(panel, checkpoints, first, last, chart.zooms.get(panel.shared)))
    return places


def _rendered(figure: Figure, chart: Chart) -> bytes:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(figure)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DPI, metadata={"Title": chart.title, "Description": chart.caption})
    return buffer.getvalue()


def _smaller(image: bytes) -> bytes:
    """The same picture with fewer colours, and at last with fewer pixels."""
    from PIL import Image

    with Image.open(io.BytesIO(image)) as picture:
        full = picture.convert("RGB")
    for colors in PALETTES:
        buffer = io.BytesIO()
        full.quantize(colors).save(buffer, format="png", optimize=True)
        if buffer.tell() <= LARGEST:
            return buffer.getvalue()
    return _smaller_by_half(full)


def _smaller_by_half(full: Any) -> bytes:
    buffer = io.BytesIO()
    full.resize((full.width // 2, full.height // 2)).quantize(PALETTES[-1]).save(buffer, format="png", optimize=True)
    return buffer.getvalue()
