"""Real torch scripts: each failure is reproduced, each fix proven, and what misbehaves is contained."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path
from typing import Any

import pytest
from samples import Cli, write
from smoke_endings import environment
from smoke_projects import NASTY, RECIPES, Project, build
from smoke_runs import commit, git, processes_of

MEMORY = {"EXPERIMENT_DEBUGGER_MEMORY_MB": "1200"}
SECONDS = {"hang": "22"}


def smoke(cli: Cli, root: Path, *words: str, env: dict[str, str] | None = None) -> Any:
    command = list(words)
    at = command.index("--") if "--" in command else len(command)
    command[at:at] = ["--project", str(root), "--json", "--yes"]
    done = cli("run-smoke-test", *command, env={**environment(), **(env or {})}, cwd=root)
    assert done.code == 0, done.err
    assert not processes_of(done.data["id"])
    assert git(root, "worktree", "list").count("\n") == 0
    return done.data


def digests(root: Path) -> dict[str, str]:
    """The files that the run has left."""
    files = (path for folder in ("outputs", "logs") for path in sorted((root / folder).rglob("*")) if path.is_file())
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.mark.parametrize("name", RECIPES)
def test_a_real_failure_is_reproduced_and_its_fix_proven(cli: Cli, tmp_path: Path, name: str) -> None:
    project = build(name, tmp_path / "project")
    before = digests(project.root)
    bound = ("--seconds", SECONDS.get(name, "45"))
    broken = smoke(cli, project.root, "42", *bound, env=MEMORY)
    assert (broken["verdict"], broken["proves"]) == ("reproduced", "the failure"), broken["summary"]
    assert (broken["commit"], broken["dirty"]) == (project.broken, False)
    assert broken["diagnosis"]["modes"][0]["mode"] == project.fails.mode
    fixed = smoke(cli, project.root, "42", "--at", "HEAD", *bound, env=MEMORY)
    assert (fixed["verdict"], fixed["proves"]) == ("passed", "the fix"), fixed["summary"]
    assert fixed["commit"] == project.fixed
    assert fixed["probes"]["optimizer_steps"] > 0
    assert digests(project.root) == before


@pytest.fixture(scope="module")
def late(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return build("late-nan", tmp_path_factory.mktemp("late") / "project")


def test_a_late_failure_is_not_disproven_by_early_steps(cli: Cli, late: Project) -> None:
    data = smoke(cli, late.root, "42", "--at", "HEAD", "--steps", "50")
    assert (data["verdict"], data["proves"]) == ("inconclusive", "nothing")
    assert data["probes"]["stopped_at"] == 50
    assert "onset" in data["summary"]


def test_state_near_the_onset_may_be_restored(cli: Cli, late: Project) -> None:
    before = digests(late.root)
    command = ("python", "train.py", "--data", "data/sensor.csv", "--out", "outputs/42", "--steps", "400")
    data = smoke(cli, late.root, "42", "--resume", "outputs/42/best.pt", "--", *command)
    assert data["verdict"] == "reproduced", data["summary"]
    resumed = data["argv"][data["argv"].index("--resume") + 1]
    assert resumed.endswith("outputs/42/best.pt")
    assert not resumed.startswith(str(late.root))  # a copy: the script may write beside it
    assert digests(late.root) == before


def test_one_change_speaks_for_or_against_and_is_no_fix(cli: Cli, late: Project) -> None:
    data = smoke(cli, late.root, "42", "--try", "lr/10", "fp32")
    assert data["verdict"] == "reproduced"
    rate, precision = data["isolations"]
    assert (rate["change"], rate["speaks"]) == ("lr/10", "against"), rate
    assert (precision["change"], precision["speaks"]) == ("fp32", "nothing"), (
        precision
    )  # there is no autocast to switch off


def test_memory_against_batch_size_is_fitted(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path / "train.py", GROWS_WITH_BATCH)
    git(tmp_path, "init", "--quiet")
    commit(tmp_path, "train")
    data = smoke(cli, tmp_path, "--try", "half-batch", "--", "python", "train.py", "--batch_size", "4096")
    (half,) = data["isolations"]
    assert "MiB a sample" in half["says"], half
    assert "--batch_size 2048" not in " ".join(data["argv"])


GROWS_WITH_BATCH = """\
import argparse
import time
import torch

torch.set_num_threads(1)
parser = argparse.ArgumentParser()
parser.add_argument("--batch_size", type=int)
size = parser.parse_args().batch_size
model = torch.nn.Sequential(torch.nn.Linear(64, 4096), torch.nn.ReLU(), torch.nn.Linear(4096, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for step in range(1, 31):
    loss = model(torch.randn(size, 64)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step {step}/30 loss {loss.item():.4f}", flush=True)
    time.sleep(0.1)
"""


@pytest.fixture
def nasty(tmp_path: Path) -> Path:
    for name, source in NASTY.items():
        write(tmp_path / name, source)
    git(tmp_path, "init", "--quiet")
    commit(tmp_path, "nasty")
    return tmp_path


@pytest.mark.parametrize(
    ("argv", "verdict", "says"),
    [
        (("python", "forks-daemon.py"), "passed", ""),
        (("python", "ignores-sigterm.py"), "timed-out", "wall clock"),
        (("python", "reads-stdin.py"), "different-failure", "EOF"),
        (("python", "exits-early.py"), "inconclusive", "step"),
        (("python", "trains-silently.py"), "passed", ""),
        (("python", "numpy-loop.py"), "passed", ""),
        (("python", "missing-module.py"), "different-failure", "module"),
        (("python", "missing-data.py", "--data", "data/corpus.bin"), "inconclusive", "data/corpus.bin"),
        (("bash", "isolated.sh"), "inconclusive", "probe"),
        (("bash", "exports-pythonpath.sh"), "inconclusive", "probe"),
        (("python", "-I", "trains-silently.py"), "passed", ""),
        (("nowhere-to-be-found",), "inconclusive", "could not be started"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, tuple) else None,
)
def test_nasty_scripts_get_an_honest_verdict(
    cli: Cli, nasty: Path, argv: tuple[str, ...], verdict: str, says: str
) -> None:
    data = smoke(cli, nasty, "--seconds", "12", "--", *argv)
    assert data["verdict"] == verdict, data
    assert says.lower() in str(data).lower()
    assert data["proves"] == "nothing"


def test_a_flood_is_bounded(cli: Cli, nasty: Path) -> None:
    data = smoke(cli, nasty, "--seconds", "40", "--", "python", "floods-stdout.py")
    log = nasty / data["records"] / "console.log"
    assert log.stat().st_size < 80 << 20
    assert data["resources"]["output_bytes_left_out"] > 800_000_000


@pytest.mark.parametrize("how", ["save", "replace", "unlink", "truncate"])
def test_the_checkpoint_of_the_run_is_out_of_reach(cli: Cli, late: Project, how: str) -> None:
    """In place there is no copy: what protects the run then is the guard inside the process."""
    checkpoint = late.root / "outputs" / "42" / "last.pt"
    write(late.root / "nasty.py", NASTY["overwrites-checkpoint.py"])
    before = digests(late.root)
    data = smoke(cli, late.root, "42", "--in-place", "--", "python", "nasty.py", how, str(checkpoint))
    (late.root / "nasty.py").unlink()
    assert data["verdict"] == "inconclusive", data["summary"]
    assert "artifact" in data["summary"]
    assert {path: digest for path, digest in digests(late.root).items() if path in before} == before
    assert data["artifacts"].startswith("unchanged")


def test_the_copy_lies_in_the_cache_and_is_gone_afterwards(cli: Cli, late: Project, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    data = smoke(cli, late.root, "42", "--steps", "3", env={"XDG_CACHE_HOME": str(cache)})
    assert data["probes"]["stopped_at"] == 3
    assert not list(cache.rglob("train.py"))
    shutil.rmtree(cache)
