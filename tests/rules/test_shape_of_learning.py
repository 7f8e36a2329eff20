"""Results that are no bugs: told as context, never as a failure."""

from __future__ import annotations

from pathlib import Path

import pytest
from curve_runs import Columns, decay, judge, level

SPARSE = [i % 10 for i in range(200)]
SHAPES = {"eval-loss-overfitting", "loss-plateau", "loss-oscillation", "loss-spike-recovered"}


def evaluations(values: list[float]) -> list[float | None]:
    """Twenty evaluations among two hundred reports."""
    return [None if skip else values[i // 10] for i, skip in enumerate(SPARSE)]


OVERFITTED = [*(1.0 - 0.08 * i for i in range(8)), *(0.45 + 0.06 * i for i in range(12))]
LEVELLED = [*(1.0 - 0.05 * i for i in range(10)), *level(10, 0.52, 0.02)]
UNSTEADY = [0.5, 0.9, 0.5, 0.4, 0.8, *level(15, 0.4, 0.01)]
TOLD: dict[str, tuple[Columns, str, int]] = {
    "evaluation rises": (
        {"train/loss": decay(200, 2.3, 0.05), "val/loss": evaluations(OVERFITTED)},
        "eval-loss-overfitting", 700,
    ),
    "flat since a third": ({"loss": [*decay(60, 4.0, 2.0), *level(340, 2.0)]}, "loss-plateau", 1600),
    "swings": ({"loss": level(200, 1.0, 0.9)}, "loss-oscillation", 1000),
    "spike": ({"loss": [*decay(120), 8.0, 3.0, *level(78, 0.41)]}, "loss-spike-recovered", 1200),
}  # fmt: skip


@pytest.mark.parametrize("name", TOLD)
def test_a_shape_is_told_with_its_step_and_is_no_failure(name: str, tmp_path: Path) -> None:
    columns, rule, step = TOLD[name]
    findings, diagnosis = judge(tmp_path, columns)
    assert (findings[rule].position.step, findings[rule].kind, findings[rule].role) == (step, "science", "context")
    assert SHAPES & findings.keys() == {rule}
    assert diagnosis.verdict != "failure"


@pytest.mark.parametrize(
    "columns",
    [
        {"train/loss": decay(200), "val/loss": evaluations([2.3 - 0.08 * i for i in range(20)])},
        {"train/loss": decay(200, 2.3, 0.05), "val/loss": evaluations(LEVELLED)},
        {"train/loss": decay(200), "val/loss": evaluations(UNSTEADY)},
        {"loss": [*decay(200, 4.0, 0.1), *level(200, 0.1, 0.005)]},
        {"loss": [4.0 - 0.01 * i for i in range(200)]},
        {"loss": [*decay(120, 2.3, 0.4, 0.15), *level(80, 0.4, 0.15)]},
        {"loss": [0.3] * 200},
        {"loss": [2.0, 9.0, 1.0]},
        {"loss": [float("nan")] * 200},
        {"loss": [-1e300, 1e300] * 100},
        {"loss_g": level(200, 1.0, 0.9), "loss_d": level(200, 1.0, 0.9)},
    ],
    ids=[
        "learns", "levels off", "early noise", "low", "still falling", "noisy", "constant", "few", "nan", "huge",
        "game",
    ],
)  # fmt: skip
def test_an_ordinary_curve_has_no_remarkable_shape(columns: Columns, tmp_path: Path) -> None:
    findings, _ = judge(tmp_path, columns)
    assert SHAPES.isdisjoint(findings)
