"""Metrics that a run prints as tables to its console: a row an epoch below one header, or a box a report.

epoch     train_loss  valid_loss  accuracy  time          | time/                   |              |
0         1.054988    0.785590    0.843188  00:00         |    total_timesteps      | 512          |
                                                          | train/                  |              |
Step\tTraining Loss\tValidation Loss                        |    value_loss           | 89.6         |
500\t0.412\t0.398                                           ------------------------------------------

Left: fastai, skorch, and loops that print CSV or TSV; right: stable-baselines3, whose steps are those of environments.
"""

from __future__ import annotations

import re

from experiment_debugger.readers.columns import meaning_of, number_of, position, preferred
from experiment_debugger.readers.dialects import LEARNING_ROLES, Report
from experiment_debugger.readers.roles import role_of

MOST_BETWEEN = 50
"""Lines of other text between two rows of a table: warnings and bars; behind more of them it has ended."""
MOST_ROWS = 200
LONGEST_ROW = 200  # characters
"""Of one box."""
_MAY_BE_HEADER = re.compile(
    r"[\s#|]*(?:epochs?|(?:global_)?steps?|iter(?:ation)?s?|it|updates?)\b[\s,;|]+[A-Za-z]", re.IGNORECASE
)
_NAME = re.compile(r"[A-Za-z_][\w /.@%()#-]{0,60}")
_NO_NUMBER = re.compile(r"(?:\d+:)?\d\d?:\d\d|None|-*")
_RULE = re.compile(r"\s*-{9,}\s*")
_BOX_ROW = re.compile(r"\s*\| +(?P<key>[A-Za-z][^|]*?) +\| *(?P<value>[^|\s]*) *\|\s*")
_DELIMITERS = "\t|,;"


class ConsoleTables:
    """Follows the tables of one log, line by line."""

    def __init__(self) -> None:
        self._columns = _Columns()
        self._box: dict[str, float] | None = None
        self._section = ""

    @property
    def is_open(self) -> bool:
        """Whether the next lines may be rows, so that each of them has to be shown."""
        return self._columns.is_open or self._box is not None

    def read(self, text: str, line: int) -> Report | None:
        """The report that a row is, or that a box gives at its last line; None for all other lines."""
        return self._read_box(text) or self._columns.read(text, line)

    def _read_box(self, text: str) -> Report | None:
        row = _BOX_ROW.fullmatch(text) if "|" in text and len(text) <= LONGEST_ROW else None
        if row is None:
            rows, self._box, self._section = self._box, None, ""
            if not _RULE.fullmatch(text):
                return None
            self._box = {}
            return _of_box(rows) if rows else None
        if self._box is not None or row["key"].startswith("time/"):
            self._add(row["key"], row["value"])
        return None

    def _add(self, key: str, cell: str) -> None:
        self._box = self._box or {}
        if key.endswith("/") and not cell:
            self._section = key
            return
        value = number_of(cell)
        if value is not None and len(self._box) < MOST_ROWS:
            self._box[key if "/" in key else self._section + key] = value


def _of_box(rows: dict[str, float]) -> Report | None:
    """The report of a box that says at which step of the environments it stands."""
    step = preferred(list(rows))
    if step is None:
        return None
    values = {key: value for key, value in rows.items() if role_of(key) or not key.startswith("time/")}
    return Report(values, evaluation=False, step=position(rows[step])) if values else None


class _Columns:
    """A header that names a position and quantities of learning, and the rows below it."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._delimiter: str | None = None
        self._last_line: int | None = None

    @property
    def is_open(self) -> bool:
        return self._last_line is not None

    def read(self, text: str, line: int) -> Report | None:
        if _MAY_BE_HEADER.match(text) and self._begin(text):
            self._last_line = line
            return None
        if self._last_line is None:
            return None
        report = self._row(text)
        if report is not None:
            self._last_line = line
        elif line > self._last_line + MOST_BETWEEN:
            self._last_line = None
        return report

    def _begin(self, text: str) -> bool:
        delimiter = next((one for one in _DELIMITERS if one in text), None)
        names = _cells(text.lstrip("# "), delimiter)
        if delimiter is None and "  " in text.strip():
            names = re.split(r"\s{2,}", text.strip())
        is_named = len(names) > 1 and all(_NAME.fullmatch(name) for name in names)
        if not is_named or not any(role_of(name) in LEARNING_ROLES for name in names):
            return False
        self._names, self._delimiter = names, delimiter
        return True

    def _row(self, text: str) -> Report | None:
        cells = _cells(text, self._delimiter)
        if len(cells) != len(self._names) or not cells[0].isdecimal():
            return None
        row = {name: number_of(cell) for name, cell in zip(self._names, cells, strict=True)}
        if any(row[name] is None and not _NO_NUMBER.fullmatch(cell) for name, cell in zip(row, cells, strict=False)):
            return None
        values = {name: value for name, value in row.items() if value is not None and meaning_of(name) == "value"}
        return self._placed(Report(values, evaluation=False), row) if values else None

    def _placed(self, report: Report, row: dict[str, float | None]) -> Report:
        step = preferred(self._names)
        epoch = next((row[name] for name in self._names if meaning_of(name) == "epoch"), None)
        at = position(row[step]) if step is not None else -1
        report.step, report.epoch = at if at >= 0 else None, epoch
        return report


def _cells(text: str, delimiter: str | None) -> list[str]:
    cells = text.strip().strip("|" if delimiter == "|" else "").split(delimiter)
    return [cell.strip() for cell in cells]
