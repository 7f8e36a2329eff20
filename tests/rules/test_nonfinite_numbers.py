"""The onset of numbers that are not finite, in tables and in sources without lines, and what came before it."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from curve_runs import NAN, Columns, decay, fired, judge, level, roots, tracked

GOOD = decay(120)
NORM = level(120, 0.8, 0.05)
SCALE = [65536.0] * 60


def halved(start: float, count: int) -> list[float]:
    return [start / 2**i for i in range(1, count + 1)]


def test_the_onset_names_the_first_bad_step_and_the_last_finite_value(tmp_path: Path) -> None:
    columns = {"train/loss": [*GOOD, *[NAN] * 40]}
    for findings in (judge(tmp_path, columns, every=1)[0], fired(tracked(columns))):
        finding = findings["loss-nan-onset"]
        assert finding.position.step == 120
        assert finding.title == f"train/loss turned nan (last finite {GOOD[-1]:.4g} at step 119)"
        assert [item.step for item in finding.evidence] == [120, 119]


@pytest.mark.parametrize(
    "columns",
    [
        {"loss": [*GOOD[:50], math.inf, *GOOD[50:]], "grad_norm": [*NORM[:50], math.inf, *NORM[50:]]},
        {"loss": [NAN, *GOOD]},
        {"loss": GOOD, "grad_norm": [*NORM[:60], *[math.inf] * 60]},
        {"loss": GOOD, "loss/mask": [*NORM[:100], *[NAN] * 20]},
        {"loss": GOOD, "ep_rew_mean": [*[NAN] * 60, *NORM[:60]]},
        {"loss": GOOD, "perplexity": [math.inf] * 120},
        {"loss": GOOD, "val/loss": [NAN, *NORM[:119]]},
        {"loss": GOOD, "amp/loss_scale": [65536.0, *halved(65536.0, 7), *[512.0] * 112]},
        {"loss": GOOD, "amp/loss_scale": [2.0**32, *halved(2.0**32, 18), *[2.0**14] * 101]},
        {"loss": GOOD[:20], "amp/loss_scale": [2.0**32, *halved(2.0**32, 19)]},
        {"loss": GOOD, "amp/loss_scale": [1.0] * 120},
        {"loss": GOOD, "amp/loss_scale": [2.0 ** (16 - (i // 10) % 2) for i in range(120)]},
        {"triplet_loss": [*decay(110, 0.3, 0.01, 0.0), *[0.0] * 10]},
        {"loss": [*GOOD, *[0.0] * 10], "rewards/mean": level(130, 1.0)},
        {"loss": [*GOOD, *[0.0] * 10], "grad_norm": [*NORM, *level(10, 0.5)]},
        {"loss": GOOD, "loss/aux": [*NORM[:60], *[0.0] * 60]},
        {"loss": [*GOOD[:60], 0.0, *GOOD[61:]], "grad_norm": [*NORM[:60], NAN, *NORM[61:]]},
    ],
    ids=[
        "recovered overflow", "first value", "norm of scaled gradients", "undefined term", "no episode", "perplexity",
        "first evaluation", "settled scale", "settled Megatron scale", "short Megatron run", "static scale",
        "scale that breathes", "margin", "no advantage", "true zero", "term switched off", "one filtered batch",
    ],
)  # fmt: skip
def test_numbers_that_recover_or_mean_nothing_are_no_failure(columns: Columns, tmp_path: Path) -> None:
    assert roots(judge(tmp_path, columns)[0]) == []
    assert roots(fired(tracked(columns))) == []


def test_a_zero_loss_next_to_a_nan_norm_is_found_by_step() -> None:
    columns = {"train/loss": [*GOOD, *[0.0] * 20], "train/grad_norm": [*NORM, *[NAN] * 20]}
    findings = fired(tracked(columns))
    assert roots(findings) == ["loss-zero-grad-nan"]
    assert findings["loss-zero-grad-nan"].position.step == 120
    assert f"the loss before was {GOOD[-1]:.4g}" in findings["loss-zero-grad-nan"].title


def test_a_loss_that_falls_to_exact_zero_without_a_norm() -> None:
    findings = fired(tracked({"train/loss": [*GOOD, *[0.0] * 20]}))
    assert findings["loss-drops-to-exact-zero"].position.step == 120


def test_a_norm_that_is_nan_while_the_loss_is_finite() -> None:
    findings = fired(tracked({"loss": [*GOOD, *level(40, 0.4)], "grad_norm": [*NORM, *[NAN] * 40]}))
    assert roots(findings) == ["grad-norm-nonfinite"]
    assert findings["grad-norm-nonfinite"].position.step == 120


def test_an_evaluation_that_is_nan_is_told_unless_training_is_the_story() -> None:
    evaluation = [*GOOD[:60], *[NAN] * 60]
    assert roots(fired(tracked({"loss": GOOD, "val/loss": evaluation}))) == ["eval-loss-nan"]
    assert roots(fired(tracked({"loss": evaluation, "val/loss": evaluation}))) == ["loss-nan-onset"]


@pytest.mark.parametrize(
    ("scale", "step"),
    [
        ([*SCALE, *halved(65536.0, 20)], 60),
        ([*SCALE, *halved(65536.0, 16), *[1.0] * 44], 60),
        ([*[65536.0] * 5, 32768.0, *[32768.0] * 54, *halved(32768.0, 30)], 60),
    ],
    ids=["to the end", "floor with nan", "after one early fall"],
)
def test_a_loss_scale_that_only_falls(scale: list[float], step: int) -> None:
    loss = [*GOOD[:60], *[NAN] * (len(scale) - 60)]
    finding = fired(tracked({"train/loss": loss, "amp/loss_scale": scale}))["loss-scale-collapse"]
    assert finding.position.step == step
    assert "without recovering" in finding.title


def test_growth_before_the_onset_speaks_for_the_update(tmp_path: Path) -> None:
    climb = [2.0**i for i in range(1, 9)]
    _, diagnosis = judge(tmp_path, {"loss": [*GOOD, *climb, *[NAN] * 10]})
    assert diagnosis.modes[0].cause == "learning-rate-too-high-or-no-warmup"


def test_a_peak_of_the_learning_rate_at_the_onset_is_told() -> None:
    rate = [1e-5 * (i + 1) for i in range(140)]
    findings = fired(tracked({"loss": [*GOOD, *[NAN] * 20], "lr": rate}))
    assert findings["learning-rate-peak-before-nan"].position.step == 120
    flat = fired(tracked({"loss": [*GOOD, *[NAN] * 20], "lr": [1e-3] * 140}))
    assert "learning-rate-peak-before-nan" not in flat


def test_a_normal_loss_up_to_the_onset_speaks_for_one_batch_or_operation(tmp_path: Path) -> None:
    columns = {"loss": [*GOOD, *[NAN] * 20], "grad_norm": [*NORM, *[NAN] * 20]}
    _, dense = judge(tmp_path / "dense", columns, every=1)
    _, sparse = judge(tmp_path / "sparse", columns, every=50)
    assert dense.modes[0].cause == "single-batch-or-operation-not-finite"
    assert sparse.modes[0].cause is None
