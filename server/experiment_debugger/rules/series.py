"""Findings about one metric column: what every detector of numbers shares."""

from __future__ import annotations

import math

from experiment_debugger.evidence import FileEvidence, quote_of
from experiment_debugger.models import Evidence, Finding, Level, Mode, Position, Role, as_value
from experiment_debugger.readers.progress import Column


def series_finding(
    entry: FileEvidence,
    column: Column,
    index: int,
    *,
    rule: str,
    title: str,
    recovered: bool = False,
    level: Level = "error",
    role: Role = "root",
    mode: Mode = "nan-gradient",
) -> Finding:
    """A finding at one value of a column, quoting it and the value before."""
    line, step = column.lines[index], column.steps[index]
    evidence = [_point(entry, column, index)]
    if index > 0 and index - 1 in column.texts:
        evidence.append(_point(entry, column, index - 1))
    return Finding(
        rule=rule,
        mode=mode,
        symptom_class="nonfinite",
        role=role,
        level=level,
        title=title,
        position=Position(
            path=entry.name,
            line=line,
            step=step if step >= 0 else entry.steps_before(line),
            time=_time(entry, line),
            rank=column.rank if column.rank is not None else entry.artifact.rank,
            attempt=entry.artifact.attempt,
        ),
        evidence=tuple(evidence),
        values={"key": column.key, "value": str(as_value(column.values[index]))},
        recovered=recovered,
    )


def _time(entry: FileEvidence, line: int) -> float | None:
    progress = entry.progress
    for at, number in enumerate(progress.lines):
        if number == line:
            return None if math.isnan(progress.times[at]) else progress.times[at]
    return None


def _point(entry: FileEvidence, column: Column, index: int) -> Evidence:
    line, step = column.lines[index], column.steps[index]
    return Evidence(
        path=entry.name,
        line=line,
        step=step if step >= 0 else None,
        key=column.key,
        value=as_value(column.values[index]),
        quote=_quote(column, index),
    )


def _quote(column: Column, index: int) -> str | None:
    text = column.texts.get(index)
    if text is None:
        return None
    at = max(text.find(column.key), 0)
    return quote_of(text, (at, at + len(column.key) + 12))


def loss_tells(entry: FileEvidence, line: int) -> bool:
    """Whether a loss is not finite, or exactly zero, at this line or before: then it says what its gradient would."""
    return any(
        number <= line and (not math.isfinite(value) or (value == 0.0 and number == line))
        for column in entry.progress.columns.values()
        if column.role == "loss" and not column.evaluation
        for number, value in zip(column.lines, column.values, strict=True)
    )


def loss_is_bad(entry: FileEvidence) -> bool:
    """Whether a training loss of this file was ever not finite."""
    return any(
        column.role == "loss" and not column.evaluation and column.nonfinite_from() is not None
        for column in entry.progress.columns.values()
    )
