"""What runs in the user's interpreter: Python 3.8, the standard library, and nothing else of ours."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from probes.programs import PYTHON

from experiment_debugger import probes

FOLDER = Path(probes.__file__).parent
AGENT = sorted((FOLDER / "inside").glob("*.py"))
SOURCES = [FOLDER / "launch.py", *FOLDER.glob("path/*.py"), *AGENT]
OTHER_PYTHONS = sorted(Path(sys.base_prefix).parent.glob("3.*/bin/python"))
IMPORT_ALL = "; ".join(f"import inside.{path.stem}" for path in AGENT if path.stem != "__init__")


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_sources_are_python_3_8_and_standard_library(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 8))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            assert {alias.name.split(".")[0] for alias in node.names} <= {*sys.stdlib_module_names, "sitecustomize"}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            assert str(node.module).split(".")[0] in sys.stdlib_module_names


@pytest.mark.parametrize("python", [Path(PYTHON), *OTHER_PYTHONS], ids=lambda path: path.parts[-3])
def test_every_module_loads_in_a_bare_interpreter(python: Path) -> None:
    if python.parts[-3].startswith(("3.6", "3.7")):
        pytest.skip("older than what the agent runs in")
    code = f"import sys; sys.dont_write_bytecode = True; sys.path.insert(0, {str(FOLDER)!r}); {IMPORT_ALL}"
    subprocess.run([python, "-S", "-I", "-W", "error", "-c", code], check=True)
