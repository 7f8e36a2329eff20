"""What real processes left behind (see artifacts/README.md), diagnosed as a user would see it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from experiment_debugger.context import gather
from experiment_debugger.diagnose import investigate
from experiment_debugger.models import Diagnosis, RunContext
from experiment_debugger.project import find_project
from experiment_debugger.run import resolve

PROJECTS = sorted(path.parent for path in (Path(__file__).parent / "artifacts" / "projects").glob("*/expected.json"))


def expected(project: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((project / "expected.json").read_text(encoding="utf-8"))
    return loaded


def examine(project: Path) -> tuple[Diagnosis, RunContext]:
    run = resolve(find_project(project, project, {}), str(expected(project)["run_id"]))
    evidence, diagnosis = investigate(run)
    return diagnosis, gather(evidence, diagnosis)


@pytest.mark.parametrize("project", PROJECTS, ids=lambda project: project.name)
def test_the_verdict_and_the_key_line_are_found(project: Path) -> None:
    wanted = expected(project)
    diagnosis, _ = examine(project)
    assert diagnosis.verdict == wanted["verdict"]
    if diagnosis.verdict != "failure":
        return
    top = diagnosis.modes[0]
    assert top.mode == wanted["mode"]
    places = [(item.path, item.line) for item in top.evidence]
    if wanted["line"] is None:  # the evidence is no text
        assert any(path == wanted["path"] and line is None for path, line in places), places
    else:
        assert any(path == wanted["path"] and line and abs(line - wanted["line"]) <= 1 for path, line in places), places


@pytest.mark.parametrize("project", PROJECTS, ids=lambda project: project.name)
def test_every_quote_can_be_read_again_at_its_place(project: Path) -> None:
    diagnosis, _ = examine(project)
    for hypothesis in diagnosis.modes:
        for item in hypothesis.evidence:
            path = project / item.path
            if item.line is None or item.quote is None or path.suffix in {".gz", ".ipynb"}:
                continue
            line = path.read_bytes().split(b"\n")[item.line - 1].decode("utf-8", "replace")
            for piece in item.quote.split("…"):
                assert _words(piece) in _words(line)


def _words(text: str) -> str:
    return "".join(character for character in text if character.isalnum())


def test_the_context_names_command_config_error_and_what_is_missing() -> None:
    project = next(path for path in PROJECTS if path.name == "nan-plain-loop")
    _, context = examine(project)
    assert context.command is not None
    assert "train.py" in str(context.command.value)
    assert context.config["lr"].value == 0.0003
    assert context.error is not None
    assert context.error.line == 140
    assert context.run.planned_steps == 300
    assert any("commit" in text for text in context.missing)


def test_the_error_carries_the_users_deepest_frame() -> None:
    project = next(path for path in PROJECTS if path.name == "shape-mismatch")
    _, context = examine(project)
    assert context.error is not None
    assert context.error.exception == "RuntimeError"
    assert context.error.frame is not None
    assert context.error.frame.startswith("/workspace/proj/train.py:")
