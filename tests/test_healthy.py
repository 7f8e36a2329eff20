"""Runs that ended well with noisy logs (see artifacts/healthy/README.md): every false alarm costs a user's trust."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path

import pytest

from experiment_debugger.diagnose import diagnose
from experiment_debugger.models import Diagnosis
from experiment_debugger.project import find_project
from experiment_debugger.run import resolve

PROJECTS = Path(__file__).parent / "artifacts" / "healthy" / "projects"
RUNS: dict[str, str] = {
    name: str(about["run_id"])
    for name, about in json.loads((PROJECTS / "expected.json").read_text(encoding="utf-8")).items()
}
STILL_RUNNING = "torch-still-running"
ABSTAINS = frozenset({"jax-log-compiles", "jax-apply-if-finite", "xgboost-verbose"})
"""Runs whose end no rule can know yet: there `inconclusive` is right, and a failure still is not."""


def examine(name: str) -> Diagnosis:
    project = PROJECTS / name
    return diagnose(resolve(find_project(project, project, {}), RUNS[name]))


@pytest.mark.parametrize("name", sorted(RUNS.keys() - {STILL_RUNNING}))
def test_a_run_that_ended_well_is_healthy(name: str) -> None:
    diagnosis = examine(name)
    assert diagnosis.verdict in ({"inconclusive"} if name in ABSTAINS else {"healthy"}), diagnosis.summary
    assert diagnosis.modes == ()


def test_a_run_that_is_being_written_is_running(tmp_path: Path) -> None:
    project = tmp_path / "project"
    shutil.copytree(PROJECTS / STILL_RUNNING, project)
    started = time.time() - 3600
    for path in project.rglob("*"):
        os.utime(path, (started, started))
    os.utime(project / "logs" / "run-31.log")
    diagnosis = diagnose(resolve(find_project(project, project, {}), RUNS[STILL_RUNNING]))
    assert (diagnosis.verdict, diagnosis.run_state) == ("healthy", "running")


def test_few_of_them_are_left_open() -> None:
    assert len(RUNS) >= 40
    assert len(ABSTAINS) <= 0.15 * len(RUNS)
