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

from experiment_debugger.readers.dialects import Report, role_of
from experiment_debugger.readers.lines import TAIL_LINES, WINDOW, ScanStats, read_block, to_text
from experiment_debugger.readers.progress import ProgressReader

_STEP = re.compile(
    r"^(?:global_?step|step|steps|iter|iteration|it|_step|training_iteration|trainer/global_step|num_updates)$",
    re.IGNORECASE,
)
_EPOCH = re.compile(r"^(?:epoch|epochs)$", re.IGNORECASE)
LONGEST_ROW = 1 << 16  # bytes
MOST_COLUMNS = 400


def read_table(stream: IO[bytes], progress: ProgressReader) -> ScanStats:
    """Feed every row with a known column into `progress`; rows that do not parse are passed over and counted."""
    number = size = bad = 0
    tail: list[tuple[int, str]] = []
    header: list[str] = []
    for raw in _lines(stream):
        number, size = number + 1, size + len(raw) + 1
        text = to_text(raw[:LONGEST_ROW]).strip()
        if not text:
            continue
        tail = [*tail[-TAIL_LINES + 1 :], (number, text[:WINDOW])]
        if not header and not text.startswith("{"):
            header = _split(text)[:MOST_COLUMNS]
            continue
        row = _json_row(text) if text.startswith("{") else dict(zip(header, _split(text), strict=False))
        bad += row is None
        report = _report(row or {})
        if report is not None:
            progress.add_report(number, None, report, text)
    problem = f"{bad} rows are no valid JSON" if bad else None
    return ScanStats(number, size, tuple(tail), problem)


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


def _report(row: dict[str, Any]) -> Report | None:
    values: dict[str, float] = {}
    report = Report(values, evaluation=False)
    for key, cell in row.items():
        number = _number(cell)
        if number is None:
            continue
        if _STEP.match(key) and math.isfinite(number):
            report.step = int(number)
        elif _EPOCH.match(key) and math.isfinite(number):
            report.epoch = number
        elif role_of(key) is not None:
            values[key] = number
    return report if values else None


def _number(cell: Any) -> float | None:
    if isinstance(cell, bool) or cell is None or cell == "":
        return None
    with suppress(TypeError, ValueError, OverflowError):
        return float(cell)
    return None
