"""The boards under memory/ as people edit them: a row of ours is added or changed, every other byte stays.

| ID | Kind | Status | Severity | ... | Updated |
|---|---|---|---|---|---|
| RSK-007 | execution | open | high | ... | 2026-03-02 |

A damaged table is reported with its line, never repaired: nobody but its author knows what was meant.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from experiment_debugger.errors import DebuggerError
from experiment_debugger.readers.pipe_tables import (
    Table,
    cells_of,
    escaped,
    is_delimiter,
    spans_of,
    tables_in,
    unescaped,
)
from experiment_debugger.writeback.fingerprints import without_mark

WORKTREE = ".agent/worktree-status.md"
ACCEPTED = re.compile(r"^ {0,3}#{1,6} +Accepted\b", re.IGNORECASE)
_BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class BoardKind:
    """One kind of board: its heading, its file, the letters of its ids, its columns and those it cannot do without."""

    title: str
    file: str
    prefix: str
    columns: tuple[str, ...]
    required: tuple[str, ...]


RISKS = BoardKind(
    "Risk board",
    "memory/risk-board.md",
    "RSK",
    (
        "ID", "Kind", "Status", "Severity", "Probability", "Summary", "Threatens", "Mitigation", "Actions", "Certainty",
        "Updated",
    ),
    ("ID", "Summary"),
)  # fmt: skip
HANDOFFS = BoardKind(
    "Hand-off board",
    "memory/handoff-board.md",
    "HND",
    (
        "ID", "Status", "Producer", "Consumer", "From", "To", "Payload", "Source paths", "Expected outputs",
        "Acceptance check", "Staleness trigger", "Certainty", "Updated",
    ),
    ("ID", "Status", "Consumer"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class BoardRow:
    """One row: its 1-based line, its id, and what its cells show, by column (hand-written ones by their own name).

    `columns` are those of its table: a board may have several, one of them for closed or accepted risks.
    """

    line: int
    id: str
    values: dict[str, str]
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Board:
    """A board: `lines` with their endings; `columns` in the order of the table (empty: there is no table yet)."""

    kind: BoardKind
    name: str
    lines: tuple[str, ...]
    columns: tuple[str, ...] = ()
    table: Table = field(default_factory=lambda: Table(0, 0))
    rows: tuple[BoardRow, ...] = ()
    ids_elsewhere: tuple[int, ...] = ()

    @classmethod
    def parse(cls, raw: bytes | None, kind: BoardKind, name: str) -> Board:
        """The board in a file; `DebuggerError` with its line where the table is damaged."""
        lines = re.findall(r"[^\n]*\n|[^\n]+", _decoded(raw or b"", name))
        empty = cls(kind, name, tuple(lines))
        _refuse_conflicts(lines, name)
        tables = _tables_of(lines, kind, name)
        rows = tuple(row for table in tables for row in _rows_of(lines, table, kind, name))
        _require_once(rows, name)
        main = next((table for table in tables if not _is_accepted(lines, table)), None)
        if main is None:
            return replace(empty, rows=rows)
        return replace(empty, columns=_columns_of(lines[main.head], kind), table=main, rows=rows)

    @property
    def next_id(self) -> str:
        """One more than the highest number that stands anywhere in the file."""
        numbers = [
            int(number)
            for number in re.findall(rf"(?i)(?<![A-Za-z0-9-]){self.kind.prefix}-(\d{{1,9}})(?!\d)", self.text)
        ]
        return f"{self.kind.prefix}-{max([0, *numbers, *self.ids_elsewhere]) + 1:03d}"

    @property
    def text(self) -> str:
        """The whole file."""
        return "".join(self.lines)

    def has_column(self, name: str) -> bool:
        """Whether the board can hold a value of this column; a new board has them all."""
        return name in (self.columns or self.kind.columns)

    def added(self, values: Mapping[str, str]) -> bytes:
        """The file with one row more, behind the last one."""
        if not self.columns:
            made = self._with_table()
            if not made.columns:
                raise _damaged(self.name, 1, "a file that ends outside of code and comments", "one that is left open")
            return made.added(values)
        head, last = self.lines[self.table.head], self.lines[self.table.end - 1]
        ending = "\r\n" if (last if last.endswith("\n") else head).endswith("\r\n") else "\n"
        cells = [_cell(name, values.get(name, "")) for name in self.columns]
        row = " | ".join(cells)
        if head.strip(f" \t{_BOM}").startswith("|") or not (cells[0] and cells[-1]):  # an empty end needs its pipe
            row = f"| {row} |"
        indent = head[: len(head) - len(head.lstrip(" \t\ufeff"))].replace(_BOM, "")
        before, after = self.lines[: self.table.end], self.lines[self.table.end :]
        whole = last.endswith("\n")
        new = f"{indent}{row}{ending}" if whole else f"{ending}{indent}{row}"
        return "".join((*before, new, *after)).encode("utf-8")

    def changed(self, row: BoardRow, values: Mapping[str, str]) -> bytes:
        """The file with these cells of a row changed; the other bytes of the row stay."""
        line = self.lines[row.line - 1]
        spans = spans_of(line)
        for index in range(len(row.columns) - 1, -1, -1):
            name = row.columns[index]
            if name not in values:
                continue
            if index >= len(spans):
                raise DebuggerError(
                    f"{self.name}:{row.line}: expected a cell for {name} in row {row.id}; found only {len(spans)} "
                    f"cells; add the missing ones; nothing was written"
                )
            start, end = spans[index]
            line = f"{line[:start]}{_refilled(line[start:end], _cell(name, values[name]))}{line[end:]}"
        return "".join((*self.lines[: row.line - 1], line, *self.lines[row.line :])).encode("utf-8")

    def _with_table(self) -> Board:
        """The board with an empty table: before the accepted risks, else at the end; a new file gets a heading."""
        ending = "\r\n" if self.lines and self.lines[0].endswith("\r\n") else "\n"
        head = f"| {' | '.join(self.kind.columns)} |{ending}"
        rule = f"|{'---|' * len(self.kind.columns)}{ending}"
        lines = list(self.lines)
        at = next((index for index, line in enumerate(lines) if ACCEPTED.match(line)), len(lines))
        before, after = lines[:at], lines[at:]
        is_new = not self.text.strip(f" \t\r\n{_BOM}")
        title = [f"# {self.kind.title}{ending}", ending]
        if not is_new:
            title = [f"## {self.kind.title}{ending}", ending] if self.name.endswith(WORKTREE) else []
        if before and not is_new:
            before[-1] += "" if before[-1].endswith("\n") else ending
            title = [*([] if not before[-1].strip() else [ending]), *title]
        made = [*before, *title, head, rule, *([ending] if after else []), *after]
        return Board.parse("".join(made).encode("utf-8"), self.kind, self.name)


def as_shown(values: Mapping[str, str]) -> dict[str, str]:
    """Values as they are read back from a board."""
    return {name: unescaped(_cell(name, text)) for name, text in values.items()}


def _cell(name: str, text: str) -> str:
    """A cell; the fingerprint at the end of a summary is a comment and stays one."""
    words, mark = without_mark(text) if name == "Summary" else (text, "")
    return f"{escaped(words)} {mark}".strip()


def _refilled(old: str, new: str) -> str:
    """The new text in the place of the old one, as wide as that where it fits."""
    left = old[: len(old) - len(old.lstrip())] if old.strip() else " "
    right = old[len(old.rstrip()) :] if old.strip() else " "
    room = len(old) - len(left) - len(right)
    return f"{left}{new.ljust(room)}{right}"


def _decoded(raw: bytes, name: str) -> str:
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DebuggerError(f"{name}: expected UTF-8; found UTF-16; save it as UTF-8; nothing was written")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as problem:
        line = raw.count(b"\n", 0, problem.start) + 1
        raise DebuggerError(
            f"{name}:{line}: expected UTF-8; found other bytes; save it as UTF-8; nothing was written"
        ) from None


def _tables_of(lines: list[str], kind: BoardKind, name: str) -> list[Table]:
    """The tables with the columns that this board needs; rows of ours without such a head are reported."""
    found: list[Table] = []
    stray: Table | None = None
    for table in tables_in(lines):
        columns = set(_columns_of(lines[table.head], kind))
        ours = columns >= set(kind.required) or len(columns & set(kind.columns)) > len(kind.columns) // 2
        if ours and not table.delimited:
            raise _damaged(name, table.head + 2, f"a row of dashes below the head of the {kind.title.lower()}", "none")
        if ours:
            _require_sound(lines, table, kind, name)
            found.append(table)
        elif not _is_accepted(lines, table) and _holds_rows(lines[table.head : table.end], kind):
            stray = stray or table
    if stray is not None:
        needed = ", ".join(kind.required)
        raise _damaged(name, stray.head + 1, f"a head with {needed} above the rows", lines[stray.head].strip()[:80])
    return found


def _is_accepted(lines: list[str], table: Table) -> bool:
    """Whether the nearest heading above a table is that of the accepted risks, which people keep."""
    heading = next((line for line in reversed(lines[: table.head]) if re.match(r" {0,3}#{1,6} ", line)), "")
    return bool(ACCEPTED.match(heading))


def _refuse_conflicts(lines: list[str], name: str) -> None:
    """A merge that nobody has finished: all three marks in their order; one alone is somebody's rule or quotation."""
    marks = iter(("<<<<<<< ", "=======", ">>>>>>> "))
    wanted, first = next(marks), 0
    for number, line in enumerate(lines, 1):
        if line.startswith(wanted):
            first = first or number
            wanted = next(marks, "")
            if not wanted:
                raise _damaged(name, first, "a merged file", f"the mark of a conflict: {lines[first - 1].strip()[:40]}")


def _holds_rows(lines: list[str], kind: BoardKind) -> bool:
    """Whether ids of this board stand in cells of their own."""
    row = re.compile(rf"{kind.prefix}-\d+")
    return any(row.fullmatch(cell.strip("*` \t")) for line in lines for cell in cells_of(line))


def _columns_of(line: str, kind: BoardKind) -> tuple[str, ...]:
    """The columns of a head by our names where they are ours, however they are written."""
    ours = {name.casefold(): name for name in kind.columns}
    names = [unescaped(cell.strip(f"{_BOM} \t*_`")) for cell in cells_of(line.lstrip(_BOM))]
    return tuple(ours.get(" ".join(name.casefold().split()), name) for name in names)


def _rows_of(lines: list[str], table: Table, kind: BoardKind, name: str) -> list[BoardRow]:
    columns = _columns_of(lines[table.head], kind)
    rows = []
    for index in range(table.head + 2, table.end):
        cells = cells_of(lines[index])
        if len(cells) > len(columns):
            raise _damaged(name, index + 1, f"{len(columns)} cells", f"{len(cells)}: an unescaped | in a cell?")
        values = {column: unescaped(cell) for column, cell in zip(columns, cells, strict=False)}
        rows.append(BoardRow(index + 1, values.get("ID", "").strip("*` "), values, columns))
    return rows


def _require_sound(lines: list[str], table: Table, kind: BoardKind, name: str) -> None:
    head, columns = table.head + 1, _columns_of(lines[table.head], kind)
    missing = [column for column in kind.required if column not in columns]
    if missing:
        raise _damaged(name, head, f"the columns {', '.join(kind.required)}", f"none for {', '.join(missing)}")
    twice = [column for column, count in Counter(columns).items() if count > 1 and column]
    if twice:
        raise _damaged(name, head, "each column once", f"{twice[0]} {columns.count(twice[0])} times")
    dashes = lines[table.head + 1]
    if not is_delimiter(dashes) or len(cells_of(dashes)) != len(columns):
        raise _damaged(name, head + 1, f"{len(columns)} cells of dashes", f"{len(cells_of(dashes))}")


def _require_once(rows: Sequence[BoardRow], name: str) -> None:
    ids = Counter(row.id for row in rows if row.id)
    double = next((row for row in reversed(rows) if ids[row.id] > 1), None)
    if double is not None:
        raise _damaged(name, double.line, "each id once", f"{double.id} {ids[double.id]} times")


def _damaged(name: str, line: int, expected: str, found: str) -> DebuggerError:
    return DebuggerError(f"{name}:{line}: expected {expected}; found {found}; mend the table; nothing was written")
