"""Boards as people edit them: our row goes in, or changes, and no other byte moves."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import write

from experiment_debugger.errors import DebuggerError
from experiment_debugger.project import Project
from experiment_debugger.writeback.boards import HANDOFFS, RISKS, Board
from experiment_debugger.writeback.recording import board_file, read_rows, record

HEAD = f"| {' | '.join(RISKS.columns)} |"
RULE = f"|{'---|' * len(RISKS.columns)}"
ROW = "| RSK-007 | execution | open | high | low | one | two | three | four | observed | 2026-01-02 |"
NEW = {"Summary": "a | b \\ `c` *d* [e](f) <!-- g --> _h_ nan_loss", "Status": "open", "Updated": "2026-11-30"}


def board(text: str | bytes) -> Board:
    return Board.parse(text.encode() if isinstance(text, str) else text, RISKS, "memory/risk-board.md")


def added(text: str, values: dict[str, str] | None = None) -> str:
    parsed = board(text)
    return parsed.added({**NEW, **(values or {}), "ID": parsed.next_id}).decode()


@dataclass(frozen=True)
class Ugly:
    """A board written by hand: what stands before the table, its lines, and what follows."""

    before: str
    table: str
    after: str

    @property
    def text(self) -> str:
        return self.before + self.table + self.after


WORDS = st.text(alphabet="ab c`*_-.:<>!\\\u4e2d\u00e9#\t\v\u2028", max_size=8)
CELLS = WORDS.map(lambda text: text.replace("\\", "\\\\").replace("<!--", ""))
PROSE = st.lists(st.text(alphabet="ab #-*>\u4e2d", max_size=10), max_size=4)


@st.composite
def ugly_boards(draw: st.DrawFn) -> Ugly:
    """Any order of columns, own columns, odd spacing, with or without outer pipes, any line ending, any neighbours."""
    ending = draw(st.sampled_from(["\n", "\r\n"]))
    outer = draw(st.booleans())
    columns = draw(
        st.permutations([*RISKS.columns, *draw(st.sampled_from([[], ["Owner"], ["Owner", "Cost \\| risk"]]))])
    )
    spelled = [draw(st.sampled_from([name, name.lower(), f"**{name}**", name.upper()])) for name in columns]
    indent = draw(st.sampled_from(["", " ", "   "]))

    def line(cells: list[str]) -> str:
        pads = [draw(st.sampled_from(["", " ", "  ", "\t"])) for _ in cells]
        inner = "|".join(f"{pad}{cell}{pad}" for pad, cell in zip(pads, cells, strict=True))
        return f"{indent}|{inner}|" if outer else f"{indent}{inner}"

    rows = []
    for number in draw(st.lists(st.integers(1, 900), unique=True, max_size=4)):
        cells = [f"RSK-{number:03d}" if name == "ID" else draw(CELLS) or "x" for name in columns]
        if not outer:  # an empty last cell would vanish
            cells = [cell.strip() or "x" for cell in cells]
        rows.append(line(cells))
    dashes = [draw(st.sampled_from(["---", ":--", "---:", ":-:"])) for _ in columns]
    lines = [line(spelled), line(dashes), *rows]
    before = "".join(f"{text}{ending}" for text in [*draw(PROSE), ""])
    after = "".join(f"{text}{ending}" for text in ["", *draw(PROSE)])
    last = draw(st.sampled_from(["", ending])) if not after.strip() else ending
    return Ugly(draw(st.sampled_from(["", "\ufeff"])) + before, ending.join(lines) + last, after if last else "")


@given(ugly_boards())
def test_a_new_row_moves_no_other_byte(ugly: Ugly) -> None:
    text = ugly.text
    after = added(text)
    (start, end) = (len(ugly.before + ugly.table), len(after) - len(ugly.after))
    assert after[:start] == ugly.before + ugly.table
    assert after[end:] == ugly.after
    assert after[start:end].strip("\r\n").count("\n") == 0, "one row"
    parsed = board(after)
    assert parsed.rows[:-1] == board(text).rows
    assert {name: parsed.rows[-1].values[name] for name in NEW} == NEW
    assert {after.count(mark) - text.count(mark) for mark in ("\r\n", "\n")} <= {0, 1}


@given(ugly_boards(), st.data())
def test_a_changed_row_keeps_its_other_cells(ugly: Ugly, data: st.DataObject) -> None:
    text = added(ugly.text)
    row = data.draw(st.sampled_from(board(text).rows))
    values = {"Summary": "x | y", "Status": "closed"}
    after = board(text).changed(row, values).decode()
    lines, old = after.split("\n"), text.split("\n")
    assert [line for line in lines if line not in old][:1] == ([lines[row.line - 1]] if after != text else [])
    assert lines[: row.line - 1] + lines[row.line :] == old[: row.line - 1] + old[row.line :]
    assert board(after).rows[row.line - board(text).rows[0].line].values == {**row.values, **values}
    assert board(after).changed(board(after).rows[row.line - board(text).rows[0].line], values).decode() == after


def test_a_new_board_has_a_heading_and_the_columns_of_the_contract() -> None:
    for raw in (None, b"", b" \n\n"):
        text = Board.parse(raw, RISKS, "b").added({"ID": "RSK-001", "Summary": "x"}).decode()
        assert text.lstrip().startswith(f"# Risk board\n\n{HEAD}\n{RULE}\n| RSK-001 |")


def test_a_file_without_a_table_gets_one_before_the_accepted_risks() -> None:
    text = added("# Risks\n\nNone yet.\n\n## Accepted Risks\n\n- RSK-041: slow disk\n")
    assert text.startswith(f"# Risks\n\nNone yet.\n\n{HEAD}\n{RULE}\n| RSK-042 |")
    assert text.endswith("|\n\n## Accepted Risks\n\n- RSK-041: slow disk\n")


def test_a_sentence_with_a_pipe_directly_above_the_head_is_no_head() -> None:
    text = f"a | b as in the meeting\n{HEAD}\n{RULE}\n{ROW}\n"
    assert [row.id for row in board(text).rows] == ["RSK-007"]
    assert added(text).startswith(text)


def test_ids_of_accepted_risks_are_not_given_again() -> None:
    text = f"{HEAD}\n{RULE}\n{ROW}\n\n## Accepted Risks\n\n| ID | Why |\n|---|---|\n| RSK-120 | old |\n"
    assert board(text).next_id == "RSK-121"
    assert len(board(text).rows) == 1


def test_a_table_in_a_code_block_or_a_comment_is_none() -> None:
    example = f"```\n{HEAD}\n{RULE}\n{ROW.replace('007', '003')}\n```\n<!--\n{HEAD}\n{RULE}\n-->\n"
    assert [row.id for row in board(f"{example}\n{HEAD}\n{RULE}\n{ROW}\n").rows] == ["RSK-007"]


def test_rows_of_every_table_are_known_and_new_ones_go_to_the_open_one() -> None:
    closed = ROW.replace("007", "009").replace("| open |", "| closed |")
    text = f"## Accepted Risks\n\n{HEAD}\n{RULE}\n{closed}\n\n## Open\n\n{HEAD}\n{RULE}\n{ROW}\n\nEnd.\n"
    assert [row.id for row in board(text).rows] == ["RSK-009", "RSK-007"]
    after = added(text)
    assert after.index("## Open") < after.index("RSK-010") < after.index("End.")
    changed = board(text).changed(board(text).rows[0], {"Status": "open"}).decode()
    assert changed == text.replace("| closed |", "| open   |")


def test_a_text_directly_below_the_last_row_stays_below() -> None:
    text = added(f"{HEAD}\n{RULE}\n{ROW}\nSeen with Ann.\n")
    assert text.index("RSK-008") < text.index("Seen with Ann.")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"{HEAD}\n{ROW}\n", ":2: expected a row of dashes"),
        (f"{HEAD}\n|---|---|\n{ROW}\n", ":2: expected 11 cells of dashes; found 2"),
        (f"{HEAD[:-2]} | Kind |\n{RULE}---|\n", ":1: expected each column once; found Kind 2 times"),
        (
            "| ID | Kind | Status | Severity | Probability | Threatens | Actions |\n|---|---|---|---|---|---|---|\n",
            "Summary",
        ),
        (f"{HEAD}\n{RULE}\n{ROW.replace('one', 'o|ne')}\n", ":3: expected 11 cells; found 12"),
        (f"{HEAD}\n{RULE}\n{ROW}\n{ROW}\n", ":4: expected each id once; found RSK-007 2 times"),
        (f"Risks\n\n{ROW}\n", ":3: expected a head with ID, Summary above the rows"),
        (f"{HEAD}\n{RULE}\n".encode() + b"| RSK-001 | \xb2\xe2 |\n", ":3: expected UTF-8"),
        (f"{HEAD}\n".encode("utf-16"), "UTF-16"),
        (f"{HEAD}\n{RULE}\n{ROW}\n\n{ROW.replace('007', '008')}\n", ":5: expected a head with ID, Summary above"),
        (f"{HEAD}\n{RULE}\n<<<<<<< HEAD\n{ROW}\n=======\n>>>>>>> main\n", ":3: expected a merged file; found the mark"),
    ],
)
def test_a_damaged_board_is_reported_with_its_line(text: str | bytes, words: str) -> None:
    with pytest.raises(DebuggerError) as caught:
        board(text)
    assert words in str(caught.value)
    assert str(caught.value).endswith("nothing was written")


def test_a_short_row_is_sound_and_its_missing_cell_is_named_when_it_is_needed() -> None:
    parsed = board(f"{HEAD}\n{RULE}\n| RSK-001 | execution | open\n")
    with pytest.raises(DebuggerError, match=r":3: expected a cell for Summary in row RSK-001; found only 3 cells"):
        parsed.changed(parsed.rows[0], {"Summary": "x"})
    assert b"| RSK-001 | execution | closed\n" in parsed.changed(parsed.rows[0], {"Status": "closed"})


def test_what_the_board_has_no_column_for_is_told(tmp_path: Path) -> None:
    path = tmp_path / "memory" / "risk-board.md"
    write(path, "| ID | Summary |\n|---|---|\n")
    found = record(Project(tmp_path), RISKS, lambda _: (None, {"Summary": "x", "Kind": "execution"}), "2026-11-30")
    assert found.notes == ("the board has no column Kind: left out",)
    assert path.read_text(encoding="utf-8") == "| ID | Summary |\n|---|---|\n| RSK-001 | x |\n"


def test_in_a_worktree_rows_go_into_its_status_file(tmp_path: Path) -> None:
    write(tmp_path / "memory" / "risk-board.md", f"{HEAD}\n{RULE}\n{ROW}\n")
    status = tmp_path / ".agent" / "worktree-status.md"
    write(status, "# Worktree\n\n- task: debug 42\n")
    project = Project(tmp_path)
    assert board_file(project, HANDOFFS) == status
    risk = record(project, RISKS, lambda _: (None, {"Summary": "x"}), "2026-11-30")
    handoff = record(project, HANDOFFS, lambda _: (None, {"Consumer": "run-experiment"}), "2026-11-30")
    assert (risk.id, handoff.id) == ("RSK-008", "HND-001")
    assert "move the row to memory/risk-board.md" in risk.notes[0]
    assert (tmp_path / "memory" / "risk-board.md").read_text(encoding="utf-8") == f"{HEAD}\n{RULE}\n{ROW}\n"
    assert not (tmp_path / "memory" / "handoff-board.md").exists()
    text = status.read_text(encoding="utf-8")
    assert text.startswith("# Worktree\n\n- task: debug 42\n\n## Risk board\n\n| ID | Kind |")
    assert "\n\n## Hand-off board\n\n| ID | Status |" in text
    assert [row.id for row in read_rows(project, RISKS)] == ["RSK-007", "RSK-008"]


def test_saying_the_same_twice_changes_nothing(tmp_path: Path) -> None:
    project, path = Project(tmp_path), tmp_path / "memory" / "risk-board.md"
    record(project, RISKS, lambda _: (None, {"Summary": "x | y", "Status": "open"}), "2026-11-29")
    before = path.read_bytes()

    def say(status: str) -> str:
        return record(
            project, RISKS, lambda board: (board.rows[0], {"Summary": "x | y", "Status": status}), "2026-11-30"
        ).action

    assert (say("open"), path.read_bytes()) == ("unchanged", before)
    assert say("closed") == "updated"
    assert path.read_bytes() == before.replace(b" open ", b" closed ").replace(b"2026-11-29", b"2026-11-30")


def test_a_code_block_that_is_left_open_is_reported() -> None:
    with pytest.raises(DebuggerError, match="ends outside of code and comments; found one that is left open"):
        added("# Risks\n\n```\nno end\n")
