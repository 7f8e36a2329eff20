"""What a resume lost, next to resumes, folds and stages that lost nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import pytest
from curve_runs import decay, judge, level, roots
from event_files import files_of, numbered

RULES = {"resume-loss-jump", "learning-rate-restarted"}


def log_of(folder: Path, *parts: Sequence[float], between: str, key: str = "loss") -> Path:
    step, text = 0, ""
    for number, part in enumerate(parts):
        text += between.format(step=step) if number else ""
        for value in part:
            text += (
                f"step {step:5d} | loss {value:.4f} | lr 1.0e-03\n"
                if key == "loss"
                else f"step {step:5d} | loss 1.1 | lr {value:.4g}\n"
            )
            step += 1
    path = folder / "logs" / "run-42" / "train.log"
    path.parent.mkdir(parents=True)
    path.write_text(text + "Training finished.\n", encoding="utf-8")
    return folder


def found(folder: Path) -> set[str]:
    return RULES & set(roots(judge(folder, {"unrelated": [1.0, 2.0]})[0]))


FIRST, AGAIN = decay(120), decay(100)
GOES_ON = level(100, 0.42)
RESUMED = "resumed at step {step}\n"


def test_weights_that_were_not_loaded_show_at_the_new_event_file(tmp_path: Path) -> None:
    findings, diagnosis = judge(
        files_of(tmp_path, "train/loss", numbered(FIRST), numbered(AGAIN, 120)), {"unrelated": [1.0, 2.0]}
    )
    assert (findings["resume-loss-jump"].position.step, findings["resume-loss-jump"].level) == (120, "error")
    assert diagnosis.modes[0].mode == "repro-failure"


def test_a_resume_that_goes_back_to_the_last_checkpoint(tmp_path: Path) -> None:
    folder = files_of(tmp_path, "train/loss", numbered(FIRST), numbered(AGAIN, 90))
    findings, _ = judge(folder, {"unrelated": [1.0, 2.0]})
    assert findings["resume-loss-jump"].position.step == 90


def test_a_line_of_the_log_is_a_sign_too(tmp_path: Path) -> None:
    assert found(log_of(tmp_path, FIRST, AGAIN, between=RESUMED)) == {"resume-loss-jump"}


HEALTHY = {
    "goes on": (FIRST, GOES_ON),
    "a few steps for the moments of the optimizer": (FIRST, [0.9, 0.8, 0.7, 0.6, *GOES_ON]),
    "three points": (FIRST[:3], AGAIN[:3]),
    "stopped before it learned": (level(30, 2.3), AGAIN),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_a_resume_that_lost_nothing_is_no_alarm(name: str, tmp_path: Path) -> None:
    first, second = HEALTHY[name]
    folder = files_of(tmp_path, "train/loss", numbered(first), numbered(second, len(first)))
    assert found(folder) == set()


def test_folds_and_new_starts_are_no_resumes(tmp_path: Path) -> None:
    assert found(files_of(tmp_path / "folds", "train/loss", *[numbered(FIRST)] * 4)) == set()
    steps = [10 * i for _ in range(4) for i in range(120)]
    findings, _ = judge(tmp_path / "table", {"loss": [*FIRST] * 4}, steps=steps)
    assert not RULES & set(roots(findings))


def test_a_jump_without_a_sign_of_a_resume_is_none(tmp_path: Path) -> None:
    assert found(log_of(tmp_path, FIRST, AGAIN, between="epoch 3 done\n")) == set()


def test_a_loss_that_drops_at_the_resume_is_a_fact(tmp_path: Path) -> None:
    folder = files_of(tmp_path, "train/loss", numbered(decay(120, end=1.2)), numbered(level(60, 0.8), 120))
    findings, _ = judge(folder, {"unrelated": [1.0, 2.0]})
    assert findings["resume-data-repeat"].role == "context"
    assert not RULES & set(roots(findings))


def schedule(step: int, warm: int = 40, steps: int = 480) -> float:
    if step < warm:
        return 0.01 * step / warm
    return 0.005 * (1 + math.cos(math.pi * (step - warm) / (steps - warm)))


def test_a_schedule_that_starts_anew_at_the_resume(tmp_path: Path) -> None:
    first = [schedule(step) for step in range(300)]
    again = [schedule(step) for step in range(180)]
    findings, _ = judge(files_of(tmp_path / "tb", "lr", numbered(first), numbered(again, 300)), {"x": [1.0, 2.0]})
    assert findings["learning-rate-restarted"].position.step == 300
    log = log_of(tmp_path / "log", first, again, between=RESUMED, key="lr")
    assert found(log) == {"learning-rate-restarted"}


def test_schedules_that_go_on_or_come_back_by_themselves_are_no_restarts(tmp_path: Path) -> None:
    whole = [schedule(step) for step in range(480)]
    assert found(files_of(tmp_path / "goes on", "lr", numbered(whole[:300]), numbered(whole[300:], 300))) == set()
    rewarmed = [whole[300] * min(1.0, i / 20) for i in range(60)]
    assert found(files_of(tmp_path / "warms up", "lr", numbered(whole[:300]), numbered(rewarmed, 300))) == set()
    cycles = [0.005 * (1 + math.cos(math.pi * (step % 60) / 60)) for step in range(300)]
    assert found(files_of(tmp_path / "cycles", "lr", numbered(cycles[:170]), numbered(cycles[180:], 170))) == set()
    assert found(files_of(tmp_path / "new start", "lr", numbered(whole[:300]), numbered(whole))) == set()


def test_the_title_quotes_values_that_stand_at_its_points(tmp_path: Path) -> None:
    findings, _ = judge(
        files_of(tmp_path, "train/loss", numbered(FIRST), numbered(AGAIN, 120)), {"unrelated": [1.0, 2.0]}
    )
    found = findings["resume-loss-jump"]
    assert [item.step for item in found.evidence] == [120, 119, 0]
    told = [f"{float(str(item.value)):.4g}" for item in found.evidence]
    assert (
        found.title
        == f"train/loss is {told[0]} behind a new event file, after {told[1]}; at its start it was {told[2]}"
    )
