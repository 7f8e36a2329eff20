"""Many points of a series at once: five times cheaper than one by one, which a table of millions of cells needs."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field

from experiment_debugger.readers.lines import to_text
from experiment_debugger.readers.series import Series

_WATCHED = frozenset({"loss-scale", "grad-norm", "memory"})  # roles whose single points may be worth a quote


@dataclass(slots=True)
class Stretch:
    """Rows of one kind that follow each other, and where they stand."""

    lines: list[int] = field(default_factory=list)
    raw: list[bytes] = field(default_factory=list)
    cells: list[Sequence[bytes]] = field(default_factory=list)
    steps: array[int] = field(default_factory=lambda: array("q"))
    times: array[float] = field(default_factory=lambda: array("d"))


def extend(series: Series, numbers: list[float], places: Sequence[int], rows: Stretch) -> None:
    """Append many points at once; those of a stretch that may hold something to quote go one by one."""
    quiet = series.role not in _WATCHED and all(map(math.isfinite, numbers))
    if quiet and not (series.role == "loss" and 0.0 in numbers):
        is_whole = len(numbers) == len(rows.lines)
        series.steps.extend(rows.steps[:-1] if is_whole else [rows.steps[at] for at in places[:-1]])
        series.times.extend(rows.times[:-1] if is_whole else [rows.times[at] for at in places[:-1]])
        series.lines.extend(rows.lines[:-1] if is_whole else [rows.lines[at] for at in places[:-1]])
        series.values.extend(numbers[:-1])
        numbers, places = numbers[-1:], places[-1:]
    for number, at in zip(numbers, places, strict=True):
        series.add(rows.steps[at], number, rows.times[at], rows.lines[at], to_text(rows.raw[at]).strip())
