"""The projects that smoke tests are tried on: they build alike everywhere, and their stored runs are diagnosed."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from smoke_projects import NASTY, RECIPES, STORE, Project, build

from experiment_debugger.context import gather
from experiment_debugger.diagnose import investigate
from experiment_debugger.models import Diagnosis, RunContext
from experiment_debugger.project import find_project
from experiment_debugger.run import resolve

NAMES = sorted(RECIPES)
FRAME = re.compile(r'File "/home/ann/project/(?P<file>[^"]+)", line (?P<line>\d+), in .*\n\s+(?P<code>.+)')
MACHINE = re.compile(rb"/(?:root|tmp|work|opt|Users)/")


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Project]:
    return {name: build(name, tmp_path_factory.mktemp(name) / "project") for name in NAMES}


@pytest.fixture(scope="module")
def answers(projects: dict[str, Project]) -> dict[str, tuple[Diagnosis, RunContext]]:
    return {name: examine(project) for name, project in projects.items()}


def examine(project: Project) -> tuple[Diagnosis, RunContext]:
    evidence, diagnosis = investigate(resolve(find_project(project.root, project.root, {}), project.run_id))
    return diagnosis, gather(evidence, diagnosis)


def git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.mark.parametrize("name", NAMES)
def test_the_stored_run_fails_as_stated(name: str, answers: dict[str, tuple[Diagnosis, RunContext]]) -> None:
    fails = RECIPES[name].fails
    diagnosis, _ = answers[name]
    assert diagnosis.verdict == "failure"
    top = diagnosis.modes[0]
    assert top.mode == fails.mode
    assert fails.rule in diagnosis.checked.fired
    assert fails.cause in {None, top.cause}
    assert top.onset is not None
    assert fails.step in {None, top.onset.step}


@pytest.mark.parametrize("name", NAMES)
def test_the_run_tells_its_command_and_the_broken_commit(
    name: str, projects: dict[str, Project], answers: dict[str, tuple[Diagnosis, RunContext]]
) -> None:
    project = projects[name]
    _, context = answers[name]
    assert context.command is not None
    assert str(context.command.value).startswith("python ")
    assert context.commit_of_run is not None
    assert context.commit_of_run.value == project.broken
    assert context.commit_now == project.fixed
    assert context.dirty is False


@pytest.mark.parametrize("name", NAMES)
def test_the_fix_changes_code_and_nothing_else(name: str, projects: dict[str, Project]) -> None:
    root = projects[name].root
    fixed = {path.relative_to(STORE / name / "fixed").as_posix() for path in (STORE / name / "fixed").rglob("*.py")}
    assert set(git(root, "diff", "--name-only", "HEAD~1", "HEAD").split("\n")) == fixed
    assert git(root, "merge-base", projects[name].broken, "HEAD") == projects[name].broken
    assert not git(root, "ls-files", "data", "logs", "outputs")


def test_a_project_is_the_same_on_every_machine(projects: dict[str, Project], tmp_path: Path) -> None:
    again = build("late-nan", tmp_path / "elsewhere")
    first = projects["late-nan"]
    assert (again.broken, again.fixed) == (first.broken, first.fixed)
    assert build("hang", tmp_path / "hang", fix=False).fixed is None


@pytest.mark.parametrize("name", NAMES)
def test_stored_logs_fit_the_sources_and_name_no_machine(name: str) -> None:
    log = STORE / name / "run" / RECIPES[name].log
    assert not MACHINE.search(log.read_bytes())
    for frame in FRAME.finditer(log.read_text(encoding="utf-8")):
        source = (STORE / name / "broken" / frame["file"]).read_text(encoding="utf-8").split("\n")
        assert source[int(frame["line"]) - 1].strip() == frame["code"]


@pytest.mark.parametrize("name", NASTY)
def test_scripts_that_misbehave_do_so_at_run_time_only(name: str) -> None:
    if name.endswith(".py"):
        compile(NASTY[name], name, "exec")
    else:
        subprocess.run(["bash", "-n", STORE / "nasty" / name], check=True)
