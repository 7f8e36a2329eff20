"""Real training projects that fail: a git repository, the artifacts of its run 42, and a commit that fixes it.

    project = build("late-nan", tmp_path / "project")
    project.broken     the commit that run 42 recorded; `git checkout` of it fails again
    project.fixed      the commit on top, HEAD, whose run ends well

`python tests/smoke_projects.py make [NAME...]` runs the broken versions and stores what they leave (needs torch);
`python tests/smoke_projects.py check [NAME...]` runs the fixed versions and prints their diagnosis.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from smoke_endings import Ending, exits, hangs, outgrows, run
from smoke_inputs import digits, images, sensor

STORE = Path(__file__).parent / "artifacts" / "smoke"
RUN = "42"
IGNORED = "data/\noutputs/\nlogs/\n.agent/\n__pycache__/\n"
KEPT = ("logs", "outputs")
"""Folders in which a run leaves its artifacts."""
IDENTITY = {"NAME": "Test", "EMAIL": "test@example.com", "DATE": "2026-11-30T09:00:00+00:00"}


@dataclass(frozen=True)
class Failure:
    """What a diagnosis of the broken run finds.

    `cause` is None where the log does not reach that far; `step` is the first or last that the log tells, None where
    it depends on the machine.
    """

    mode: str
    cause: str | None
    rule: str
    step: int | None


@dataclass(frozen=True)
class Project:
    """A project on disk whose run 42 failed at commit `broken`; `fixed` is None without a fix on top."""

    name: str
    root: Path
    fails: Failure
    broken: str
    fixed: str | None
    run_id: str = RUN


@dataclass(frozen=True)
class Recipe:
    """How run 42 of a project is started, how it ends, where it writes down its commit, and what makes its data."""

    argv: tuple[str, ...]
    log: str
    fails: Failure
    record: Callable[[Path, str], None]
    data: Callable[[Path], None] = lambda _: None
    ends: Ending = exits


NASTY = {path.name: path.read_text(encoding="utf-8") for path in sorted((STORE / "nasty").iterdir()) if path.is_file()}
"""Scripts that misbehave, by file name; each says in its first lines how. The two `.sh` start `trains-silently.py`."""


def build(name: str, folder: Path, *, fix: bool = True) -> Project:
    """Write the project `name` into `folder`, with the stored artifacts of its broken run."""
    broken = _commit_broken(name, folder)
    shutil.copytree(STORE / name / "run", folder, dirs_exist_ok=True, copy_function=shutil.copyfile)
    RECIPES[name].record(folder, broken)
    fixed = _commit_fix(name, folder) if fix else None
    return Project(name, folder, RECIPES[name].fails, broken, fixed)


def _commit_broken(name: str, folder: Path) -> str:
    shutil.copytree(STORE / name / "broken", folder, dirs_exist_ok=True, copy_function=shutil.copyfile)
    (folder / ".gitignore").write_text(IGNORED, encoding="utf-8")
    RECIPES[name].data(folder / "data")
    _git(folder, "init", "--quiet", "--initial-branch=main")
    return _commit(folder, f"Train: {name}")


def _commit_fix(name: str, folder: Path) -> str:
    shutil.copytree(STORE / name / "fixed", folder, dirs_exist_ok=True, copy_function=shutil.copyfile)
    return _commit(folder, f"Fix {name}")


def _commit(folder: Path, message: str) -> str:
    """Commit everything and return the SHA, the same on every machine."""
    _git(folder, "add", "--all")
    _git(folder, "commit", "--quiet", "--message", message)
    return _git(folder, "rev-parse", "HEAD")


def _git(folder: Path, *arguments: str) -> str:
    people = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in IDENTITY.items()}
    alone = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(
        ["git", *arguments],
        cwd=folder,
        env={**inherited, **people, **alone},
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


def _in_environment_dump(root: Path, commit: str) -> None:
    text = f"python: 3.11.7\ntorch: 2.13.0+cpu\ncommit: {commit}\n"
    (root / "outputs" / RUN / "env.txt").write_text(text, encoding="utf-8")


def _in_metadata(root: Path, commit: str) -> None:
    metadata = {"host": "node01", "python": "3.11.7", "git": {"commit": commit, "dirty": False}}
    (root / "outputs" / RUN / "metadata.json").write_text(json.dumps(metadata, indent=1) + "\n", encoding="utf-8")


def _in_registry(root: Path, commit: str) -> None:
    registry = root / ".agent" / "run-status" / "runs.json"
    registry.parent.mkdir(parents=True)
    recipe = RECIPES["last-batch"]
    entry = {"backend": "local", "log": recipe.log, "command": shlex.join(recipe.argv), "commit": commit}
    registry.write_text(json.dumps({"runs": {RUN: entry}}, indent=1) + "\n", encoding="utf-8")


def _in_job_file(root: Path, commit: str) -> None:
    """A job file cannot hold the commit that holds it: it is committed on top of the code it runs."""
    job = root / "jobs" / f"{RUN}.yaml"
    job.parent.mkdir()
    shutil.copyfile(STORE / "label-out-of-range" / "job.yaml", job)
    with job.open("a", encoding="utf-8") as output:
        output.write(f"commit: {commit}\n")
    _commit(root, f"Job {RUN}")


RECIPES = {
    "late-nan": Recipe(
        argv=("bash", "jobs/42.sh"),
        log="logs/slurm-42.out",
        fails=Failure("nan-gradient", None, "loss-nan-onset", 310),
        record=_in_environment_dump,
        data=sensor,
    ),
    "label-out-of-range": Recipe(
        argv=("python", "train.py", "--config", "configs/digits.yaml", "--run", RUN),
        log="logs/run-42.log",
        fails=Failure("crash", "class-label-outside-loss-range", "tensor-target-out-of-bounds", 40),
        record=_in_job_file,
        data=digits,
    ),
    "last-batch": Recipe(
        argv=("python", "run_classifier.py", "--output_dir", "outputs/42", "--per_device_train_batch_size", "48"),
        log="logs/run-42.log",
        fails=Failure("crash", "hard-coded-size-in-reshape", "tensor-view-size", 20),
        record=_in_registry,
    ),
    "corrupt-sample": Recipe(
        argv=("bash", "jobs/42-local.sh"),
        log="logs/run-42.log",
        fails=Failure("crash", None, "loader-worker-exception", 50),
        record=_in_metadata,
        data=images,
    ),
    "hang": Recipe(
        argv=("bash", "jobs/42.sh"),
        log="logs/slurm-42.out",
        fails=Failure("crash", None, "slurm-time-limit", 250),
        record=_in_environment_dump,
        ends=hangs,
    ),
    "memory-growth": Recipe(
        argv=("bash", "jobs/42.sh"),
        log="logs/slurm-42.out",
        fails=Failure("crash", "tensors-kept-in-host-memory", "slurm-oom-kill", None),
        record=_in_environment_dump,
        ends=outgrows,
    ),
}


def make(name: str) -> None:
    """Run the broken version in a neutral place and store what it leaves."""
    with tempfile.TemporaryDirectory() as place:
        root = Path(place) / "project"
        _commit_broken(name, root)
        _run(name, root, RECIPES[name].ends)
        _make_neutral(root)
        shutil.rmtree(STORE / name / "run", ignore_errors=True)
        for folder in KEPT:
            shutil.copytree(root / folder, STORE / name / "run" / folder)


def _run(name: str, root: Path, ends: Ending) -> None:
    run(RECIPES[name].argv, root / RECIPES[name].log, root=root, ends=ends)


def _make_neutral(root: Path) -> None:
    """Replace the paths of this machine in the texts that the run left."""
    places = {str(root): "/home/ann/project", sys.prefix: "/home/ann/venv", sys.base_prefix: "/usr"}
    for path in _texts(root):
        text = path.read_bytes()
        for place, neutral in places.items():
            text = text.replace(place.encode(), neutral.encode())
        path.write_bytes(text)


def _texts(root: Path) -> Iterator[Path]:
    for folder in KEPT:
        yield from (path for path in (root / folder).rglob("*") if path.is_file() and path.suffix != ".pt")


def check(name: str) -> None:
    """Run the fixed version and print the summary of its diagnosis."""
    with tempfile.TemporaryDirectory() as place:
        root = Path(place) / "project"
        _commit_broken(name, root)
        fixed = _commit_fix(name, root)
        _run(name, root, exits)
        RECIPES[name].record(root, fixed)
        argv = [sys.executable, "-m", "experiment_debugger.cli", "classify-failure", RUN, "--project", str(root)]
        subprocess.run(argv, check=True)


if __name__ == "__main__":
    for chosen in sys.argv[2:] or RECIPES:
        started = time.monotonic()
        {"make": make, "check": check}[sys.argv[1]](chosen)
        print(f"{chosen}: {time.monotonic() - started:.1f} s")
