"""Metrics as JSON: one object a line, a list of objects, or one list a key.

{"iteration": 19, "total_loss": 1.27, "lr": 0.0002}                                 detectron2 metrics.json
{"mode": "train", "epoch": 2, "iter": 50, "loss": 0.93}                             mmdetection 2.x None.log.json
{"train_loss": "9.1", "train_num_updates": "50", "epoch": 1}                        fairseq --log-format json
{"loss": [0.69, 0.51], "val_loss": [0.70, 0.66]}                                    history of Keras
"""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from experiment_debugger.readers.bulk import Stretch, extend
from experiment_debugger.readers.columns import meaning_of, number_of, position, preferred, stamp_of
from experiment_debugger.readers.series import Axis, Recorded

MOST_KEYS = 2000
MOST_SERIES = 5000
DEEPEST = 8  # nested objects
MOST_SHAPES = 1000
FEW_ROWS = 4  # are added one by one
_SPLITS = ("mode", "split", "phase", "stage")
Row = dict[str, Any]


def parsed(text: bytes | str) -> Any:
    """The JSON value of a text, None where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def flattened(row: Row, joint: str = ".", prefix: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """The leaves of nested objects under joined keys: `{"val": {"acc": 1}}` is `val.acc`."""
    for key, value in row.items():
        if type(value) is not dict:
            yield prefix + key, value
        elif depth < DEEPEST:
            yield from flattened(value, joint, prefix + key + joint, depth + 1)


@dataclass(frozen=True, slots=True)
class _Shape:
    """What the keys of one kind of row mean."""

    step: str | None
    epoch: str | None
    time: str | None
    values: tuple[str, ...]
    split: str | None
    rank: bool


def _shape_of(row: Row) -> _Shape:
    names = list(row)[:MOST_KEYS]
    step = preferred(names)
    epoch = next((name for name in names if meaning_of(name) == "epoch"), None)
    time = next((name for name in names if meaning_of(name) == "time" and not math.isnan(stamp_of(row[name]))), None)
    values = tuple(name for name in names if name not in {step, epoch, time, "rank"})
    return _Shape(step, epoch, time, values, next((name for name in _SPLITS if name in row), None), "rank" in row)


class JsonRows:
    """Takes rows, one object each, and puts their numbers into series."""

    def __init__(self, recorded: Recorded) -> None:
        self._recorded = recorded
        self._shapes: dict[tuple[str, ...], _Shape] = {}
        self._rows = self._bad = self._left_out = 0
        self._trained: tuple[int, int] = (-1, -1)
        self._epochs = _EpochRows()
        self._shape: _Shape | None = None
        self._waiting: list[tuple[Row, int]] = []

    def take(self, first: int, lines: list[bytes]) -> None:
        """The lines of one block; `first` is the number of the first one."""
        for number, line in enumerate(lines, first):
            text = line.partition(b"\r")[0].strip()
            if not text:
                continue
            start = 0 if text.startswith((b"{", b"[")) else text.find(b"{")
            value = parsed(text[start:].decode("utf-8", "replace"))
            if isinstance(value, dict):
                self.row(value, number)
            elif isinstance(value, list):
                self.rows(value)
            else:
                self._bad += 1
        self._flush()

    def rows(self, values: list[Any]) -> None:
        """A list of objects that stand in one document."""
        for value in values:
            if isinstance(value, dict):
                self.row(value)
            else:
                self._bad += 1

    def row(self, row: Row, line: int = 0) -> None:
        """One object; `line` 0: its place in a text is not known."""
        if any(type(value) is dict for value in row.values()):
            row = dict(flattened(row, "/" if "training_iteration" in row else "."))
        names = tuple(row)
        shape = self._shapes.get(names)
        if shape is None:
            shape = _shape_of(row)
            if len(self._shapes) < MOST_SHAPES:
                self._shapes[names] = shape
        self._rows += 1
        if not line or not self._is_plain(shape):
            self._flush()
            self._add(row, shape, line)
            return
        if shape is not self._shape:
            self._flush()
        self._shape = shape
        self._waiting.append((row, line))

    def finish(self) -> None:
        """The source has ended."""
        if self._bad:
            self._recorded.problems.append(f"{self._bad} rows are no valid JSON")
        if self._left_out:
            self._recorded.problems.append(f"{self._left_out} values of more than {MOST_SERIES} series passed over")
        self._epochs.correct(self._recorded)

    def _add(self, row: Row, shape: _Shape, line: int) -> None:
        evaluation = self._is_evaluation(row, shape)
        at, axis = self._place(row, shape, line, evaluation=evaluation)
        time = stamp_of(row[shape.time]) if shape.time else math.nan
        rank = row["rank"] if shape.rank and type(row["rank"]) is int else None
        recorded = self._recorded
        for key in shape.values:
            value = row[key]
            number = value if type(value) is float else number_of(value)
            if number is None:
                continue
            if len(recorded.series) >= MOST_SERIES:
                self._left_out += 1
                continue
            series = recorded.of(key, rank=rank, evaluation=evaluation, axis=axis)
            series.add(at if series.axis == axis else -1, number, time, line)

    def _is_plain(self, shape: _Shape) -> bool:
        """Whether rows of this shape stand at their own step, whatever came before; such rows are added together."""
        if shape.step is None or shape.split or shape.rank:
            return False
        return shape.step != "iter" if shape.epoch else self._trained[0] < 0 and not self._awaits_epoch()

    def _awaits_epoch(self) -> bool:
        return self._shape is not None and self._shape.epoch is not None and bool(self._waiting)

    def _flush(self) -> None:
        """Add the rows that wait, a key at a time."""
        waiting, shape = self._waiting, self._shape
        self._waiting = []
        if shape is None or shape.step is None:
            return
        if len(waiting) < FEW_ROWS:
            for row, line in waiting:
                self._add(row, shape, line)
            return
        rows, step = Stretch(), shape.step
        rows.lines = [line for _, line in waiting]
        rows.steps = array("q", [position(number_of(row[step])) for row, _ in waiting])
        rows.times = array("d", [stamp_of(row[shape.time]) if shape.time else math.nan for row, _ in waiting])
        for key in shape.values:
            self._add_all(key, [row[key] for row, _ in waiting], rows)
        if shape.epoch:
            self._trained = position(number_of(waiting[-1][0][shape.epoch])), rows.steps[-1]

    def _add_all(self, key: str, cells: list[Any], rows: Stretch) -> None:
        if set(map(type, cells)) == {float}:
            numbers, places = cells, list(range(len(cells)))
        else:
            read = [(at, number) for at, cell in enumerate(cells) if (number := number_of(cell)) is not None]
            places, numbers = [at for at, _ in read], [number for _, number in read]
        if not numbers:
            return
        if len(self._recorded.series) >= MOST_SERIES:
            self._left_out += len(numbers)
            return
        series = self._recorded.of(key, axis="step")
        if series.axis != "step":
            rows = replace(rows, steps=array("q", [-1]) * len(rows.steps))
        extend(series, numbers, places, rows)

    def _place(self, row: Row, shape: _Shape, line: int, *, evaluation: bool | None) -> tuple[int, Axis]:
        step = position(number_of(row[shape.step])) if shape.step else -1
        epoch = position(number_of(row[shape.epoch])) if shape.epoch else -1
        if shape.step is None:
            return (epoch, "epoch") if shape.epoch else (self._rows, "record")
        trained = self._trained
        if evaluation and shape.epoch and trained[1] >= 0:
            step, epoch = trained[1], trained[0]  # "iter" of a `val` row of mmcv counts the evaluation's own batches
        elif evaluation and shape.epoch is None and trained[1] >= 0:
            return trained[1], "step"
        elif shape.epoch:
            self._trained = epoch, step
        if shape.step == "iter" and shape.epoch:
            self._epochs.add(line, epoch, step)
        return step, "step"

    def _is_evaluation(self, row: Row, shape: _Shape) -> bool | None:
        """Whether a row says so; rows of an evaluation of mmengine have no `epoch`, and it stands in their `step`."""
        split = row[shape.split] if shape.split else None
        if isinstance(split, str):
            return not split.lower().startswith("train")
        is_epoch = shape.step == "step" and shape.epoch is None and number_of(row["step"]) == self._trained[0]
        return True if is_epoch and self._trained[0] >= 0 else None


class _EpochRows:
    """Rows that count iterations within their epoch: mmdetection 2.x starts at 1 again in every epoch."""

    def __init__(self) -> None:
        self._lines, self._epochs, self._iterations = array("q"), array("q"), array("q")
        self._restarts = False

    def add(self, line: int, epoch: int, iteration: int) -> None:
        if self._lines and epoch > self._epochs[-1] and iteration < self._iterations[-1]:
            self._restarts = True
        self._lines.append(line)
        self._epochs.append(epoch)
        self._iterations.append(iteration)

    def correct(self, recorded: Recorded) -> None:
        """Steps from the begin of training; the longest epoch seen stands for all of them."""
        if not self._restarts:
            return
        length, first = max(self._iterations), 1 if min(self._epochs) >= 1 else 0
        rows = zip(self._lines, self._epochs, self._iterations, strict=True)
        steps = {line: (epoch - first) * length + iteration for line, epoch, iteration in rows}
        for series in recorded:
            for index, line in enumerate(series.lines):
                series.steps[index] = position(steps.get(line, series.steps[index]))
