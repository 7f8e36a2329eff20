"""Sections of ours in a file of people: rendered again, and nothing else moves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiment_debugger.errors import DebuggerError
from experiment_debugger.writeback.sections import read_document

SECTIONS = {"head": "# Report", "evidence": "## Evidence\n\n- a line", "fix": "## Fix\n\nnone"}
LINES = st.text(alphabet="ab \t#|`<>!-\r\u4e2d", max_size=12)
PROSE = st.lists(LINES, max_size=5).map("\n".join)


def render(text: str, sections: dict[str, str] = SECTIONS) -> str:
    return read_document(text, "r.md").rendered(sections)


def between(text: str) -> list[str]:
    """What stands outside the sections."""
    return [piece.text for piece in read_document(text, "r.md").pieces if piece.name is None]


def test_a_new_report_has_every_section_once_with_blank_lines_between() -> None:
    text = render("")
    assert text.startswith("<!-- ed:begin head ")
    assert "<!-- ed:end head -->\n\n<!-- ed:begin evidence " in text
    assert between(text) == ["\n", "\n"]


@given(first=PROSE, second=PROSE, last=PROSE)
def test_what_people_write_around_the_sections_stays_to_the_byte(first: str, second: str, last: str) -> None:
    made = render("")
    written = made.replace("<!-- ed:begin evidence", f"{first}\n<!-- ed:begin evidence", 1)
    written = written.replace("<!-- ed:begin fix", f"{second}\n<!-- ed:begin fix", 1) + last
    again = render(written, {**SECTIONS, "evidence": "## Evidence\n\n- another line"})
    assert between(again) == between(written)
    assert "- another line" in again.replace("\r\n", "\n")
    assert "- a line" not in again.replace("\r\n", "\n")


@given(PROSE)
def test_writing_twice_is_writing_once(text: str) -> None:
    once = render(text)
    assert render(once) == once
    assert not read_document(once, "r.md").changed(SECTIONS)


@given(PROSE)
def test_a_file_without_sections_stays_in_front_of_them(text: str) -> None:
    assert render(text).startswith(text)


def test_what_a_person_changed_inside_a_section_becomes_text_of_theirs() -> None:
    edited = render("").replace("- a line", "- a line, and Lena saw it on node 7")
    again = render(edited)
    assert "## Evidence\n\n- a line, and Lena saw it on node 7\n\n<!-- ed:begin evidence " in again
    assert read_document(again, "r.md").section("evidence") == SECTIONS["evidence"]
    assert render(again) == again


def test_a_file_with_dos_line_endings_keeps_them() -> None:
    text = render("Notes\r\n")
    assert "\n" not in text.replace("\r\n", "")
    assert not any(piece.is_edited for piece in read_document(text.replace("\r\n", "\n"), "r.md").pieces), "autocrlf"


def test_a_section_that_was_removed_comes_back_behind_its_predecessor() -> None:
    text = render("")
    start, end = text.index("<!-- ed:begin evidence"), text.index("<!-- ed:begin fix")
    again = render(text[:start] + "Mine.\n\n" + text[end:])
    assert again.index("ed:end head") < again.index("ed:begin evidence") < again.index("Mine.")


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text.replace("<!-- ed:end evidence -->\n", ""),
        lambda text: text.replace("<!-- ed:end head -->", "<!-- ed:end fix -->", 1),
        lambda text: text + text,
        lambda text: "<!-- ed:end head -->\n" + text,
    ],
)
def test_damaged_marks_are_reported_with_their_line(damage: object) -> None:
    assert callable(damage)
    with pytest.raises(DebuggerError, match=r"^r\.md:\d+: expected pairs of .* nothing was written$"):
        read_document(damage(render("")), "r.md")
