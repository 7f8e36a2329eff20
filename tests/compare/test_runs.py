"""compare-runs on pairs of real runs: each differs in one known thing, and that is what the comparison names."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from samples import Cli, write

pytest.importorskip("torch")

TRAIN = """\
import argparse
import random
from pathlib import Path

import torch
import yaml

parser = argparse.ArgumentParser()
parser.add_argument("--run", required=True)
parser.add_argument("--config", default="configs/base.yaml")
parser.add_argument("--lr", type=float)
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--resume")
parser.add_argument("--load")
parser.add_argument("--quirk", default="none")
options = parser.parse_args()
config = yaml.safe_load(Path(options.config).read_text())
out = Path("runs") / options.run
out.mkdir(parents=True)
(out / "config.yaml").write_text(yaml.safe_dump({**config, "seed": options.seed}))
log = open(out / "train.log", "w", buffering=1)


def say(text):
    log.write(text + "\\n")


said = f"$ python train.py --config {options.config} --run {options.run}"
say(said + (f" --lr {options.lr}" if options.lr else ""))
say(f"seed: {options.seed}")
names = {"cat", "dog", "eel", "fox", "gnu"}
order = sorted(names) if options.quirk != "set-order" else list(names)
if options.quirk == "set-order":  # what PYTHONHASHSEED does between two processes
    random.shuffle(order)
say(f"classes: {dict((name, index) for index, name in enumerate(order))}")
if options.quirk != "seed-after-init":
    torch.manual_seed(options.seed)
model = torch.nn.Linear(6, 5)
torch.manual_seed(options.seed)
data = torch.randn(64, 6)
labels = torch.tensor([order.index(sorted(names)[i % 5]) for i in range(64)])
optimizer = torch.optim.SGD(model.parameters(), lr=options.lr or config["optimizer"]["lr"])
start = 0
if options.load:
    say(f"Loading checkpoint {options.load}")
    state = torch.load(options.load, weights_only=True)["model"]
    if options.quirk == "renamed-keys":
        state = {f"module.{key}": value for key, value in state.items()}
    missing, unexpected = model.load_state_dict(state, strict=False)
    if missing:
        say(f"WARNING: {len(missing)} parameters not found in the checkpoint: {missing}")
if options.resume:
    say(f"Resuming from checkpoint {options.resume}")
    saved = torch.load(options.resume, weights_only=True)
    model.load_state_dict(saved["model"])
    start = saved["step"]
for step in range(start + 1, config["steps"] + 1):
    if options.quirk == "late" and step == 20:
        torch.seed()  # as a library that draws from the system does
    batch = torch.randperm(64)[:16]
    loss = torch.nn.functional.cross_entropy(model(data[batch]), labels[batch])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    say(f"step {step}/{config['steps']} loss {loss.item():.5f}")
    if step % 10 == 0:
        torch.save({"model": model.state_dict(), "step": step}, out / f"ckpt-{step}.pt")
say("Training finished")
"""
CONFIG = "optimizer:\n  lr: 0.1\nmodel:\n  width: 5\nsteps: 30\n"


@dataclass(frozen=True)
class Lab:
    """A project in which runs are really run, and the verb on them."""

    root: Path
    cli: Cli

    def run(self, name: str, *options: str, **files: str) -> None:
        argv = [sys.executable, "train.py", "--run", name, *options]
        done = subprocess.run(argv, cwd=self.root, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        for file, text in files.items():
            write(self.root / "runs" / name / file.replace("_", "."), text)

    def compare(self, *arguments: str) -> dict[str, Any]:
        done = self.cli("compare-runs", *arguments, "--json", "--project", str(self.root))
        assert done.code == 0, done.err
        return dict(json.loads(done.out))


@pytest.fixture
def lab(tmp_path: Path, cli: Cli) -> Lab:
    write(tmp_path / "train.py", TRAIN)
    write(tmp_path / "configs" / "base.yaml", CONFIG)
    (tmp_path / ".git").mkdir()
    return Lab(tmp_path, cli)


def keys(answer: dict[str, Any], section: str) -> dict[str, list[Any]]:
    return {one["key"]: one["values"] for one in answer["differences"].get(section, ())}


def test_a_run_compared_with_itself_or_its_twin_shows_nothing(lab: Lab) -> None:
    for name in ("exp-1", "exp-2"):
        lab.run(name)
    for pair in (("exp-1", "exp-1"), ("exp-1", "exp-2")):
        answer = lab.compare(*pair)
        assert answer["differences"] == {}, answer
        assert "first_divergence" not in answer
        assert answer["verdict"] == "No difference found."


def test_a_seed_that_is_set_after_the_model_is_an_open_start(lab: Lab) -> None:
    for name in ("exp-1", "exp-2"):
        lab.run(name, "--quirk", "seed-after-init")
    answer = lab.compare("exp-1", "exp-2")
    assert answer["first_divergence"]["step"] == 1
    assert "equal_up_to" not in answer["first_divergence"]
    assert "Initialisation or data order" in answer["verdict"]


def test_an_order_that_comes_from_a_set_is_seen_in_the_log(lab: Lab) -> None:
    for name in ("exp-1", "exp-2"):
        lab.run(name, "--quirk", "set-order")
    answer = lab.compare("exp-1", "exp-2")
    assert "runs/exp-2/train.log:3 differs before the first step" in answer["verdict"]
    first, second = answer["differences"]["log"][:2]
    assert (first["path"], second["path"], second["line"]) == ("runs/exp-1/train.log", "runs/exp-2/train.log", 3)
    assert first["quote"] != second["quote"]


def test_random_numbers_that_no_seed_sets_part_the_runs_later(lab: Lab) -> None:
    for name in ("exp-1", "exp-2"):
        lab.run(name, "--quirk", "late")
    answer = lab.compare("exp-1", "exp-2")
    assert (answer["first_divergence"]["equal_up_to"], answer["first_divergence"]["step"]) == (19, 20)
    assert "--try deterministic" in answer["verdict"]


def test_a_resume_without_its_state_is_named(lab: Lab) -> None:
    lab.run("exp-1")
    lab.run("exp-2", "--resume", "runs/exp-1/ckpt-10.pt")
    answer = lab.compare("exp-1", "exp-2")
    assert answer["first_divergence"]["step"] == 11
    assert "One of them was resumed" in answer["verdict"]


def test_another_package_is_the_environment(lab: Lab) -> None:
    lab.run("exp-1", requirements_txt="torch==2.1.2\nnumpy==1.26.4\nonly-here==1.0\n")
    lab.run("exp-2", "--quirk", "late", requirements_txt="numpy==1.26.4\ntorch==2.2.0+cu121\n")
    answer = lab.compare("exp-1", "exp-2")
    assert keys(answer, "environment") == {"torch": ["2.1.2", "2.2.0+cu121"]}
    assert "the environment differs: torch 2.1.2 | 2.2.0+cu121" in answer["verdict"]


def test_a_setting_that_the_command_line_overrides_is_found(lab: Lab) -> None:
    lab.run("exp-1")
    lab.run("exp-2", "--lr", "0.5")
    answer = lab.compare("exp-1", "exp-2")
    assert keys(answer, "command")["lr"] == [None, "0.5"]
    assert answer["verdict"].startswith("Not the same experiment: lr not set | 0.5.")


def test_a_config_is_compared_by_its_keys(lab: Lab) -> None:
    lab.run("exp-1")
    write(lab.root / "configs" / "base.yaml", "steps: 30\nmodel: {width: 5}\noptimizer: {lr: 1.0e-2}\n")
    lab.run("exp-2")
    assert keys(lab.compare("exp-1", "exp-2"), "config") == {"optimizer.lr": ["0.1", "0.01"]}


def test_another_checkpoint_and_parameters_that_were_not_loaded(lab: Lab) -> None:
    lab.run("exp-0")
    lab.run("exp-1", "--load", "runs/exp-0/ckpt-10.pt")
    lab.run("exp-2", "--load", "runs/exp-0/ckpt-20.pt")
    lab.run("exp-3", "--load", "runs/exp-0/ckpt-10.pt", "--quirk", "renamed-keys")
    other = lab.compare("exp-1", "exp-2")
    assert keys(other, "checkpoint") == {"loaded": ["runs/exp-0/ckpt-10.pt", "runs/exp-0/ckpt-20.pt"]}
    assert "They start from different checkpoints" in other["verdict"]
    renamed = lab.compare("exp-1", "exp-3")
    assert renamed["differences"]["log"][0]["quote"].startswith("WARNING: 2 parameters not found")


def test_runs_of_several_seeds_give_a_band(lab: Lab) -> None:
    for seed in "123":
        lab.run(f"exp-{seed}", "--seed", seed)
    lab.run("exp-9", "--seed", "1", "--lr", "50")
    answer = lab.compare("exp-1", "exp-2", "exp-3", "exp-9")
    assert answer["verdict"].startswith("Not the same experiment: lr")
    (band,) = answer["differences"]["metrics"]
    assert band["note"].startswith("3 seeds at 30: ")
    assert band["note"].endswith("; beyond: exp-9")
    assert lab.compare("exp-1", "exp-2")["verdict"].startswith("Only the seed differs: ")


def test_the_last_good_run_is_the_newest_healthy_one_of_its_kind(lab: Lab) -> None:
    lab.run("exp-1")
    lab.run("exp-2", "--lr", "0.2")
    failed = (lab.root / "runs" / "exp-2" / "train.log").read_text(encoding="utf-8").splitlines()[:15]
    write(lab.root / "runs" / "exp-2" / "train.log", "\n".join([*failed, "RuntimeError: CUDA error: unspecified", ""]))
    lab.run("exp-3", "--lr", "0.5")
    answer = lab.compare("--last-good", "exp-3")
    assert answer["run_ids"] == ["exp-1", "exp-3"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "expected two or more runs, or --last-good RUN; found 0"),
        (("exp-1",), "found 1"),
        (("exp-1", "exp-7"), "expected a run 'exp-7'"),
        (("--last-good", "exp-1"), "expected a healthy run like exp-1 among the 0 newest"),
    ],
)
def test_bad_input_is_one_clear_line(lab: Lab, arguments: tuple[str, ...], words: str) -> None:
    lab.run("exp-1")
    done = lab.cli("compare-runs", *arguments, "--project", str(lab.root))
    assert (done.code, done.out) == (2, "")
    assert words in done.err
    assert done.err.count("\n") == 1
