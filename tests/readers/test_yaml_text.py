"""YAML that users wrote never escapes as anything but `BrokenYaml`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiment_debugger.yaml_text import BrokenYaml, parse_documents, parse_yaml


@pytest.mark.parametrize(
    "text",
    [
        "a: [1\nb: c: d\n",
        "a: !!bool foo\n",
        "a: !!timestamp foo\n",
        "a: !!int foo\n",
        "a: 2024-13-45\n",
        "? {a: 1}\n: 2\n",
        "a: !own b\n",
        "a: 1\n---\nb: 2\n",
        "[" * 5000,
        "a: \x01\n",
    ],
)
def test_broken_yaml_is_one_kind_of_error(text: str) -> None:
    with pytest.raises(BrokenYaml) as caught:
        parse_yaml(text)
    assert "\n" not in str(caught.value)


def test_the_line_is_named() -> None:
    with pytest.raises(BrokenYaml, match=r"^line \d+: ") as caught:
        parse_yaml("a: 1\nb: [1\nc: d: e\n")
    assert caught.value.line in {2, 3}


def test_documents_are_kept_apart() -> None:
    assert parse_documents("a: 1\n---\nb: 2\n") == [{"a": 1}, {"b": 2}]
    assert parse_yaml("") is None


@given(st.text(alphabet="ab:-[]{}!&*#|>? \n'\"0", max_size=40))
def test_nothing_else_escapes(text: str) -> None:
    try:
        parse_documents(text)
    except BrokenYaml as problem:
        assert problem.problem  # noqa: PT017 (most texts are valid)
