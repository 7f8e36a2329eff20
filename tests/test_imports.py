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
    {"errors", "models", "command", "yaml_text", "discovery.names", "report.budget"},
    {"arguments", "cache", "git", "probes", "redaction", "results", "settings"},
    {"case"},
    {"readers", "project"},
    {"run"},
    {"discovery"},
    {"evidence", "smoke"},
    {"rules"},
    {"collection"},
    {"diagnose", "window"},
    {"context", "listing", "metrics", "remarks", "seen", "writeback"},
    {"compare"},
    {"verify"},
    {"report"},
    {"api"},
    {"consent", "scoreboard"},
    {"mcp_server"},
    {"cli"},
)
"""Lowest first. Parts of one layer do not know each other: readers know no project, consent knows no scoreboard."""
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
DOORS = {("run", "discovery")}
"""`run.resolve` and `run.list_runs` are the names under which everyone else reaches discovery."""
HEAVY = ("filelock", "hyperscan", "matplotlib", "mcp", "numpy", "psutil", "tensorboard", "torch")
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def part(module: str) -> str | None:
    """The part of the package, as LAYERS names it, that a dotted name below the package belongs to."""
    words = module.split(".")
    return next((name for name in (".".join(words[:2]), words[0]) if name in LEVEL), None)


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts)


def own_imports(path: Path) -> set[str]:
    """What a module imports of this package, by its dotted name below the package."""
    prefix = "experiment_debugger."
    return {name.removeprefix(prefix) for name in imported(parse(path)) if name.startswith(prefix)}


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
    own = part(module_name(path))
    assert own is not None, f"{module_name(path)}: give it a layer in LAYERS"
    used = {name for module in own_imports(path) if (name := part(module)) is not None and name != own}
    wrong = {name for name in used if LEVEL[name] >= LEVEL[own] and (own, name) not in DOORS}
    assert not wrong, f"{module_name(path)} imports {sorted(wrong)}, not from a layer below"


def test_every_layer_names_something_that_exists() -> None:
    parts = {part(module_name(path)) for path in MODULES}
    assert parts == set(LEVEL)


@pytest.mark.parametrize("path", sorted((PACKAGE / "rules").rglob("*.py")), ids=lambda path: path.name)
def test_rules_open_no_files(path: Path) -> None:
    """Only the loader of the rules' own YAML does; rules are given what was read."""
    if path.name == "rulebook.py":
        return
    called = {ast.unparse(node.func) for node in ast.walk(parse(path)) if isinstance(node, ast.Call)}
    assert "open" not in called
    allowed = {"pathlib", "pathlib.Path"} if path.name == "strict_yaml.py" else set()  # a name for messages
    assert not {"pathlib", "os", "io"} & {name.split(".")[0] for name in set(imported(parse(path))) - allowed}
    assert "readers.files" not in own_imports(path)


@pytest.mark.parametrize("path", sorted((PACKAGE / "report").glob("*.py")), ids=lambda path: path.name)
def test_report_only_renders(path: Path) -> None:
    """It is given types of models, windows and the taxonomy, never what they are computed from; escapes it may know."""
    known = {name.split(".")[0] for name in own_imports(path) if not name.startswith("readers.pipe_tables")}
    assert known <= {"models", "results", "case", "errors", "metrics", "window", "rules", "report"}


def test_only_the_server_imports_mcp() -> None:
    users = {path.name for path in MODULES if any(name.split(".")[0] == "mcp" for name in imported(parse(path)))}
    assert users == {"consent.py", "mcp_server.py"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_heavy_modules_are_imported_inside_what_needs_them(path: Path) -> None:
    top = {
        name.split(".")[0]
        for node in parse(path).body
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for name in imported_by(node)
    }
    allowed = {"mcp"} if path.name in {"consent.py", "mcp_server.py"} else set()
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
