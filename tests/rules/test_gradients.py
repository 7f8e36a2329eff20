"""Zero, vanishing and exploding gradients, weights that never change, and their sound lookalikes."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from curve_runs import Columns, decay, fired, judge, level, roots, tracked

from experiment_debugger.readers.series import Histogram

FLAT = level(200, 1.7)
NORM = level(200, 0.8, 0.05)
ZERO = [0.0] * 200
RULES = {"gradient-zero", "gradient-vanishing", "gradient-exploding"}
HEALTHY: dict[str, Columns] = {
    "ordinary": {"loss": decay(200), "grad_norm": NORM},
    "read behind zero_grad": {"loss": decay(200), "grad_norm": ZERO},
    "converged hinge loss": {
        "loss": [*decay(100, 1.0, 0.02, 0.0), *ZERO[:100]],
        "grad_norm": [*NORM[:100], *ZERO[:100]],
    },
    "frozen part": {"loss": decay(200), "grad_norm/backbone": ZERO, "grad_norm/head": NORM},
    "frozen part on a plateau": {"loss": FLAT, "grad_norm/backbone": ZERO, "grad_norm/head": NORM},
    "single skipped steps": {"loss": FLAT, "grad_norm": [0.0 if i % 5 == 0 else 0.7 for i in range(200)]},
    "no advantage": {"loss": ZERO, "grad_norm": ZERO, "rewards/mean": level(200, 0.0)},
    "small by scale": {"loss": [value * 1e-9 for value in decay(200)], "grad_norm": [value * 1e-9 for value in NORM]},
    "converged": {"loss": decay(200, 1.0, 1e-6, 0.0), "grad_norm": [math.exp(-i / 6) for i in range(200)]},
    "drifts by a hundred": {"loss": decay(200), "grad_norm": [0.1 * 1.024**i for i in range(200)]},
    "grows while it learns": {"loss": decay(200), "grad_norm": [0.1 * 1.06**i for i in range(200)]},
    "single spike": {"loss": FLAT, "grad_norm": [*NORM[:150], 1e9, *NORM[:49]]},
    "critic": {"critic_loss": FLAT, "grad_norm": [0.1 * 1.06**i for i in range(200)]},
    "three points": {"loss": [1.0, 1.0, 1.0], "grad_norm": [0.0, 0.0, 0.0]},
}


@pytest.mark.parametrize("name", HEALTHY)
def test_a_sound_gradient_is_no_failure(name: str, tmp_path: Path) -> None:
    findings, _ = judge(tmp_path, HEALTHY[name])
    assert RULES.isdisjoint(roots(findings))


def test_no_gradient_from_the_start(tmp_path: Path) -> None:
    findings, diagnosis = judge(tmp_path, {"loss": FLAT, "grad_norm": ZERO})
    assert findings["gradient-zero"].level == "error"
    assert (diagnosis.modes[0].mode, diagnosis.modes[0].cause) == ("silent-error", "gradient-cut-or-zeroed-before-step")


def test_no_gradient_from_some_step_on_names_it(tmp_path: Path) -> None:
    findings, _ = judge(
        tmp_path, {"loss": [*decay(100, 4.0, 2.3), *level(100, 2.31, 0.01)], "grad_norm": [*NORM[:100], *ZERO[:100]]}
    )
    assert findings["gradient-zero"].position.step == 1000


def test_no_gradient_without_a_loss_is_a_suspicion(tmp_path: Path) -> None:
    findings, _ = judge(tmp_path, {"grad_norm": ZERO, "lr": level(200, 1e-3, 0.0)})
    assert findings["gradient-zero"].level == "warning"


def test_the_first_layer_gets_nothing_and_the_loss_stays(tmp_path: Path) -> None:
    norms = {"grad_norm/layer00": [3e-13 * (2 + value) for value in NORM], "grad_norm/layer20": NORM}
    findings, diagnosis = judge(tmp_path, {"loss": FLAT, **norms})
    assert "grad_norm/layer00" in findings["gradient-vanishing"].title
    assert diagnosis.modes[0].cause == "gradient-vanishes-with-depth"


def test_a_norm_that_climbs_without_learning(tmp_path: Path) -> None:
    findings, diagnosis = judge(tmp_path, {"loss": FLAT, "grad_norm": [0.1 * 1.06**i for i in range(200)]})
    assert findings["gradient-exploding"].role == "root"
    assert 300 < (findings["gradient-exploding"].position.step or 0) < 800
    assert diagnosis.modes[0].mode == "nan-gradient"


def weights(key: str, step: int, shift: float) -> Histogram:
    return Histogram(key, step, -0.3 + shift, 0.4 + shift, 64.0, 1.5, 2.5 + shift, (0.0, 0.4), (30.0, 34.0))


def all_weights(*shifts: float, names: tuple[str, ...] = ("weights/0", "weights/1")) -> list[Histogram]:
    """Histograms every 30 steps, each weight moved by its shift from one to the next."""
    return [
        weights(name, step, shift * step)
        for name, shift in zip(names, shifts, strict=True)
        for step in range(0, 150, 30)
    ]


def test_weights_that_never_change_next_to_a_flat_loss() -> None:
    finding = fired(tracked({"loss": FLAT}, all_weights(0.0, 0.0)))["weights-frozen"]
    assert (finding.role, finding.level, finding.position.step) == ("root", "error", 0)
    assert finding.title == "from step 0 to 120, all 2 weights with histograms are the same"


def test_weights_that_never_change_without_a_loss_are_a_suspicion() -> None:
    assert fired(tracked({"lr": [1e-3] * 200}, all_weights(0.0, 0.0)))["weights-frozen"].level == "warning"


@pytest.mark.parametrize(
    ("histograms", "loss"),
    [
        (all_weights(0.0, 0.001), FLAT),
        (all_weights(0.0, 0.0), decay(200)),
        (all_weights(0.0, 0.0, names=("teacher/weight", "ema/weight")), FLAT),
        (all_weights(0.0, 0.0, names=("bn/running_mean", "bn/num_batches_tracked")), FLAT),
        (all_weights(0.001, 0.001), FLAT),
        ([weights("weights/0", step, 0.0) for step in (0, 1, 2)], FLAT),
        ([weights("weights/0", 0, 0.0)], FLAT),
    ],
    ids=["frozen backbone", "loss falls", "teacher", "counters", "moving", "first steps", "once"],
)
def test_weights_that_may_be_still_are_no_failure(histograms: list[Histogram], loss: list[float]) -> None:
    assert "weights-frozen" not in roots(fired(tracked({"loss": loss}, histograms)))


def test_activations_that_are_all_zero_are_told_from_their_step() -> None:
    alive = Histogram("activations/hidden", 40, 0.0, 2.3, 64.0, 20.0, 9.0, (1e-12, 2.3), (30.0, 34.0))
    dead = Histogram("activations/hidden", 80, 0.0, 0.0, 64.0, 0.0, 0.0, (1e-12, 2e-12), (64.0, 0.0))
    findings = fired(tracked({"loss": FLAT}, [alive, dead]))
    assert (findings["activations-dead"].role, findings["activations-dead"].position.step) == ("context", 80)
    assert "activations-dead" not in fired(tracked({"loss": FLAT}, [alive]))


def test_a_layer_a_million_times_below_another_has_vanished(tmp_path: Path) -> None:
    norms = {"grad_norm/first": level(200, 2e-7, 1e-8), "grad_norm/last": level(200, 0.3, 0.01)}
    flat, _ = judge(tmp_path / "flat", {"loss": level(200, 2.303, 0.02), **norms})
    learns, _ = judge(tmp_path / "learns", {"loss": decay(200), **norms})
    assert flat["gradient-vanishing"].role == "root"
    assert learns["gradient-vanishing"].role == "context"
