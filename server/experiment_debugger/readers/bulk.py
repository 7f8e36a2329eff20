"""Many points of a series at once: five times cheaper than one by one, which a table of millions of cells needs."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field

from experiment_debugger.readers.series import Series


@dataclass(slots=True)
class Stretch:
    """Rows of one kind that follow each other, and where they stand."""

    lines: list[int] = field(default_factory=list)
    cells: list[Sequence[bytes]] = field(default_factory=list)
    steps: array[int] = field(default_factory=lambda: array("q"))
    times: array[float] = field(default_factory=lambda: array("d"))


def extend(series: Series, numbers: list[float], places: Sequence[int], rows: Stretch) -> None:
    """Append many points at once: `numbers` stand in the rows `places`."""
    is_whole = len(numbers) == len(rows.lines)
    series.steps.extend(rows.steps if is_whole else [rows.steps[at] for at in places])
    series.times.extend(rows.times if is_whole else [rows.times[at] for at in places])
    series.lines.extend(rows.lines if is_whole else [rows.lines[at] for at in places])
    series.values.extend(numbers)
