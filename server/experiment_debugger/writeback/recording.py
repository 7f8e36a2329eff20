"""Rows that are recorded on the boards: which file they go to, and one writer at a time.

memory/risk-board.md          the board
.agent/worktree-status.md     where it exists, this is a worktree: its rows wait there until the result is confirmed
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from experiment_debugger.errors import DebuggerError
from experiment_debugger.project import Project
from experiment_debugger.redaction import redact
from experiment_debugger.writeback.boards import WORKTREE, Board, BoardKind, BoardRow, as_shown
from experiment_debugger.writeback.files import update


@dataclass(frozen=True, slots=True)
class Recorded:
    """What became of a row: its id, the file as shown, its cells now, and what else is to be told."""

    id: str
    path: str
    action: Literal["added", "updated", "unchanged"]
    row: dict[str, str]
    notes: tuple[str, ...] = ()


Choose = Callable[[Board], tuple[BoardRow | None, Mapping[str, str]]]


def board_file(project: Project, kind: BoardKind) -> Path:
    """Where rows go: the board, or the status file of a worktree, whose results are not confirmed yet."""
    worktree = project.root / WORKTREE
    return worktree if worktree.is_file() else project.root / kind.file


def read_rows(project: Project, kind: BoardKind) -> tuple[BoardRow, ...]:
    """The rows of a board, in a worktree those of both files; none where there is no board."""
    rows: list[BoardRow] = []
    for path in dict.fromkeys((project.root / kind.file, board_file(project, kind))):
        rows += _read(project, path, kind).rows
    return tuple(rows)


def record(project: Project, kind: BoardKind, choose: Choose, today: str) -> Recorded:
    """Add or change one row under the lock; `choose` says which (None: a new one) and its cells.

    The date `Updated` is set with a change only, so that saying the same twice changes nothing.
    """
    path = board_file(project, kind)
    in_worktree = path != project.root / kind.file
    elsewhere = _numbers(_read(project, project.root / kind.file, kind)) if in_worktree else ()
    done: list[Recorded] = []

    def transform(raw: bytes | None) -> bytes | None:
        board = replace(Board.parse(raw, kind, project.show(path)), ids_elsewhere=elsewhere)
        row, values = choose(board)
        new, recorded = _applied(board, row, {name: redact(text) for name, text in values.items()}, today)
        done[:] = [recorded]
        return new

    update(project, path, transform)
    note = f"{project.show(path)} is a worktree's: move the row to {kind.file} once the result is confirmed"
    return replace(done[0], notes=(*done[0].notes, *([note] if in_worktree else [])))


def _applied(
    board: Board, row: BoardRow | None, values: Mapping[str, str], today: str
) -> tuple[bytes | None, Recorded]:
    lost = [name for name, text in values.items() if text and not board.has_column(name)]
    notes = tuple(f"the board has no column {name}: left out" for name in lost)
    known = {name: text for name, text in values.items() if board.has_column(name)}
    if row is None:
        cells = {**known, "ID": board.next_id, "Updated": today}
        shown = {name: as_shown(cells).get(name, "") for name in board.columns or board.kind.columns}
        recorded = Recorded(cells["ID"], board.name, "added", shown, notes)
        return board.added(cells), recorded
    different = {name: text for name, text in known.items() if row.values.get(name, "") != as_shown({name: text})[name]}
    if not different:
        return None, Recorded(row.id, board.name, "unchanged", row.values, notes)
    different |= {"Updated": today} if board.has_column("Updated") else {}
    after = {**row.values, **as_shown(different)}
    return board.changed(row, different), Recorded(row.id, board.name, "updated", after, notes)


def _read(project: Project, path: Path, kind: BoardKind) -> Board:
    shown = project.show(path)
    if os.path.exists(project.confined(path)) and not os.path.isfile(path):
        raise DebuggerError(f"expected a file at {shown}; found something else; move it away; nothing was written")
    try:
        raw: bytes | None = path.read_bytes()
    except FileNotFoundError:
        raw = None
    except OSError as problem:
        raise DebuggerError(f"expected to read {shown}; found: {problem.strerror}; make it readable") from None
    return Board.parse(raw, kind, shown)


def _numbers(board: Board) -> tuple[int, ...]:
    return (int(board.next_id.rpartition("-")[2]) - 1,)
