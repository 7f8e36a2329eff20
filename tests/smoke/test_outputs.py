"""Small outputs of a test are kept before its folder goes; nothing large, nothing that was there before."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from repositories import commit, repository, workspace
from samples import write

from experiment_debugger.smoke import outputs
from experiment_debugger.smoke.outputs import collect_outputs


def names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = repository(tmp_path / "project")
    commit(root, {"configs/a.yaml": "a: 1\n"})
    return root


def test_metrics_logs_and_configs_are_kept(root: Path, tmp_path: Path) -> None:
    write(root / "outputs/42/start.json", "{}")
    made = workspace(root, "python", "train.py", "--data", "data/train.csv", "--init", "outputs/42/start.json")
    kept = {"outputs/43/metrics.csv", "a b/train.log", "runs/x/events.out.tfevents.1.host", "wandb/r/run-1.wandb"}
    dropped = {"outputs/43/last.pt", "outputs/43/x.npy", "__pycache__/x.json"}
    for name in kept | dropped:
        write(made.folder / name, "x")
    write(made.folder.parent / "runs/x.csv", "beside\n")
    os.mkfifo(made.folder / "pipe.log")
    (made.folder / "linked.csv").symlink_to(root / "data/train.csv")
    assert set(collect_outputs(made, tmp_path / "records")) == kept | {"../runs/x.csv"}
    assert names(tmp_path / "records/outputs") == kept | {"beside/runs/x.csv"}
    made.remove()


def test_bounds_hold(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outputs, "LARGEST", 10)
    monkeypatch.setattr(outputs, "LARGEST_TOGETHER", 25)
    monkeypatch.setattr(outputs, "MOST_FILES", 3)
    made = workspace(root)
    for name, size in {"a.csv": 11, "b.csv": 10, "c.csv": 10, "d.csv": 10, "e.csv": 5, "f.csv": 0}.items():
        write(made.folder / name, "x" * size)
    assert collect_outputs(made, tmp_path) == ("b.csv", "c.csv", "e.csv")
    made.remove()


def test_in_place_nothing_is_collected(root: Path, tmp_path: Path) -> None:
    write(root / "new.csv", "x")
    assert collect_outputs(workspace(root, in_place=True), tmp_path / "records") == ()
    assert not (tmp_path / "records").exists()


def test_a_command_that_breaks_its_copy_fails_no_test(root: Path, tmp_path: Path) -> None:
    made = workspace(root)
    (made.folder / ".git").unlink()
    write(made.folder / "new.csv", "x")
    assert collect_outputs(made, tmp_path / "records") == ()
    made.remove()
