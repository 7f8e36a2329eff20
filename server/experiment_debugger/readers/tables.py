"""Metric tables with a header, as a run leaves them next to its log: CSV and JSON lines.

    step,train/recon,train/kl,val/loss          {"step": 10, "loss": 2.1}
    12932,0.91174,inf,                          {"step": 20, "loss": NaN}

Rows become progress reports, so that every detector sees them like the lines of a log.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import IO, Any

from experiment_debugger.readers.lines import read_block, to_text
from experiment_debugger.readers.series import Axis, Recorded

_STEP = re.compile(
    r"^(?:global_?step|step|steps|iter|iteration|it|_step|training_iteration|trainer/global_step|num_updates)$",
    re.IGNORECASE,
)
_EPOCH = re.compile(r"^(?:epoch|epochs)$", re.IGNORECASE)
LONGEST_ROW = 1 << 16  # bytes
MOST_COLUMNS = 400


def read_table(stream: IO[bytes]) -> Recorded:
    """The series of all numeric columns; rows that do not parse are passed over and counted."""
    recorded, header, bad = Recorded(), list[str](), 0
    for raw in _lines(stream):
        recorded.records, recorded.bytes = recorded.records + 1, recorded.bytes + len(raw) + 1
        text = to_text(raw[:LONGEST_ROW]).strip()
        if not text:
            continue
        if not header and not text.startswith("{"):
            header = _split(text)[:MOST_COLUMNS]
            continue
        row = _json_row(text) if text.startswith("{") else dict(zip(header, _split(text), strict=False))
        bad += row is None
        _take(recorded, row or {}, text)
    if bad:
        recorded.problems.append(f"{bad} rows are no valid JSON")
    return recorded


def _take(recorded: Recorded, row: dict[str, Any], text: str) -> None:
    numbers = {key: number for key, cell in row.items() if (number := _number(cell)) is not None}
    step = next((int(number) for key, number in numbers.items() if _STEP.match(key) and math.isfinite(number)), None)
    epoch = next((int(number) for key, number in numbers.items() if _EPOCH.match(key) and math.isfinite(number)), None)
    axis: Axis = "step" if step is not None else "record" if epoch is None else "epoch"
    position = step if step is not None else recorded.records if epoch is None else epoch
    for key, number in numbers.items():
        if not _STEP.match(key) and not _EPOCH.match(key):
            recorded.of(key, axis=axis).add(position, number, line=recorded.records, text=text)


def _lines(stream: IO[bytes]) -> Iterator[bytes]:
    rest = b""
    while block := read_block(stream, 1 << 20)[0]:
        *complete, rest = (rest + block).split(b"\n")
        yield from complete
        rest = rest[: 2 * LONGEST_ROW]
    if rest:
        yield rest


def _split(text: str) -> list[str]:
    delimiter = "\t" if "\t" in text and "," not in text else ","
    return next(csv.reader([text], delimiter=delimiter, skipinitialspace=True), [])


def _json_row(text: str) -> dict[str, Any] | None:
    try:
        row = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


def _number(cell: Any) -> float | None:
    if isinstance(cell, bool) or cell is None or cell == "":
        return None
    with suppress(TypeError, ValueError, OverflowError):
        return float(cell)
    return None
