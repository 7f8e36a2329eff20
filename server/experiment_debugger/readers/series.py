"""Metric series: what every reader of numbers returns, and every detector looks at.

    train/loss   step  10    20    30            loss of logs, CSV, TensorBoard, W&B, trainer_state.json
                 value 2.31  2.04  nan

A series keeps NaN and infinities. Bulk data stands in parallel arrays, 32 bytes a point; there is no object per point.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from experiment_debugger.readers.roles import is_evaluation, role_of
from experiment_debugger.redaction import readable, redact

LONGEST_KEY = 300  # characters
Axis = Literal["step", "epoch", "record"]
"""What the positions of a series count: optimizer steps, epochs, or rows of a source that counts nothing else."""


@dataclass(slots=True)
class Series:
    """One metric of one source and rank: parallel arrays.

    `steps` are positions on `axis`, -1 where unknown; `times` seconds since the epoch, NaN where unknown; `lines` the
    1-based line of the point in a text file, 0 where the source is binary. `key` is the original name.
    """

    key: str
    role: str | None
    rank: int | None = None
    evaluation: bool = False
    axis: Axis = "step"
    steps: array[int] = field(default_factory=lambda: array("q"))
    values: array[float] = field(default_factory=lambda: array("d"))
    times: array[float] = field(default_factory=lambda: array("d"))
    lines: array[int] = field(default_factory=lambda: array("q"))

    def __len__(self) -> int:
        """Number of points."""
        return len(self.values)

    def add(self, step: int, value: float, time: float = math.nan, line: int = 0) -> None:
        """Append one point."""
        self.steps.append(step)
        self.values.append(value)
        self.times.append(time)
        self.lines.append(line)

    def nonfinite_from(self) -> int | None:
        """Index of the first NaN or infinite value, or None."""
        return next((i for i, value in enumerate(self.values) if not math.isfinite(value)), None)


@dataclass(frozen=True, slots=True)
class Histogram:
    """One distribution of a tensor: `counts[i]` values lie at or below `edges[i]` and above the edge before."""

    key: str
    step: int
    minimum: float
    maximum: float
    count: float
    total: float
    total_of_squares: float
    edges: tuple[float, ...]
    counts: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Segment:
    """One file of a source that was written in several (restarts, several writers); times in seconds, NaN: unknown."""

    name: str
    first_time: float
    last_time: float
    first_step: int
    last_step: int
    points: int


@dataclass(slots=True)
class Recorded:
    """What one source of numbers holds, and what of it could not be used.

    `settings` are dotted keys of a config or hyper-parameters that the source carries; `facts` are about the run
    (`exit_code`, `state`, `command`, `commit`, `version`); `problems` are short lines such as "3 damaged records
    (12 kB) passed over", each about something that was lost.
    """

    series: dict[tuple[str, int | None, bool], Series] = field(default_factory=dict)
    histograms: list[Histogram] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)
    segments: list[Segment] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    planned_steps: int | None = None
    planned_epochs: int | None = None
    records: int = 0
    bytes: int = 0

    def __iter__(self) -> Iterator[Series]:
        """The series in order of their first point."""
        return iter(self.series.values())

    def of(self, key: str, *, rank: int | None = None, evaluation: bool | None = None, axis: Axis = "step") -> Series:
        """The series of a key, made on first use; its role and whether it is of an evaluation follow from the key."""
        evaluated = is_evaluation(key) if evaluation is None else evaluation
        series = self.series.get((key, rank, evaluated))
        if series is None:
            name = redact(readable(key[:LONGEST_KEY]))
            series = Series(name, role_of(name, evaluation=evaluated), rank, evaluated, axis)
            self.series[key, rank, evaluated] = series
        return series

    def give_roles(self, roles: Mapping[str, str]) -> None:
        """Roles that the project declares for its own keys."""
        for series in self:
            series.role = roles.get(series.key, series.role)


def last_step(all_series: Sequence[Series]) -> int | None:
    """The largest optimizer step of several series, or None."""
    last = max((max(one.steps, default=-1) for one in all_series if one.axis == "step"), default=-1)
    return last if last >= 0 else None
