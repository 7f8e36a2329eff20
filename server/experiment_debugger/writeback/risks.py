"""The risk board: which values its columns take, and which row a risk belongs to.

append-risk-board 42 --status mitigated      the row with the fingerprint of run 42's diagnosis
append-risk-board --id RSK-007 --status closed
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType

from experiment_debugger.errors import DebuggerError
from experiment_debugger.project import Project
from experiment_debugger.writeback.boards import RISKS, Board, BoardRow
from experiment_debugger.writeback.fingerprints import fingerprint_in, fingerprint_of_text, marked, without_mark
from experiment_debugger.writeback.recording import Recorded, record

_KINDS = (
    "novelty", "baseline", "mechanism", "evaluation", "writing", "execution", "reproducibility", "reviewer", "rebuttal",
)  # fmt: skip
ALLOWED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "Kind": _KINDS,
        "Status": ("open", "mitigated", "accepted", "closed"),
        "Severity": ("low", "medium", "high", "fatal"),
        "Probability": ("low", "medium", "high"),
        "Certainty": ("observed", "user-stated", "inferred", "stale", "needs-verification"),
    }
)
USUAL: Mapping[str, str] = MappingProxyType(
    {
        "Kind": "execution",
        "Status": "open",
        "Severity": "medium",
        "Probability": "medium",
        "Certainty": "needs-verification",
    }
)
"""What a new row says where nobody has said anything; the certainty says so."""
NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class RiskWish:
    """A risk as the user gave it, one field a column; None was not given."""

    id: str | None = None
    kind: str | None = None
    status: str | None = None
    severity: str | None = None
    probability: str | None = None
    summary: str | None = None
    threatens: str | None = None
    mitigation: str | None = None
    actions: str | None = None
    certainty: str | None = None

    @property
    def cells(self) -> dict[str, str]:
        """What was given, by column, without the id."""
        given = {one.name.capitalize(): getattr(self, one.name) for one in fields(self) if one.name != "id"}
        return {name: text for name, text in given.items() if text is not None}


def record_risk(
    project: Project,
    wish: RiskWish,
    defaults: Mapping[str, str] = NOTHING,
    fingerprint: str | None = None,
    *,
    today: str,
) -> Recorded:
    """Add the risk, or change the cells that were given where it is on the board already.

    `defaults` fill what was not given in a new row; `fingerprint` is that of a diagnosis (None: that of the words).
    Raises `DebuggerError` for values that a column does not take, an unknown id, and a new risk without a summary.
    """

    def choose(board: Board) -> tuple[BoardRow | None, Mapping[str, str]]:
        cells = _checked(board, wish.cells)
        summary = cells.get("Summary") or defaults.get("Summary") or ""
        known = fingerprint_in(summary) or fingerprint or (fingerprint_of_text(summary) if summary else None)
        row = _row_of(board, wish.id, known, summary, diagnosed=fingerprint is not None)
        if row is None:
            return None, _new(cells, defaults, summary, known)
        if "Summary" in cells:
            mark = fingerprint_in(row.values.get("Summary", "")) or known
            cells["Summary"] = _worded(row, cells["Summary"], mark)
        return row, cells

    found = record(project, RISKS, choose, today)
    shown = {**found.row, "Summary": without_mark(found.row.get("Summary", ""))[0]}
    return Recorded(found.id, found.path, found.action, shown, found.notes)


def _worded(row: BoardRow, summary: str, mark: str | None) -> str:
    """The new words with the row's mark; a row that says the same words is left as its author wrote it."""
    words = without_mark(summary)[0]
    old = row.values.get("Summary", "")
    if " ".join(words.split()) == without_mark(old)[0].strip():
        return old
    return marked(words, mark) if mark else words


def _new(cells: Mapping[str, str], defaults: Mapping[str, str], summary: str, known: str | None) -> dict[str, str]:
    words = without_mark(summary)[0].strip()
    if not words or known is None:
        raise DebuggerError("expected --summary for a new risk; found none; say what can go wrong, or name the run")
    return {**USUAL, **defaults, **cells, "Summary": marked(words, known)}


def _row_of(
    board: Board, name: str | None, fingerprint: str | None, summary: str, *, diagnosed: bool
) -> BoardRow | None:
    """The row of that id, else of that fingerprint, else one with the same words and no other fingerprint to go by."""
    if name is not None:
        found = next((row for row in board.rows if row.id.casefold() == name.strip().casefold()), None)
        if found is None:
            known = ", ".join(row.id for row in board.rows[-8:]) or "none"
            raise DebuggerError(f"expected the id of a risk in {board.name}; found '{name[:40]}'; known: {known}")
        return found
    words = " ".join(without_mark(summary)[0].split())
    same, alike = [], []
    for row in board.rows:
        said = row.values.get("Summary", "")
        if fingerprint and fingerprint_in(said) == fingerprint:
            same.append(row)
        elif words and without_mark(said)[0].strip() == words and not (diagnosed and fingerprint_in(said)):
            alike.append(row)
    return next(iter([*same, *alike]), None)


def _checked(board: Board, cells: Mapping[str, str]) -> dict[str, str]:
    """The cells with allowed values as they are written on boards."""
    checked = dict(cells)
    for column, allowed in ALLOWED.items():
        if column not in cells:
            continue
        used = dict.fromkeys(row.values.get(column, "") for row in board.rows) if column == "Kind" else {}
        values = {value.casefold(): value for value in (*used, *allowed) if value}
        given = cells[column].strip()
        if given.casefold() not in values:
            raise DebuggerError(
                f"expected --{column.lower()} one of {', '.join(values.values())}; found '{given[:40]}'; choose one"
            )
        checked[column] = values[given.casefold()]
    return checked
