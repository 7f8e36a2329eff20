"""An evaluation that stays at guessing while the training loss falls, and those that only look like it."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from curve_runs import Columns, decay, judge, level, roots

LN10 = math.log(10)
FALLING = decay(40, LN10, 1.6, 0.005)
AT_CHANCE: Columns = {"loss": FALLING, "val_loss": level(40, 2.32, 0.003), "val_accuracy": level(40, 0.1, 0.01)}
HEALTHY: dict[str, Columns] = {
    "the evaluation loss fell first": {**AT_CHANCE, "val_loss": [*decay(20, 2.31, 2.1), *level(20, 2.4)]},
    "the accuracy rose": {**AT_CHANCE, "val_accuracy": [0.1 + 0.005 * i for i in range(40)]},
    "one of two accuracies rose": {**AT_CHANCE, "val_top5/acc": level(40, 0.1, 0.01), "val_acc": level(40, 0.4, 0.01)},
    "training is at chance too": {**AT_CHANCE, "loss": level(40, LN10, 0.005)},
    "learned by heart": {**AT_CHANCE, "loss": decay(40, LN10, 0.01, 0.001)},
    "no accuracy": {key: values for key, values in AT_CHANCE.items() if key != "val_accuracy"},
    "two classes": {
        "loss": decay(40, 0.69, 0.5, 0.005),
        "val_loss": level(40, 0.695, 0.001),
        "val_acc": level(40, 0.5, 0.01),
    },
    "few evaluations": {key: values[:6] for key, values in AT_CHANCE.items()},
    "three points": {key: values[:3] for key, values in AT_CHANCE.items()},
    "with nan": {**AT_CHANCE, "val_loss": [math.nan if i % 5 == 0 else LN10 for i in range(40)]},
    "huge": {**AT_CHANCE, "val_loss": [1e300] * 40},
    "agent": {**AT_CHANCE, "ep_rew_mean": level(40, 1.0)},
}


def test_an_evaluation_at_chance_next_to_a_falling_loss(tmp_path: Path) -> None:
    findings, diagnosis = judge(tmp_path, AT_CHANCE)
    first = AT_CHANCE["val_loss"][0]
    assert findings["evaluation-stays-at-chance"].title.startswith(f"val_loss began at {first:.4g} and was ")
    assert findings["evaluation-stays-at-chance"].position.step == 0
    assert (diagnosis.modes[0].mode, diagnosis.modes[0].cause) == ("silent-error", "inputs-do-not-tell-labels")
    assert diagnosis.modes[0].confidence == "medium"


@pytest.mark.parametrize("name", HEALTHY)
def test_lookalikes_are_no_failure(name: str, tmp_path: Path) -> None:
    findings, _ = judge(tmp_path, HEALTHY[name])
    assert "evaluation-stays-at-chance" not in roots(findings)


def test_data_learned_by_heart_is_told_but_no_failure(tmp_path: Path) -> None:
    findings, diagnosis = judge(tmp_path, HEALTHY["learned by heart"])
    assert findings["evaluation-stays-at-chance"].role == "context"
    assert diagnosis.verdict != "failure"
