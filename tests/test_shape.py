"""Sizes that keep the code readable (ARCHITECTURE.md, Style)."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import experiment_debugger

PACKAGE = Path(experiment_debugger.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
FAMILIES = sorted((PACKAGE / "rules").rglob("*.yaml"))
LONGEST_FUNCTION, LONGEST_MODULE, LONGEST_FAMILY = 40, 300, 400  # lines


def name_of(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def lines_of(path: Path) -> int:
    return path.read_text(encoding="utf-8").count("\n")


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_functions_and_modules_are_short(path: Path) -> None:
    assert lines_of(path) < LONGEST_MODULE
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    lengths = {node.name: (node.end_lineno or 0) - node.lineno + 1 for node in functions}
    assert not {name: length for name, length in lengths.items() if length > LONGEST_FUNCTION}


@pytest.mark.parametrize("path", FAMILIES, ids=name_of)
def test_a_family_of_rules_is_short(path: Path) -> None:
    assert lines_of(path) < LONGEST_FAMILY


def test_modules_are_named_after_what_they_hold() -> None:
    assert not {"utils", "util", "helpers", "common", "misc"} & {path.stem for path in MODULES}
