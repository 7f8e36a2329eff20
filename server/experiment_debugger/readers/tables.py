"""Metric tables as a run leaves them next to its log: a header and rows of cells, or JSON lines.

    step,train/recon,train/kl,val/loss                            epoch;loss;val_loss
    12932,0.91174,inf,                                            0;0,6931;0,7012

A second header line in the middle (an append-mode loop, a restart) switches the columns. Cells are turned into numbers
a column of a block at a time: a third of what cell by cell takes.
"""

from __future__ import annotations

import csv
import math
from array import array
from collections.abc import Sequence
from operator import le
from typing import IO

from experiment_debugger.readers.blocks import Blocks
from experiment_debugger.readers.bulk import Stretch, extend
from experiment_debugger.readers.columns import Meaning, meaning_of, number_of, position, preferred, stamp_of
from experiment_debugger.readers.json_rows import JsonRows
from experiment_debugger.readers.lines import to_text
from experiment_debugger.readers.roles import role_of
from experiment_debugger.readers.series import Axis, Recorded

MOST_COLUMNS = 2000
_DELIMITERS = (b"\t", b";", b",")


def read_table(stream: IO[bytes]) -> Recorded:
    """The series of all numeric columns or keys; what does not parse is passed over and counted."""
    recorded = Recorded()
    rows: CellRows | JsonRows | None = None
    for first, lines in Blocks(stream, recorded):
        if rows is None:
            head = next((line.lstrip() for line in lines if line.strip()), None)
            if head is not None:
                is_json = head.startswith((b"{", b"[")) or (b'{"' in head and not head.startswith(b"#"))
                rows = JsonRows(recorded) if is_json else CellRows(recorded)
        if rows is not None:
            rows.take(first, lines)
    if rows is not None:
        rows.finish()
    return recorded


class CellRows:
    """Takes the lines of a table with delimiters, block by block."""

    def __init__(self, recorded: Recorded) -> None:
        self._recorded = recorded
        self._names: list[str] = []
        self._delimiter: bytes | None = None
        self._decimal_comma = False
        self._position: tuple[int, Axis] | None = None
        self._time: int | None = None
        self._rows = self._odd = 0

    def take(self, first: int, lines: list[bytes]) -> None:
        """The lines of one block; `first` is the number of the first one."""
        start = 0
        for index in (at for at, line in enumerate(lines) if self._may_be_header(line)):
            if self._is_header(lines[index]):
                self._take_rows(first + start, lines[start:index])
                start = index + self._begin(lines[index], first + index)
        self._take_rows(first + start, lines[start:])

    def finish(self) -> None:
        """The file has ended."""
        if self._odd:
            self._recorded.problems.append(f"{self._odd} rows do not fit their header")
        if self._rows and not self._recorded.series:
            self._recorded.problems.append("no column holds numbers")
        for series in self._recorded:
            if series.role == "step-time" and series.key.lower() == "time" and _is_elapsed(series.values):
                series.role = None  # `time` of ultralytics counts from the start of the run

    def _may_be_header(self, line: bytes) -> bool:
        first = line.lstrip(b' "\t#')[:1]
        return (first.isalpha() or not first.isascii()) if self._names else bool(first.strip())

    def _is_header(self, line: bytes) -> bool:
        if not self._names:
            return not line.lstrip().startswith(b"#{")  # the note above the header of a gym monitor
        names = [_name(cell) for cell in self._split(line)]
        known = any(meaning_of(name) != "value" or name in self._names or role_of(name) for name in names)
        return known and all(number_of(name) is None for name in names)

    def _begin(self, line: bytes, number: int) -> int:
        """Use this line as the header; 0 lines are used up where it is a row, then columns are named by their place."""
        line = line.lstrip(b"# ")
        if not self._names:
            self._delimiter = next((one for one in _DELIMITERS if one in line), None if b" " in line.strip() else b",")
        names = [_name(cell) for cell in self._split(line)]
        used = not any(number_of(name) is not None for name in names)
        if not used:
            names = [f"column {place}" for place in range(1, len(names) + 1)]
            self._recorded.problems.append("no header, columns are named by their place")
        elif self._names and names[:MOST_COLUMNS] != self._names:
            self._recorded.problems.append(f"the header changes at line {number}")
        if len(names) > MOST_COLUMNS:
            self._recorded.problems.append(f"only the first {MOST_COLUMNS} of {len(names)} columns are read")
        self._names = names[:MOST_COLUMNS]
        self._give_meaning()
        return int(used)

    def _give_meaning(self) -> None:
        step = preferred(self._names)
        meanings: list[Meaning] = [meaning_of(name) for name in self._names]
        self._position = self._time = None
        if step is not None:
            self._position = self._names.index(step), "step"
        elif "epoch" in meanings:
            self._position = meanings.index("epoch"), "epoch"
        if "time" in meanings:
            self._time = meanings.index("time")

    def _take_rows(self, first: int, lines: list[bytes]) -> None:
        block = self._block(first, lines)
        if not block.lines:
            return
        columns = list(zip(*block.cells, strict=True))
        self._place(block, columns)
        for index, name in enumerate(self._names):
            is_position = self._position is not None and (index == self._position[0] or meaning_of(name) == "epoch")
            if index < len(columns) and not is_position and index != self._time and name:
                self._add(name, columns[index], block)
        self._rows += len(block.lines)

    def _block(self, first: int, lines: list[bytes]) -> Stretch:
        block, width = Stretch(), len(self._names)
        for number, line in enumerate(lines, first):
            if not line.strip():
                continue
            cells = self._split(line)
            if len(cells) != width:
                cells = self._fitted(cells)
                if not cells:
                    continue
            block.lines.append(number)
            block.cells.append(cells)
        return block

    def _fitted(self, cells: list[bytes]) -> list[bytes]:
        """A row of another width: blank cells too many go; of a torn one all but its last cell is used."""
        width = len(self._names)
        if len(cells) > width and (width == MOST_COLUMNS or not any(cell.strip() for cell in cells[width:])):
            return cells[:width]
        self._odd += 1
        return [] if len(cells) > width else [*cells[:-1], *[b""] * (width - len(cells) + 1)]

    def _split(self, line: bytes) -> list[bytes]:
        if b'"' in line:
            delimiter = (self._delimiter or b" ").decode()
            text = line.decode("utf-8", "replace").rstrip("\r")
            try:
                cells = next(csv.reader([text], delimiter=delimiter, skipinitialspace=True), [])
            except csv.Error:  # a cell of more than 128 kB
                return []
            return [cell.encode("utf-8", "replace") for cell in cells]
        if self._delimiter is None:
            return line.split()
        if self._delimiter == b";" and self._names and b"." not in line:
            line = line.replace(b",", b".")
        return line.split(self._delimiter)

    def _place(self, block: Stretch, columns: list[tuple[bytes, ...]]) -> None:
        """Positions and times of the rows."""
        if self._position is None:
            block.steps.extend(range(self._rows + 1, self._rows + 1 + len(block.lines)))
        else:
            block.steps = _positions(columns[self._position[0]])
        if self._time is not None and not self._holds_stamps(columns[self._time]):
            self._time = None  # a duration, then
        cells = columns[self._time] if self._time is not None else ()
        block.times = array("d", map(stamp_of, cells) if cells else [math.nan]) * (1 if cells else len(block.lines))

    @staticmethod
    def _holds_stamps(cells: Sequence[bytes]) -> bool:
        filled = next((cell for cell in cells if cell.strip()), None)
        return filled is None or not math.isnan(stamp_of(filled))

    def _add(self, name: str, cells: Sequence[bytes], block: Stretch) -> None:
        try:
            numbers = list(map(float, cells))
            places: Sequence[int] = range(len(cells))
        except ValueError:
            read = [(at, number) for at, cell in enumerate(cells) if cell and (number := number_of(cell)) is not None]
            places, numbers = [at for at, _ in read], [number for _, number in read]
        if numbers:
            series = self._recorded.of(name, axis=self._position[1] if self._position else "record")
            extend(series, numbers, places, block)


def _positions(cells: Sequence[bytes]) -> array[int]:
    try:
        steps = array("q", map(int, cells))
        if min(steps) >= 0:
            return steps
    except (ValueError, OverflowError):
        pass
    return array("q", [position(number_of(cell)) for cell in cells])


def _name(cell: bytes) -> str:
    return to_text(cell).strip().removeprefix("#").strip().strip('"')


def _is_elapsed(values: array[float]) -> bool:
    """Whether these are seconds since a start rather than seconds a step."""
    return len(values) > 2 and values[-1] > 2 * values[0] and all(map(le, values, values[1:]))
