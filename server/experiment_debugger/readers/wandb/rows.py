r"""Rows of keys and numbers in `.wandb` records, collected by column: what `run.log` wrote, and system statistics.

    item { nested_key: "train", nested_key: "loss", value_json: "0.25" }   ->   train.loss
    item { key: "train", value_json: "{\"loss\": 0.25}" }                  ->   train.loss   (wandb before 0.18)

Keys repeat from row to row, so the bytes in front of a value are looked up instead of parsed. `"NaN"`, `NaN`,
`Infinity` and `-Infinity` are numbers; texts, lists, booleans and parts of media (`hist._type`, `hist.bins`) are not.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from experiment_debugger.readers.series import Axis, Recorded
from experiment_debugger.readers.wandb.fields import fields, varint

MOST_KEYS = 10_000
MOST_HEADS = 2 * MOST_KEYS  # a key may be written in several ways
LONGEST_JSON = 1 << 20  # bytes of a nested value; a longer one is passed over
LONGEST_KEY = 1000  # characters
LARGEST_STEP = 1 << 62
DEEPEST = 12  # levels of a nested value
VALUE = b"\x82\x01"  # tag of the field value_json
_ROW_FIELD = 2  # wire type of everything that a row holds
_NONFINITE = frozenset({"NaN", "Infinity", "-Infinity"})


@dataclass(slots=True)
class Column:
    """The numbers of one key, each with its row."""

    key: str
    values: array[float] = field(default_factory=lambda: array("d"))
    rows: array[int] = field(default_factory=lambda: array("q"))

    def add(self, row: int, value: float) -> None:
        """Append one number."""
        self.values.append(value)
        self.rows.append(row)

    def spread(self, count: int, missing: float, *, carried: bool = False) -> array[float]:
        """A value for each of `count` rows; where a row has none, `missing`, or the value of the row before."""
        everywhere = array("d", [missing]) * count
        for row, value in zip(self.rows, self.values, strict=True):
            everywhere[row] = value
        if carried and len(self.rows) < count:
            for row in range(1, count):
                if everywhere[row] == missing:
                    everywhere[row] = everywhere[row - 1]
        return everywhere


class Rows:
    """Columns of the rows taken so far. `tag` is the tag byte of an item in a row, `prefix` stands before each key."""

    def __init__(self, tag: int, prefix: str = "") -> None:
        self.count = 0
        self.long = 0
        self.columns: dict[str, Column] = {}
        self._tag, self._prefix = tag, prefix
        self._by_head: dict[bytes, Column] = {}
        self._media: set[str] = set()
        self._is_full = False

    def take(self, row: bytes) -> bytes:
        """Collect one row; returns the message of its field 2 (the time of statistics)."""
        number, at, end, second = self.count, 0, len(row), b""
        by_head, own_tag = self._by_head, self._tag
        self.count += 1
        while at < end:
            tag, size = row[at], row[at + 1]
            at += 2
            if tag & 0x87 != _ROW_FIELD:
                break  # a tag of two bytes: items come before
            if size >= 0x80:
                size, at = varint(row, at - 1)
            stop = at + size
            if tag == own_tag:
                # A length of 128 and more has two bytes; what then is no number fails below, and comes to `_other`.
                head, _, value = row[at:stop].partition(VALUE)
                column = by_head.get(head)
                if column is None:
                    self._unknown(row[at:stop], number)
                else:
                    try:
                        column.values.append(float(value[1:]))
                        column.rows.append(number)
                    except ValueError:
                        self._other(column, value[varint(value, 0)[1] :], number)
            elif tag == 0x12:
                second = row[at:stop]
            at = stop
        return second

    def _unknown(self, item: bytes, row: int) -> None:
        """An item whose key was not seen before, or whose key (130 bytes long, for one) holds the bytes of VALUE."""
        parts = list(fields(item))
        names = [part.decode("utf-8", "replace") for number, part in parts if number <= 2 and isinstance(part, bytes)]
        text = next((part for number, part in parts if number == 16 and isinstance(part, bytes)), b"")
        column = self._column(self._prefix + ".".join(names))
        if column is None:
            return
        if len(self._by_head) < MOST_HEADS:
            length_of_text = max(1, (len(text).bit_length() + 6) // 7)
            self._by_head[item[: -len(VALUE) - length_of_text - len(text)]] = column
        self._other(column, text, row)

    def _column(self, key: str) -> Column | None:
        """The column of a key, None where there are too many."""
        column = self.columns.get(key[:LONGEST_KEY])
        if column is None and len(self.columns) < MOST_KEYS:
            column = self.columns[key[:LONGEST_KEY]] = Column(key[:LONGEST_KEY])
        self._is_full = self._is_full or column is None
        return column

    def _other(self, column: Column, text: bytes, row: int) -> None:
        """A value that is no plain number, or the first one of its key."""
        if column.key.endswith("._type"):
            self._media.add(column.key.removesuffix("_type"))
        elif len(text) > LONGEST_JSON:
            self.long += text.startswith(b"{")
        elif text[:1] in b'{"-0123456789NI':
            for key, value in numbers_in(_parsed(text), column.key):
                inner = self._column(key)
                if inner is not None:
                    inner.add(row, value)

    def into(
        self, recorded: Recorded, steps: array[int], times: array[float], axis: Axis, without: Sequence[str]
    ) -> None:
        """Add a series for every column of numbers; `steps` and `times` are those of the rows."""
        media = tuple(self._media)
        for key, column in self.columns.items():
            if not column.values or key in without or key.startswith(media):
                continue
            series = recorded.of(key, axis=axis)
            series.values = column.values
            series.steps, series.times = _picked(steps, column.rows), _picked(times, column.rows)
            series.lines = array("q", bytes(8 * len(column.rows)))

    def problems(self) -> Iterator[str]:
        """What was left out, a line each."""
        if self._is_full:
            yield f"more than {MOST_KEYS} keys; further ones were passed over"
        if self.long:
            yield f"{self.long} nested values over {LONGEST_JSON >> 20} MiB passed over"


def whole_numbers(values: array[float]) -> array[int]:
    """Steps as integers, -1 where they are not known."""
    return array("q", map(whole_number, values))


def whole_number(value: float) -> int:
    """A step as an integer, -1 where it is not known."""
    return int(value) if 0 <= value < LARGEST_STEP else -1


def _picked(of_rows: array[Any], rows: array[int]) -> array[Any]:
    if len(rows) == len(of_rows):
        return of_rows[:]
    return array(of_rows.typecode, map(of_rows.__getitem__, rows))


def _parsed(text: bytes) -> Any:
    with suppress(ValueError, RecursionError):
        return json.loads(text)
    return None


def numbers_in(value: Any, key: str, depth: int = 0) -> Iterator[tuple[str, float]]:
    """The numbers of a value with their dotted keys; `_type` marks media."""
    if isinstance(value, dict) and depth < DEEPEST and "_type" not in value:
        for name, child in value.items():
            yield from numbers_in(child, f"{key}.{name}", depth + 1)
    elif isinstance(value, str) and value in _NONFINITE:
        yield key, float(value)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        with suppress(OverflowError):
            yield key, float(value)
