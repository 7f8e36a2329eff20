"""A loss that stays at chance, and flat losses that are sound."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from curve_runs import Columns, decay, judge, level, roots

CHANCE = level(200, math.log(10), 0.02)
HEALTHY: dict[str, Columns] = {
    "learns": {"loss": decay(200)},
    "learned, then a plateau": {"loss": [*decay(60, 4.0, 2.3), *level(140, 2.3)]},
    "contrastive near ln of the batch": {"loss": level(200, math.log(512), 0.02)},
    "preference loss at ln 2": {"loss": level(200, math.log(2), 0.01), "rewards/margins": level(200, 0.01)},
    "binary at ln 2": {"loss": level(200, math.log(2), 0.01)},
    "players": {"errD": level(200, math.log(4), 0.1), "errG": level(200, 2.3, 0.01)},
    "agent": {"loss": level(200, 2.3026, 0.01), "ep_rew_mean": [float(i) for i in range(200)]},
    "fine-tuning from a low loss": {"loss": level(200, 0.52, 0.05)},
    "at ln 10 by chance": {"loss": CHANCE},
    "late language model": {"loss": decay(200, 2.31, 2.29, 0.02)},
    "begins to learn after a long rest": {"loss": [*level(120, 2.303, 0.01), *decay(80, 2.3, 1.2)]},
    "slow but sure": {"loss": [2.303 - 0.002 * i for i in range(200)]},
    "auxiliary term that is off": {"loss": decay(200), "loss/aux": [0.0] * 200},
    "one of several terms": {"loss/rpn": level(200, 2.3026, 0.01), "loss/box": decay(200)},
    "score that improves": {"loss": CHANCE, "train/acc": [0.1 + 0.004 * i for i in range(200)]},
    "few points": {"loss": level(7, 2.3026, 0.001)},
    "rounded": {"loss": [0.31] * 200},
    "zero": {"loss": [0.0] * 200},
    "solved already": {"loss": level(200, 0.014, 0.004), "eval/accuracy": [0.97481108] * 200},
    "same loss, other evaluations": {"loss": [2.3043] * 12, "val_loss": level(12, 2.3, 0.01), "val_acc": [0.1429] * 12},
    "same loss, no evaluation": {"loss": [2.3043] * 12},
    "same evaluation, other losses": {"loss": decay(12), "val_acc": [0.1429] * 12},
    "saturated": {"loss": [1.1920929e-07] * 12, "val_acc": [0.9871] * 12},
    "two digits": {"loss": [0.69] * 12, "val_acc": [0.1429] * 12},
    "accuracy that leaves chance": {"loss": CHANCE, "val/acc": [*level(100, 0.1, 0.01), *level(100, 0.3, 0.01)]},
    "accuracy of other classes": {"loss": CHANCE, "val/acc": level(200, 0.02, 0.002)},
    "with nan": {"loss": [math.nan if i % 7 == 0 else value for i, value in enumerate(decay(200))]},
}


@pytest.mark.parametrize("name", HEALTHY)
def test_a_sound_flat_loss_is_no_failure(name: str, tmp_path: Path) -> None:
    findings, _ = judge(tmp_path, HEALTHY[name])
    assert "loss-never-learned" not in roots(findings)


def test_chance_of_the_configured_classes_is_an_error_that_names_them(tmp_path: Path) -> None:
    flat = level(200, math.log(37), 0.02)
    findings, diagnosis = judge(
        tmp_path, {"loss": flat, "grad_norm": level(200, 0.8)}, config="model:\n  num_classes: 37\n"
    )
    assert findings["loss-never-learned"].level == "error"
    assert "ln 37 = 3.611" in findings["loss-never-learned"].title
    assert "model.num_classes=37" in findings["loss-never-learned"].title
    assert (diagnosis.modes[0].mode, diagnosis.modes[0].cause) == ("silent-error", None)
    open_causes = " ".join(diagnosis.modes[0].unknown)
    assert "inputs-do-not-tell-labels" in open_causes
    assert "optimizer-holds-other-parameters" in open_causes


def test_a_usual_number_of_classes_is_a_suspicion_where_the_accuracy_is_that_of_guessing(tmp_path: Path) -> None:
    findings, _ = judge(tmp_path, {"loss": CHANCE, "val/acc": level(200, 0.1, 0.01)})
    assert findings["loss-never-learned"].level == "warning"


def test_a_language_model_at_ln_of_its_vocabulary(tmp_path: Path) -> None:
    flat = level(200, math.log(50257), 0.02)
    findings, _ = judge(tmp_path, {"loss": flat}, config="vocab_size: 50257\n")
    assert "ln 50257" in findings["loss-never-learned"].title


@pytest.mark.parametrize(
    ("column", "words"), [("grad_norm", "every gradient norm is 0"), ("lr", "the learning rate is 0")]
)
def test_flat_with_a_column_of_zeros(column: str, words: str, tmp_path: Path) -> None:
    findings, _ = judge(tmp_path, {"loss": level(200, 1.7), column: [0.0] * 200})
    assert words in findings["loss-never-learned"].title


def test_the_same_digits_in_every_report(tmp_path: Path) -> None:
    findings, _ = judge(tmp_path, {"loss": [1.7318279] * 60})
    assert findings["loss-never-learned"].title == "loss is 1.7318279 to the last digit in all 60 reports"


def test_flat_alone_is_context(tmp_path: Path) -> None:
    findings, diagnosis = judge(tmp_path, {"loss": level(200, 1.7)})
    assert findings["loss-flat"].role == "context"
    assert diagnosis.verdict != "failure"


@pytest.mark.parametrize(
    ("every", "first", "config"),
    [(1, 0, ""), (10, 5000, ""), (10, 0, "warmup_steps: 4000\n"), (10, 0, "max_steps: 90000\n")],
)
def test_too_little_training_says_nothing(every: int, first: int, config: str, tmp_path: Path) -> None:
    flat = level(80, math.log(10), 0.01)
    findings, _ = judge(tmp_path, {"loss": flat}, steps=range(first, first + 80 * every, every), config=config)
    assert "loss-never-learned" not in findings


@pytest.mark.parametrize("reports", [6, 12])
def test_no_digit_of_loss_and_evaluation_changes(reports: int, tmp_path: Path) -> None:
    columns = {"loss": [2.3043] * reports, "val_loss": [2.3048] * reports, "val_acc": [0.1429] * reports}
    findings, diagnosis = judge(tmp_path, columns, every=1)
    assert "is 2.3043 in all" in findings["loss-never-learned"].title
    assert diagnosis.modes[0].mode == "silent-error"
    fewer, _ = judge(tmp_path / "fewer", {key: values[:5] for key, values in columns.items()}, every=1)
    assert "loss-never-learned" not in fewer


def test_sums_in_another_order_differ_in_their_last_bit(tmp_path: Path) -> None:
    loss = [2.304311513900757, 2.304311752319336] * 6
    findings, _ = judge(tmp_path, {"loss": loss, "val_loss": [2.304840564727783] * 12}, every=1)
    assert "loss-never-learned" in findings


@pytest.mark.parametrize("count", [7, 37, 200])
def test_loss_and_accuracy_of_one_number_of_classes(count: int, tmp_path: Path) -> None:
    chance = level(200, math.log(count), 0.02)
    findings, _ = judge(tmp_path, {"loss": chance, "train/acc": level(200, 1 / count, 0.1 / count)})
    assert f"ln {count} = " in findings["loss-never-learned"].title
    assert findings["loss-never-learned"].level == "warning"
