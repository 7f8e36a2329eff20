"""Metrics that cannot be right, next to the many odd ones that are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from curve_runs import NAN, decay, judge, level, roots

from experiment_debugger.rules.metric_names import is_accuracy, is_share

RULES = {"metric-out-of-range", "metric-constant"}
Curve = Sequence[float | None]


def every(values: Sequence[float], gap: int = 10) -> list[float | None]:
    """Evaluations in every `gap`-th row of a table."""
    return [values[i // gap] if i % gap == gap - 1 else None for i in range(gap * len(values))]


def with_loss(key: str, values: Sequence[float], *, floor: float = 0.2) -> dict[str, Curve]:
    return {"train/loss": decay(10 * len(values), end=floor), key: every(values)}


def alarms(folder: Path, columns: Mapping[str, Curve], config: str = "") -> set[str]:
    return RULES & set(roots(judge(folder, columns, config=config)[0]))


RISING = [0.3, 0.5, 0.62, 0.7, 0.76, 0.8, 0.83, 0.85, 0.86, 0.87]
HEALTHY: dict[str, dict[str, Curve]] = {
    "fraction": with_loss("val/acc", RISING),
    "percentage": with_loss("val/acc", [100 * value for value in RISING]),
    "percentage of a thousand classes at the start": with_loss("val/acc", [0.1, 0.4, 0.9, 1.6, 3.1, 5.0], floor=2.0),
    "detection in percent, just begun": with_loss("val/bbox_AP", [0.1, 0.4, 0.9, 1.6, 2.1, 3.0]),
    "COCO sentinel": with_loss("val/bbox_mAP_s", [-1.0] * 10),
    "R2": with_loss("val/r2", [-3.0, -0.5, 0.2, 0.6, 0.7, 0.8]),
    "reward": with_loss("eval/mean_reward", [-200.0] * 10),
    "word errors": with_loss("val/wer", [1.4, 1.2, 0.9, 0.5, 0.4, 0.3]),
    "generalised IoU": with_loss("val/giou", [-0.4, -0.1, 0.3, 0.5, 0.6, 0.7]),
    "bleu": with_loss("val/bleu", [0.4, 3.0, 11.0, 19.0, 24.0, 26.0]),
    "number of hits": with_loss("val/acc", [310.0, 520.0, 640.0, 700.0, 711.0, 730.0]),
    "mAP of the first epochs": with_loss("val/mAP", [0.0] * 8),
    "saturated": with_loss("val/acc", [0.9981] * 8),
    "solved after a while": with_loss("val/acc", [0.8, *[1.0] * 9]),
    "solved before training": {"train/loss": level(100, 0.01, 0.001), "val/acc": every([1.0] * 10)},
    "nothing is learned": {"train/loss": level(100, 2.3), "val/acc": every([0.1] * 10)},
    "best so far": with_loss("val/best_acc", [0.61] * 10),
    "bits of a number": with_loss("val/precision", [16.0] * 10),
    "a class that does not occur": with_loss("val/IoU.building", [0.37] * 10),
    "carried along with every step": {"train/loss": decay(400), "val/acc": [0.4375] * 400},
    "few evaluations": with_loss("val/acc", [0.4375] * 3),
    "class metric of nan": with_loss("val/dice_3", [NAN] * 10),
    "preferences of DPO": with_loss("eval_rewards/accuracies", [1.0] * 10),
    "three points": {"train/loss": [2.0, 1.0, 0.5], "val/acc": [1.4, 1.6, 1.8]},
    "huge loss": {"train/loss": [1e300 * value for value in decay(100)], "val/acc": every(RISING)},
}


@pytest.mark.parametrize("name", HEALTHY)
def test_an_odd_metric_that_is_right_is_no_alarm(name: str, tmp_path: Path) -> None:
    assert alarms(tmp_path, HEALTHY[name]) == set()


@pytest.mark.parametrize(
    ("values", "step"),
    [
        ([0.7, 0.96, 1.4, 1.7, 1.8, 1.9], 290),
        ([70.0, 96.0, 99.0, 140.0, 181.5, 190.25], 390),
        ([1.2, 1.5, 1.7, 1.9], 90),
    ],
)
def test_a_share_above_its_bound_names_the_first_such_step(values: list[float], step: int, tmp_path: Path) -> None:
    findings, diagnosis = judge(tmp_path, with_loss("val/acc", values))
    assert findings["metric-out-of-range"].position.step == step
    assert diagnosis.modes[0].mode == "metric-error"


def test_an_accuracy_below_zero_is_impossible(tmp_path: Path) -> None:
    findings, _ = judge(tmp_path, with_loss("val/accuracy", [0.3, -0.25, 0.4, 0.5, NAN, 0.6]))
    assert findings["metric-out-of-range"].values["value"] == "-0.25"


def test_fractions_among_percentages_are_two_scales(tmp_path: Path) -> None:
    findings, _ = judge(tmp_path, with_loss("val/f1", [0.61, 0.63, 65.0, 0.66, 0.67, 68.0, 0.69]))
    assert findings["metric-out-of-range"].level == "warning"
    assert "percentage" in findings["metric-out-of-range"].title


def test_a_frozen_metric_next_to_a_falling_loss(tmp_path: Path) -> None:
    findings, diagnosis = judge(tmp_path, with_loss("val/acc", [0.109375] * 10))
    assert findings["metric-constant"].position.step == 90
    assert diagnosis.modes[0].mode == "metric-error"


def test_a_frozen_evaluation_loss_next_to_a_falling_one(tmp_path: Path) -> None:
    assert alarms(tmp_path, with_loss("val/loss", [2.3184213] * 6)) == {"metric-constant"}


def test_an_accuracy_over_the_entries_of_one_hot_rows(tmp_path: Path) -> None:
    loss = [0.324 - 0.001 * i for i in range(30)]
    accuracy = [0.9] * 18 + [0.9 + 1e-4 * i for i in range(1, 13)]
    columns = {"loss": loss, "acc": accuracy, "val_loss": loss, "val_acc": accuracy}
    assert alarms(tmp_path / "both", columns) == {"metric-constant"}
    majority = {"loss": loss, "acc": [value + 0.013 for value in accuracy], "val_loss": loss, "val_acc": accuracy}
    assert alarms(tmp_path / "majority", majority) == set()


def test_what_a_log_has_rounded_is_not_frozen(tmp_path: Path) -> None:
    lines = [
        f"epoch {i} train_loss {loss:.4f} val_acc 0.91\n" for i, loss in enumerate(decay(8, 0.9, 0.5, noise=0.0), 1)
    ]
    log = tmp_path / "logs" / "run-42" / "train.log"
    log.parent.mkdir(parents=True)
    log.write_text("".join(lines) + "Training finished.\n", encoding="utf-8")
    findings, _ = judge(tmp_path, {"unrelated": [1.0, 2.0]})
    assert "metric-constant" not in findings


def test_perfect_from_the_first_evaluation_on(tmp_path: Path) -> None:
    findings, diagnosis = judge(tmp_path, with_loss("val/acc", [1.0] * 6))
    assert findings["metric-perfect-at-once"].kind == "science"
    assert (diagnosis.modes, diagnosis.next_skill) == ((), "result-diagnosis")


def test_nan_and_equal_metrics_are_facts(tmp_path: Path) -> None:
    columns = with_loss("val/precision", RISING) | {
        "val/recall": every(RISING),
        "val/map": every([0.1] * 4 + [NAN] * 6),
    }
    findings, _ = judge(tmp_path, columns)
    assert {findings[rule].role for rule in ("metric-identical-pair", "metric-nan")} == {"context"}
    assert roots(findings) == []


def test_names_of_shares() -> None:
    shares = (
        "val/acc eval_accuracy metrics/mAP50-95(B) top1 acc@1 mIoU val_f1 AUROC Dice bbox_mAP_50 rewards/accuracies"
    )
    assert [key for key in shares.split() if not is_share(key)] == ["rewards/accuracies"]
    others = "r2 mcc kappa bleu ssim psnr wer reward giou grad_acc_steps best_acc map_size val_loss accuracy_loss top_k"
    assert [key for key in others.split() if is_share(key)] == []
    assert is_accuracy("val/acc")
    assert not is_accuracy("val/map")


def at_the_level_of(key: str, value: float, floor: float, count: int = 8) -> dict[str, Curve]:
    return {"train/loss": decay(10 * count, 0.69, floor, noise=0.005), key: every([value] * count)}


@pytest.mark.parametrize(
    ("value", "floor", "role"),
    [
        (0.9533, 0.19, "context"),  # the largest class, at the loss of its share: 0.188
        (0.9533, 0.02, "root"),  # what was learned goes far beyond that share
        (95.33, 0.02, "root"),
        (0.3127, 0.25, "root"),  # no class of a third makes half of the loss
        (0.3127, 0.45, "context"),  # hardly learned
    ],
)
def test_a_frozen_share_may_be_that_of_the_largest_class(value: float, floor: float, role: str, tmp_path: Path) -> None:
    findings, _ = judge(tmp_path, at_the_level_of("val/acc", value, floor))
    assert findings["metric-constant"].role == role


def test_few_samples_give_one_share_for_long(tmp_path: Path) -> None:
    assert alarms(tmp_path / "16", at_the_level_of("val/acc", 0.4375, 0.02)) == set()
    assert alarms(tmp_path / "many", at_the_level_of("val/acc", 0.4375, 0.02, count=12)) == {"metric-constant"}


@pytest.mark.parametrize(
    "config",
    [
        "model:\n  pretrained: true\n",
        "model_name_or_path: distilbert-base-uncased\n",
        "init_from: gpt2\n",
        "data:\n  name: fashion_mnist\n",
        "dataset: two_moons\n",
    ],
)
def test_a_task_that_may_be_easy_is_solved_at_once(config: str, tmp_path: Path) -> None:
    findings, _ = judge(tmp_path, with_loss("val/acc", [1.0] * 6), config=config)
    assert "metric-perfect-at-once" not in findings


@pytest.mark.parametrize("config", ["model:\n  pretrained: false\n", "dataset: churn\n", "init_from: null\n"])
def test_a_perfect_metric_of_a_new_model_is_suspicious(config: str, tmp_path: Path) -> None:
    findings, _ = judge(tmp_path, with_loss("val/acc", [1.0] * 6), config=config)
    assert "metric-perfect-at-once" in findings


def test_a_percentage_of_a_text_log_beyond_a_hundred(tmp_path: Path) -> None:
    values = [56.7, 64.7, 76.3, 83.1, 162.0, 171.5, 174.0]
    lines = [f"Epoch {i} train loss {2.0 / i:.3f} test acc {value}%\n" for i, value in enumerate(values, 1)]
    log = tmp_path / "logs" / "run-42" / "train.log"
    log.parent.mkdir(parents=True)
    log.write_text("".join(lines), encoding="utf-8")
    findings, _ = judge(tmp_path, {"unrelated": [1.0, 2.0]})
    assert (findings["metric-out-of-range"].position.line, findings["metric-out-of-range"].level) == (5, "error")
