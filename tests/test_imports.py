"""Imports point down only, and an answer from text loads nothing heavy."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import experiment_debugger

PACKAGE = Path(experiment_debugger.__file__).parent
LAYERS = (
    {"errors", "models", "command"},
    {"cache", "settings", "redaction"},
    {"project", "discovery", "run", "readers"},
    {"evidence"},
    {"rules"},
    {"diagnose", "context", "window"},
    {"report"},
    {"api"},
    {"scoreboard"},
    {"cli", "mcp_server"},
)
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
HEAVY = ("hyperscan", "matplotlib", "mcp", "numpy", "tensorboard", "torch")
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def part(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(tree: ast.AST) -> Iterator[str]:
    """Full names that a module imports anywhere, also inside functions; type-checking blocks do not count."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield f"{node.module}"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        else:
            yield from imported(node)


def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_down(path: Path) -> None:
    own = part(path)
    names = {name.split(".")[1] for name in imported(parse(path)) if name.startswith("experiment_debugger.")}
    used = {name for name in names if name in LEVEL}
    assert own in LEVEL, f"{own}: give it a layer in LAYERS"
    above = {name for name in used if LEVEL[name] > LEVEL[own]}
    assert not above, f"{path.name} imports {sorted(above)} from a layer above"


def test_rules_open_no_files() -> None:
    """Only the loader of the rules' own YAML does; that readers know no rules follows from the layers."""
    for path in MODULES:
        if {"detectors", "code_checks"} & set(path.parts) or path.name == "matcher.py":
            assert not {"pathlib", "os", "io"} & set(imported(parse(path))), path


def test_only_the_server_imports_mcp() -> None:
    users = {path.name for path in MODULES if any(name.split(".")[0] == "mcp" for name in imported(parse(path)))}
    assert users == {"mcp_server.py"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_heavy_modules_are_imported_inside_what_needs_them(path: Path) -> None:
    top = {
        name.split(".")[0]
        for node in parse(path).body
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for name in imported_by(node)
    }
    allowed = {"mcp"} if path.name == "mcp_server.py" else set()
    assert not top & set(HEAVY) - allowed


def imported_by(node: ast.Import | ast.ImportFrom) -> list[str]:
    return [alias.name for alias in node.names] if isinstance(node, ast.Import) else [str(node.module)]


def loaded_after(*arguments: str) -> set[str]:
    """Top-level modules in memory after one verb."""
    code = (
        "import sys; from experiment_debugger.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "print('LOADED', *{name.split('.')[0] for name in sys.modules}, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    return set(done.stderr.rsplit("LOADED", 1)[-1].split())


def test_help_loads_neither_models_nor_rules() -> None:
    assert not loaded_after("debug", "--help") & {"pydantic", "yaml", *HEAVY}


def test_the_first_answer_loads_nothing_heavy(project: Path) -> None:
    assert not loaded_after("debug", "42", "--project", str(project)) & (set(HEAVY) - {"hyperscan"})
