"""Findings about one metric series: what every detector of numbers shares."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from experiment_debugger.evidence import FileEvidence, quote_of
from experiment_debugger.models import Evidence, Finding, Position, as_value
from experiment_debugger.readers.series import Series
from experiment_debugger.rules.base import RuleInfo


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
    """A finding at one value of a series, quoting it, the value before and those at the indices `also`."""
    quoted = [index, *([index - 1] if index > 0 and index - 1 in series.texts else []), *also]
    return info.finding(
        position_of(entry, series, index),
        (point(entry, series, at) for at in dict.fromkeys(quoted)),
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


def point(entry: FileEvidence, series: Series, index: int) -> Evidence:
    """One point as evidence: key, step, value, and file line where it was text."""
    line = series.lines[index]
    return Evidence(
        path=entry.name,
        line=line or None,
        step=step_at(series, index) if line else series.steps[index],
        key=series.key,
        value=as_value(series.values[index]),
        quote=_quote(series, index) if line else None,
    )


def _quote(series: Series, index: int) -> str | None:
    text = series.texts.get(index)
    if text is None:
        return None
    at = max(text.find(series.key), 0)
    return quote_of(text, (at, at + len(series.key) + 12))


def loss_tells(entry: FileEvidence, line: int) -> bool:
    """Whether a loss is not finite, or exactly zero, at this line or before: then it says what its gradient would."""
    return any(
        number <= line and (not math.isfinite(value) or (value == 0.0 and number == line))
        for series in entry.series
        if series.role == "loss" and not series.evaluation
        for number, value in zip(series.lines, series.values, strict=True)
    )


def loss_is_bad(entry: FileEvidence) -> bool:
    """Whether a training loss of this file was ever not finite."""
    return any(
        series.role == "loss" and not series.evaluation and series.nonfinite_from() is not None
        for series in entry.series
    )
