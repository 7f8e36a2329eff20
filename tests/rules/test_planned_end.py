"""Ends that a log does not call one: its plan is met, or its last lines are results of the whole run."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest
from curve_runs import collector, decay
from samples import write

from experiment_debugger.diagnose.engine import diagnose_evidence
from experiment_debugger.models import Diagnosis
from experiment_debugger.project import find_project
from experiment_debugger.readers.last_report import stands_at_step, times_said
from experiment_debugger.rules.rulebook import load_rulebook
from experiment_debugger.run import resolve

HEALTHY = Path(__file__).parents[1] / "artifacts" / "healthy" / "projects"
RUNS = json.loads((HEALTHY / "expected.json").read_text(encoding="utf-8"))
CUT = [
    *(
        (name, share)
        for name in ("accelerate-launch", "torch-overfit", "torch-char-lm-errors")
        for share in (0.3, 0.6, 0.9)
    ),
    *(
        (name, share)
        for name in ("torch-class-names", "torch-profiler", "keras-verbose1", "trl-sft")
        for share in (0.3, 0.6)
    ),
]
"""Runs and the share of their log that is kept; the last tenth of the others begins behind their last report."""
LONG_AGO = 1_700_000_000


def judge(folder: Path, log: str, *, config: str = "seed: 1\n", command: str = "") -> Diagnosis:
    """The diagnosis of run 42, whose log was written long ago."""
    write(folder / "logs" / "run-42.log", log)
    write(folder / "logs" / "run-42" / "config.yaml", config)
    if command:
        write(folder / "jobs" / "run-42.sh", f"#!/bin/bash\n{command}\n")
    for path in folder.rglob("*"):
        os.utime(path, (LONG_AGO, LONG_AGO))
    return diagnose_evidence(collector().run(resolve(find_project(folder, folder, {}), "42")), load_rulebook())


def counted(steps: range, total: int = 600) -> str:
    return "".join(f"[{step}/{total}] loss={loss:.4f}\n" for step, loss in zip(steps, decay(len(steps)), strict=True))


def epochs(numbers: range, of: str = "") -> str:
    losses = decay(len(numbers))
    return "".join(
        f"Epoch: {number}{of} | Train Loss: {loss:.4f}\n" for number, loss in zip(numbers, losses, strict=True)
    )


def batches(last: int) -> str:
    return "".join(
        f"[Epoch {epoch}/10] [Batch {batch}/60] [D loss: {1.3 + batch % 7 / 100:.4f}]\n"
        for epoch in range(10)
        for batch in range(0, 60, 15)
        if epoch < 9 or batch <= last
    )


ENDS = {
    "counted from 0": counted(range(0, 600, 25)),
    "counted from 1": counted(range(25, 601, 25)),
    "batches from 0": batches(45),
    "epochs from 0": epochs(range(10), "/10"),
    "epochs from 1": epochs(range(1, 11), "/10"),
}
STOPS = {
    "step 550 of 600": counted(range(0, 575, 25)),
    "step 575 of 600": counted(range(25, 600, 25)),
    "step 570 of 600": batches(30),
    "epoch 8 of 10": epochs(range(9), "/10"),
    "epoch 9 of 10": epochs(range(1, 10), "/10"),
}


@pytest.mark.parametrize("log", ENDS.values(), ids=ENDS)
def test_the_last_report_of_a_plan_is_its_end(tmp_path: Path, log: str) -> None:
    assert judge(tmp_path, log).verdict == "healthy"


@pytest.mark.parametrize(("place", "log"), STOPS.items(), ids=STOPS)
def test_a_log_that_stops_before_says_where(tmp_path: Path, place: str, log: str) -> None:
    diagnosis = judge(tmp_path, log)
    assert diagnosis.verdict == "inconclusive"
    assert f"the log stops at {place}" in diagnosis.summary


def test_a_line_that_breaks_off_is_no_end(tmp_path: Path) -> None:
    assert judge(tmp_path, counted(range(0, 600, 25)).rstrip("\n")[:-2]).verdict == "inconclusive"


def test_where_no_plan_is_known_nothing_is_said_of_mid_training(tmp_path: Path) -> None:
    diagnosis = judge(tmp_path, epochs(range(1, 31)))
    assert diagnosis.verdict == "inconclusive"
    assert "stops" not in diagnosis.summary
    assert "nothing shows whether more was planned" in diagnosis.summary


@pytest.mark.parametrize(
    ("config", "command", "verdict"),
    [
        ("epochs: 30\n", "", "healthy"),
        ("trainer: {max_epochs: 30}\n", "", "healthy"),
        ("epochs: 100\n", "python train.py --lr 0.1 --num-epochs 30", "healthy"),
        ("epochs: 100\n", "python train.py trainer.max_epochs=30", "healthy"),
        ("epochs: 31\n", "", "inconclusive"),
        ("epochs: 20\n", "", "inconclusive"),
        ("warmup_epochs: 30\n", "", "inconclusive"),
        ("sampler: {epochs: 30}\n", "", "inconclusive"),
        ("epochs: 30\n", "python train.py --epochs 40", "inconclusive"),
    ],
)
def test_the_plan_of_a_config_or_command_line(tmp_path: Path, config: str, command: str, verdict: str) -> None:
    assert judge(tmp_path, epochs(range(1, 31)), config=config, command=command).verdict == verdict


@pytest.mark.parametrize(
    ("config", "verdict"),
    [
        ("max_steps: 500\n", "healthy"),
        ("total_timesteps: 500\nnum_steps: 128\n", "healthy"),
        ("total_timesteps: 5000\nnum_steps: 500\n", "inconclusive"),
        ("max_steps: -1\n", "inconclusive"),
        ("max_iters: 600\n", "inconclusive"),
    ],
)
def test_the_planned_steps_of_a_config(tmp_path: Path, config: str, verdict: str) -> None:
    log = "".join(f"step {10 * index} loss {loss:.4f}\n" for index, loss in enumerate(decay(50)))
    assert judge(tmp_path, log, config=config).verdict == verdict


def test_folds_end_with_their_mean_and_not_with_the_first_of_them(tmp_path: Path) -> None:
    folds = epochs(range(1, 9), "/8") * 3
    assert judge(tmp_path / "a", folds).verdict == "inconclusive"
    assert judge(tmp_path / "b", epochs(range(1, 9)) * 3, config="epochs: 8\n").verdict == "inconclusive"
    assert judge(tmp_path / "c", folds + "mean acc over folds: 0.9399\n").verdict == "healthy"


@pytest.mark.parametrize(
    "line",
    [
        "Test accuracy: 97.31",
        "Test set results: loss= 0.6071 accuracy= 0.8350",
        "Final eval loss 0.4312",
        "Saved model to out/model.pt",
        "Model saved to out/model.safetensors",
        "saved encoder to enc.pt",
        "Training time 0:12:33",
        "Training took 12.3 s",
        "Total time elapsed: 13.2011s",
        "Best epoch: 17, val loss 0.4210",
    ],
)
def test_results_of_the_whole_run(tmp_path: Path, line: str) -> None:
    body = epochs(range(1, 31))
    assert judge(tmp_path / "once", f"{body}{line}\n").verdict == "healthy"
    periodic = "".join(f"{row}\n{line}\n" for row in body.splitlines())
    assert judge(tmp_path / "again", periodic).verdict != "healthy"
    early = "\n".join(body.splitlines()[:2])
    assert judge(tmp_path / "early", f"{early}\n{line}\n").verdict == "inconclusive"
    assert judge(tmp_path / "killed", f"{body}{line}\nreceived signal SIGTERM\n").verdict != "healthy"


@pytest.mark.parametrize(
    "line",
    [
        "Saved checkpoint to out/ckpt.pt",
        "saved model to out/model_30.pt",
        "New best model saved to out/best.pt",
        "Saving model to out/model.pt",
        "Test accuracy so far: 97.31",
        "loaded tokenizer",
    ],
)
def test_lines_that_come_again_are_no_end(tmp_path: Path, line: str) -> None:
    assert judge(tmp_path, f"{epochs(range(1, 31))}{line}\n").verdict == "inconclusive"


def test_a_saved_model_before_the_planned_end_is_no_end(tmp_path: Path) -> None:
    log = epochs(range(1, 31), "/100") + "Saved model to out/model.pt\n"
    assert judge(tmp_path / "log", log).verdict == "inconclusive"
    log = epochs(range(1, 31)) + "Saved model to out/model.pt\n"
    assert judge(tmp_path / "config", log, config="epochs: 100\n").verdict == "inconclusive"


@pytest.mark.parametrize(("name", "share"), CUT)
def test_a_real_log_that_is_cut_is_not_healthy(tmp_path: Path, name: str, share: float) -> None:
    run_id = str(RUNS[name]["run_id"])
    for source in (HEALTHY / name).rglob("*"):
        if not source.is_file() or source.suffix not in {".log", ".gz", ".yaml", ".sh", ".py"}:
            continue
        is_log = ".log" in source.name
        raw = gzip.decompress(source.read_bytes()) if source.suffix == ".gz" else source.read_bytes()
        rows = raw.splitlines(keepends=True)
        target = tmp_path / source.relative_to(HEALTHY / name)
        target = target.with_suffix("") if target.suffix == ".gz" else target
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(b"".join(rows[: max(1, int(share * len(rows)))]) if is_log else raw)
        os.utime(target, (LONG_AGO, LONG_AGO))
    evidence = collector().run(resolve(find_project(tmp_path, tmp_path, {}), run_id))
    fired = diagnose_evidence(evidence, load_rulebook()).checked.fired
    assert not {"planned-end-reached", "log-last-words-result"} & set(fired)
    assert not any(entry.progress.reached_plan for entry in evidence.files)


def test_an_irregular_or_sparse_count_has_no_next_report() -> None:
    assert not stands_at_step(0, [0, 40, 410, 590, 591], 640)
    assert not stands_at_step(0, [0, 200, 400], 600)
    assert stands_at_step(0, [*range(0, 600, 25)], 600)


def test_a_text_across_blocks_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "long.log"
    path.write_bytes(b"x" * ((1 << 20) - 3) + b"Test acc" + b"y" * 10)
    with path.open("rb") as stream:
        assert times_said(stream, b"Test acc", most=2) == 1
