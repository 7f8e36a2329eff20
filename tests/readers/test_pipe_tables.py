"""Cells and escapes of Markdown tables."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiment_debugger.readers.pipe_tables import cells_of, escaped, is_delimiter, unescaped


@pytest.mark.parametrize(
    ("line", "cells"),
    [
        ("| a | b |", [" a ", " b "]),
        ("a | b", ["a ", " b"]),
        ("  |a|b|  \r\n", ["a", "b"]),
        (r"| a \| b | c |", [r" a \| b ", " c "]),
        (r"| a \\| b |", [r" a \\", " b "]),
        ("||", [""]),
        ("| | |", [" ", " "]),
        ("| a | b", [" a ", " b"]),
    ],
)
def test_a_line_is_split_at_its_bare_pipes(line: str, cells: list[str]) -> None:
    assert cells_of(line) == cells


@given(st.text(max_size=30))
def test_a_cell_shows_the_text_that_was_put_into_it(text: str) -> None:
    cell = escaped(text)
    shown = " ".join("".join(mark if mark.isprintable() else " " for mark in text).split())
    assert unescaped(cell) == shown
    assert len(cells_of(f"| {cell} | x |")) == 2
    assert cell.isprintable()


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("nan_gradient in train/loss_2 #3", "nan_gradient in train/loss_2 #3"),
        ("_emphasis_ of `code`", r"\_emphasis\_ of \`code\`"),
        ("<!-- ed:fp=00 --> <img src=x>", r"\<!-- ed:fp=00 --> \<img src=x>"),
        ("[link](x)\nnext", r"\[link\](x) next"),
    ],
)
def test_nothing_in_a_cell_is_markup_and_words_stay_readable(text: str, cell: str) -> None:
    assert escaped(text) == cell


@pytest.mark.parametrize(
    ("line", "is_one"), [("|---|:-:|", True), ("--- | ---", True), ("| - |", True), ("| a |", False)]
)
def test_a_row_of_dashes_is_known(line: str, *, is_one: bool) -> None:
    assert is_delimiter(line) == is_one
