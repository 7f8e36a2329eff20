"""A validation that is the training, next to pairs of metrics that are equal for good reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from curve_runs import NAN, decay, judge, roots

RULE = "metric-validation-equals-training"
COUNT = 40
LOSS = decay(COUNT)
ACCURACY = [0.3 + 0.6 * (2.3 - value) / 2.0 for value in LOSS]
Curves = Mapping[str, Sequence[float | None]]
COPIES: dict[str, Curves] = {
    "losses": {"train/loss": LOSS, "val/loss": LOSS},
    "names of Lightning": {"train_loss": LOSS, "val_loss": LOSS},
    "metrics next to another loss": {"train/loss": decay(COUNT, seed=3), "train/acc": ACCURACY, "val/acc": ACCURACY},
    "evaluated every fourth time": {
        "train/loss": LOSS,
        "val/loss": [value if i % 4 == 3 else None for i, value in enumerate(LOSS)],
    },
    "with a hole": {"train/loss": [NAN, *LOSS[1:]], "val/loss": [NAN, *LOSS[1:]]},
}
HEALTHY: dict[str, Curves] = {
    "an alias": {"loss": LOSS, "train/loss": LOSS},
    "the objective of a tuner": {"loss": LOSS, "val_loss": LOSS, "train_loss": decay(COUNT, seed=5)},
    "two sets": {"train/loss": LOSS, "val/loss": decay(COUNT, seed=5)},
    "one value apart": {"train/loss": LOSS, "val/loss": [*LOSS[:-1], 0.5]},
    "solved": {"train/loss": LOSS, "train/acc": [1.0] * COUNT, "val/acc": [1.0] * COUNT},
    "rounded": {
        "train/acc": [round(value, 2) for value in ACCURACY],
        "val/acc": [round(value, 2) for value in ACCURACY],
    },
    "constant": {"train/loss": LOSS, "train/acc": [0.123456] * COUNT, "val/acc": [0.123456] * COUNT},
    "seven points": {"train/loss": LOSS[:7], "val/loss": LOSS[:7]},
    "three points": {"train/loss": LOSS[:3], "val/loss": LOSS[:3]},
    "huge and undefined": {"train/loss": [1e300, NAN] * 20, "val/loss": [NAN, 1e300] * 20},
    "validation and test": {"train/loss": decay(COUNT, seed=5), "val/loss": LOSS, "test/loss": LOSS},
}


@pytest.mark.parametrize("name", COPIES)
def test_a_validation_that_repeats_the_training(name: str, tmp_path: Path) -> None:
    findings, diagnosis = judge(tmp_path, COPIES[name])
    assert findings[RULE].position.step == (30 if "fourth" in name else 0)
    assert (diagnosis.modes[0].mode, diagnosis.modes[0].cause) == ("metric-error", None)
    keys = {item.key.split("/")[0].split("_")[0] for item in findings[RULE].evidence if item.key}
    assert keys == {"train", "val"}


@pytest.mark.parametrize("name", HEALTHY)
def test_numbers_that_are_equal_for_a_reason(name: str, tmp_path: Path) -> None:
    assert RULE not in judge(tmp_path, HEALTHY[name])[0]


@pytest.mark.parametrize("config", ["trainer:\n  overfit_batches: 1\n", "debug:\n  overfit_single_batch: true\n"])
def test_who_overfits_one_batch_on_purpose_validates_on_it(config: str, tmp_path: Path) -> None:
    assert RULE not in roots(judge(tmp_path, COPIES["losses"], config=config)[0])


def test_a_setting_that_is_off_excuses_nothing(tmp_path: Path) -> None:
    assert RULE in roots(judge(tmp_path, COPIES["losses"], config="trainer:\n  overfit_batches: 0\n")[0])
