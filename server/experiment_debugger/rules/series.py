"""Findings about one metric series: what every detector of numbers shares."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from experiment_debugger.evidence import FileEvidence
from experiment_debugger.models import Evidence, Finding, Position, as_value
from experiment_debugger.readers.series import Series
from experiment_debugger.rules.base import RuleInfo

AS_CONTEXT: dict[str, Any] = {"role": "context", "symptom_class": "observation", "level": "info"}
"""The facts of a finding that is worth knowing and no failure, where its rule can be one."""


def series_finding(
    entry: FileEvidence,
    series: Series,
    index: int,
    info: RuleInfo,
    *,
    title: str,
    recovered: bool = False,
    also: Sequence[int] = (),
    **facts: Any,
) -> Finding:
    """A finding at one value of a series, with those at the indices `also`; who shows them reads their text again."""
    return info.finding(
        position_of(entry, series, index),
        (point(entry, series, at) for at in dict.fromkeys((index, *also))),
        title=title,
        values={"key": series.key, "value": str(as_value(series.values[index]))},
        recovered=recovered,
        **facts,
    )


def position_of(entry: FileEvidence, series: Series, index: int) -> Position:
    """Where in the run a point stands."""
    line, step, time = series.lines[index], step_at(series, index), series.times[index]
    return Position(
        path=entry.name,
        line=line or None,
        step=entry.steps_before(line) if step is None and line else step,
        time=None if math.isnan(time) else time,
        rank=series.rank if series.rank is not None else entry.artifact.rank,
        attempt=entry.artifact.attempt,
    )


def step_at(series: Series, index: int) -> int | None:
    """The optimizer step of a point, where the series counts those."""
    step = series.steps[index]
    return step if step >= 0 and series.axis == "step" else None


def _step_by_time(entry: FileEvidence, time: float) -> int | None:
    """The last step that the same source had reached: machine readings have a time and no step."""
    counted = next((series for series in entry.recorded if series.axis == "step" and max(series.steps) >= 0), None)
    if counted is None:
        return None
    reached = (step for step, stamp in zip(counted.steps, counted.times, strict=True) if stamp <= time and step >= 0)
    return max(reached, default=None)


def point(entry: FileEvidence, series: Series, index: int) -> Evidence:
    """One point as evidence: key, step, value, and file line where it was text."""
    line, step = series.lines[index], step_at(series, index)
    if step is None and not line:
        position = series.steps[index] if series.axis == "epoch" else None
        step = _step_by_time(entry, series.times[index]) if position is None else position
    return Evidence(
        path=entry.name,
        line=line or None,
        step=step,
        key=series.key,
        value=as_value(series.values[index]),
    )


def place_in(series: Series, index: int) -> int:
    """What orders the points of several series of one source: the step or epoch, the line where that is unknown.

    A record of a JSON file has a line for each of its numbers.
    """
    step = series.steps[index]
    return step if step >= 0 else series.lines[index]


def training_losses(entry: FileEvidence) -> list[Series]:
    """The training losses of one source."""
    return [series for series in entry.series if series.role == "loss" and not series.evaluation]


def loss_tells(entry: FileEvidence, place: int) -> bool:
    """Whether a loss is not finite here or before, or exactly zero here: then it says what its gradient would."""
    for series in training_losses(entry):
        bad = series.nonfinite_from()
        if bad is not None and place_in(series, bad) <= place:
            return True
        if series.values.count(0.0) and any(
            value == 0.0 and place_in(series, index) == place for index, value in enumerate(series.values)
        ):
            return True
    return False


def loss_is_bad(entry: FileEvidence) -> bool:
    """Whether a training loss of this file was ever not finite."""
    return any(series.nonfinite_from() is not None for series in training_losses(entry))
