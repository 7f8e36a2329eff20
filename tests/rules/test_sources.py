"""The same quantity in two sources, and evaluations that nobody ran."""

from __future__ import annotations

from pathlib import Path

from curve_runs import decay, judge, roots

from experiment_debugger.rules.detectors.sources import normal

RULE = "sources-disagree"
LOSS = decay(80, noise=0.1)


def log_of(folder: Path, values: list[float], *, first: int = 0, digits: int = 4) -> Path:
    text = "".join(f"step {first + 10 * i} loss {value:.{digits}f}\n" for i, value in enumerate(values))
    path = folder / "logs" / "run-42" / "train.log"
    path.parent.mkdir(parents=True)
    path.write_text(text + "Training finished.\n", encoding="utf-8")
    return folder


def running_mean(values: list[float], width: int = 20) -> list[float]:
    return [sum(values[max(0, i - width + 1) : i + 1]) / min(i + 1, width) for i in range(len(values))]


def test_the_same_values_one_interval_later(tmp_path: Path) -> None:
    findings, _ = judge(log_of(tmp_path, LOSS, first=10), {"train/loss": LOSS})
    assert findings[RULE].role == "context"
    assert "by 10" in findings[RULE].title
    assert {item.path.rsplit("/", 1)[-1] for item in findings[RULE].evidence} == {"train.log", "metrics.csv"}
    assert roots(findings) == []


def test_other_values_at_the_same_steps(tmp_path: Path) -> None:
    findings, _ = judge(log_of(tmp_path, [1.3 * value for value in LOSS]), {"train/loss": LOSS})
    assert "other values" in findings[RULE].title


def test_rounding_running_means_and_few_points_agree(tmp_path: Path) -> None:
    assert RULE not in judge(log_of(tmp_path / "rounded", LOSS, digits=2), {"train/loss": LOSS})[0]
    assert RULE not in judge(log_of(tmp_path / "means", running_mean(LOSS)), {"train/loss": LOSS})[0]
    assert RULE not in judge(log_of(tmp_path / "few", LOSS[:3]), {"train/loss": [9.0, 8.0, 7.0]})[0]
    assert RULE not in judge(log_of(tmp_path / "constant", [0.5] * 80), {"train/loss": [0.7] * 80})[0]


def test_names_of_one_quantity() -> None:
    assert {normal(key) for key in ("loss", "train/loss", "train_loss", "loss_step", "Train/Loss")} == {"loss"}
    assert normal("val/loss") != "loss"
    assert normal("train/loss_kl") == "loss_kl"


def test_a_config_that_asks_for_evaluations_that_are_missing(tmp_path: Path) -> None:
    config = "max_steps: 790\neval_strategy: steps\n"
    findings, _ = judge(tmp_path / "missing", {"loss": LOSS}, config=config)
    assert findings["evaluation-missing"].role == "context"
    assert "evaluation-missing" not in judge(tmp_path / "there", {"loss": LOSS, "eval_loss": LOSS}, config=config)[0]
    never = config.replace("steps\n", '"no"\n')
    assert "evaluation-missing" not in judge(tmp_path / "not asked", {"loss": LOSS}, config=never)[0]
