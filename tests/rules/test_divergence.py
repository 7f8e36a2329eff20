"""A loss that leaves for good, and the many that only look like it."""

from __future__ import annotations

import math
import time
from pathlib import Path

import pytest
from curve_runs import decay, judge, level, roots, tracked

from experiment_debugger.rules.rulebook import load_rulebook

HEALTHY = {
    "falls": {"loss": decay(200)},
    "spike": {"loss": [*decay(100), 9.0, 7.0, 3.0, *level(97, 0.41)]},
    "warm restart": {"loss": [*decay(80), *decay(80, 1.0, 0.3), *decay(80, 0.9, 0.25)]},
    "new task": {"loss": [*decay(80), *decay(80), *decay(80)]},
    "curriculum": {"loss": [*decay(100), *level(100, 1.2)]},
    "fine-tuning": {"loss": decay(200, 0.52, 0.5, 0.05)},
    "over-fitted language model that wanders": {"loss": [*decay(100, 3.0, 2.5, 0.2), *level(100, 2.7, 0.2)]},
    "negative": {"loss": [-0.7 * i / 200 for i in range(200)]},
    "generator": {"loss_g": [*decay(100), *level(100, 30.0, 3.0)], "loss_d": level(200, 0.6, 0.2)},
    "agent": {"train/loss": [*decay(60, 0.5, 0.01, 0.001), *level(140, 12.0, 3.0)], "ep_rew_mean": level(200, 90.0)},
    "queue that fills": {"loss": [*(9.0 - 7 * math.exp(-i / 9) for i in range(60)), *decay(140, 9.0, 7.0)]},
    "kl that is annealed": {"loss": [*decay(60, 1.0, 0.4, 0.01), *level(140, 0.8, 0.02)]},
    "range test": {"loss": [*decay(120), *level(80, 60.0)], "lr": [1e-7 * 1.1**i for i in range(200)]},
    "values of actions": {"loss": [*decay(60, 0.5, 0.01, 0.001), *level(140, 12.0, 3.0)], "q_mean": level(200, 9.0)},
    "one term": {"loss": decay(200), "loss/reg": [*decay(100, 0.5, 0.1, 0.01), *level(100, 4.0)]},
    "constant": {"loss": [0.7] * 200},
    "huge": {"loss": [value * 1e30 for value in decay(200)]},
    "three points": {"loss": [2.0, 0.5, 90.0]},
    "classes that grow": {
        "loss": [*decay(70, 2.1, 0.4), *decay(70, 3.5, 1.9)],
        "curriculum/num_classes": [*[8.0] * 70, *[32.0] * 70],
    },
    "weight of a term that grows": {
        "loss": [*decay(60, 1.0, 0.1, 0.01), *level(140, 2.0, 0.02)],
        "beta": [min(1.0, max(0.0, (i - 50) / 20)) for i in range(200)],
    },
    "stages": {"loss": [*decay(60, 2.1, 0.4), *decay(60, 3.4, 1.2), *decay(60, 4.1, 2.0)]},
    "rises at the very end": {"loss": [*decay(195), *level(5, 60.0)]},
}


@pytest.mark.parametrize("name", HEALTHY)
def test_a_loss_that_comes_back_or_means_something_else_has_not_diverged(name: str, tmp_path: Path) -> None:
    findings, _ = judge(tmp_path, HEALTHY[name])
    assert roots(findings) == []


def test_a_loss_far_above_its_start_names_the_step_at_which_it_left(tmp_path: Path) -> None:
    findings, diagnosis = judge(tmp_path, {"train/loss": [*decay(120), *level(80, 60.0, 5.0)]})
    assert findings["loss-diverged"].position.step == 1200
    assert findings["loss-diverged"].level == "error"
    assert diagnosis.modes[0].mode == "nan-gradient"


def test_a_loss_that_lost_all_it_had_learned_is_a_suspicion(tmp_path: Path) -> None:
    findings, _ = judge(tmp_path, {"train/loss": [*decay(120), *level(80, 2.31)]})
    assert findings["loss-diverged"].position.step == 1200
    assert findings["loss-diverged"].level == "warning"


def test_a_loss_that_lost_half_counts_only_with_its_gradient(tmp_path: Path) -> None:
    loss = [*decay(120, 11.0, 3.0), *level(80, 7.5)]
    quiet, _ = judge(tmp_path / "quiet", {"loss": loss, "grad_norm": level(200, 0.5, 0.05)})
    loud = [*level(119, 0.5, 0.05), 40.0, *level(80, 0.3, 0.05)]
    moved, _ = judge(tmp_path / "loud", {"loss": loss, "grad_norm": [*loud[:119], 0.6, 40.0, *loud[121:]]})
    assert "loss-diverged" not in quiet
    assert moved["loss-diverged"].position.step == 1200


@pytest.mark.parametrize(
    "config", ["curriculum:\n  stages: [8, 32]\n", "unfreeze_epoch: 3\n", "kl_anneal_steps: 900\n"]
)
def test_a_planned_change_of_the_objective_clears_a_moderate_rise_only(config: str, tmp_path: Path) -> None:
    moderate = {"train/loss": [*decay(120), *level(80, 6.0)]}
    planned, _ = judge(tmp_path / "planned", moderate, config=config)
    plain, _ = judge(tmp_path / "plain", moderate, config="curriculum: false\n")
    extreme, _ = judge(tmp_path / "extreme", {"train/loss": [*decay(120), *level(80, 60.0)]}, config=config)
    assert "loss-diverged" not in planned
    assert "loss-diverged" in plain
    assert "loss-diverged" in extreme


def test_numbers_of_the_title_stand_at_the_points_that_are_quoted(tmp_path: Path) -> None:
    loss = [*decay(120), *level(80, 60.0, 5.0)]
    finding = judge(tmp_path, {"train/loss": loss})[0]["loss-diverged"]
    told = (loss[120], loss[0], min(loss[:120]), loss[-1])
    assert {point.value for point in finding.evidence} == set(told)
    first, lowest, last = (f"{value:.4g}" for value in told[1:])
    assert finding.title == (
        f"train/loss rose to {told[0]:.4g} and stayed high: first {first}, lowest {lowest}, last {last}"
    )


def test_a_learning_rate_that_rose_to_the_onset_is_the_cause(tmp_path: Path) -> None:
    rate = [1e-4 * (1 + i) for i in range(200)]
    _, diagnosis = judge(tmp_path, {"loss": [*decay(120), *level(80, 60.0)], "lr": rate})
    assert diagnosis.modes[0].cause == "learning-rate-too-high-or-no-warmup"
    assert "learning-rate-rose-before-divergence" in diagnosis.modes[0].rules


def test_an_evaluation_that_improves_clears_the_loss(tmp_path: Path) -> None:
    evaluation = [None if i % 10 else 2.3 - 0.009 * i for i in range(200)]
    findings, _ = judge(tmp_path, {"train/loss": [*decay(120), *level(80, 60.0)], "val/loss": evaluation})
    assert "loss-diverged" not in findings


def test_a_million_points_take_less_than_a_second() -> None:
    evidence = tracked({"train/loss": [*decay(60_000), *level(40_000, 60.0)] + [60.0] * 900_000})
    book = load_rulebook()
    rules = (
        "loss-diverged",
        "loss-never-learned",
        "loss-flat",
        "loss-plateau",
        "loss-spike-recovered",
        "loss-nan-onset",
    )
    began = time.process_time()
    found = [finding for rule in rules for finding in book.detectors[rule].check(evidence, book)]
    assert time.process_time() - began < 1.0
    assert [(finding.rule, finding.position.step) for finding in found] == [("loss-diverged", 60_000)]
