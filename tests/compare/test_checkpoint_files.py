"""compare-runs on paths of checkpoints, and what gather-run-context says about those of a run."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from samples import Cli, steps, write

from experiment_debugger.mcp_server import build_server

torch = pytest.importorskip("torch")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A run with two checkpoints, the second one saved from DistributedDataParallel with a NaN."""
    folder = tmp_path / "runs" / "exp-42"
    write(folder / "train.log", "".join(steps(range(30))) + "Training finished\n")
    (tmp_path / ".git").mkdir()
    model = torch.nn.Linear(4, 3)
    state = {"model": model.state_dict(), "step": 10, "optimizer": {"lr": 1.0}}
    torch.save(state, folder / "ckpt-10.pt")
    with torch.no_grad():
        model.bias[0] = float("nan")
    renamed = {f"module.{key}": value for key, value in model.state_dict().items()}
    torch.save({"model": renamed, "step": 20}, folder / "ckpt-20.pt")
    return tmp_path


def compare(cli: Cli, root: Path, *names: str) -> dict[str, Any]:
    done = cli("compare-runs", *names, "--json", "--project", str(root))
    assert done.code == 0, done.err
    return dict(json.loads(done.out))


def row(answer: dict[str, Any], section: str, key: str) -> dict[str, Any]:
    return next(dict(one) for one in answer["differences"][section] if one["key"] == key)


def test_two_checkpoints_tell_step_state_names_and_numbers(cli: Cli, root: Path) -> None:
    answer = compare(cli, root, "runs/exp-42/ckpt-10.pt", "runs/exp-42/ckpt-20.pt")
    assert answer["run_ids"] == ["runs/exp-42/ckpt-10.pt", "runs/exp-42/ckpt-20.pt"]
    assert row(answer, "checkpoint", "step")["values"] == [10, 20]
    state = row(answer, "checkpoint", "state")["values"]
    assert state == ["has optimizer; lacks scheduler, rng, scaler, sampler", "weights only"]
    assert row(answer, "checkpoint", "renamed")["note"].startswith("weight = module.weight")
    assert row(answer, "values", "NaN or inf")["values"] == [None, 1]
    assert "module.bias (1 NaN, 0 inf)" in answer["verdict"]


def test_a_checkpoint_compared_with_itself_has_the_same_numbers(cli: Cli, root: Path) -> None:
    answer = compare(cli, root, "runs/exp-42/ckpt-10.pt", "runs/exp-42/ckpt-10.pt")
    assert answer["verdict"] == "All numbers are the same."


def test_one_checkpoint_is_looked_through(cli: Cli, root: Path) -> None:
    assert compare(cli, root, "runs/exp-42/ckpt-10.pt")["verdict"] == "Nothing is damaged, NaN or all zero."


def test_a_hostile_checkpoint_is_named_and_does_nothing(cli: Cli, root: Path) -> None:
    class Evil:
        def __reduce__(self) -> tuple[Any, tuple[str]]:
            return os.system, (f"touch {root / 'trace'}",)

    torch.save({"model": {"w": torch.ones(1)}, "x": Evil()}, root / "runs" / "evil.pt")
    answer = compare(cli, root, "runs/evil.pt")
    assert answer["verdict"].startswith("Hostile: loading it would run posix.system. Do not load it")
    assert not (root / "trace").exists()


def test_a_foreign_file_is_one_clear_line(cli: Cli, root: Path) -> None:
    (root / "runs" / "page.pt").write_bytes(b"<html>404</html>")
    done = cli("compare-runs", "runs/page.pt", "--project", str(root))
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("experiment-debugger: page.pt: expected a checkpoint; found HTML or XML")


@pytest.mark.anyio
async def test_over_mcp_a_checkpoint_outside_the_project_is_refused(
    root: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = tmp_path_factory.mktemp("outside") / "a.pt"
    torch.save({"w": torch.ones(1)}, outside)
    monkeypatch.setenv("EXPERIMENT_DEBUGGER_PROJECT", str(root))
    async with Client(build_server()) as client:
        refused = await client.call_tool("compare_runs", {"run_ids": [str(outside)]})
        assert refused.is_error
        allowed = await client.call_tool("compare_runs", {"run_ids": ["runs/exp-42/ckpt-10.pt"]})
        assert not allowed.is_error
        numbers = await client.call_tool("compare_runs", {"run_ids": [42, "exp-42"]})
        assert not numbers.is_error


def test_the_context_of_a_run_says_what_its_checkpoints_hold(cli: Cli, root: Path) -> None:
    (root / "runs" / "exp-42" / "ckpt-30.pt").write_bytes((root / "runs/exp-42/ckpt-20.pt").read_bytes()[:500])
    done = cli("gather-run-context", "exp-42", "--json", "--project", str(root))
    found = {one["path"]: one for one in json.loads(done.out)["artifacts"]}
    first = found["runs/exp-42/ckpt-10.pt"]
    assert first["step"] == 10
    assert first["state"] == {"optimizer": True, "scheduler": False, "rng": False, "scaler": False, "sampler": False}
    assert "damage" not in first
    assert "cut short" in found["runs/exp-42/ckpt-30.pt"]["damage"]
