"""Learning rates that do not do what was meant, next to schedules of every healthy form."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from curve_runs import NAN, decay, judge, level, roots

RULES = {
    "learning-rate-zero",
    "learning-rate-decayed-early",
    "learning-rate-constant-despite-schedule",
    "learning-rate-warmup-unfinished",
    "learning-rate-restarted",
}
COUNT = 200
PLAN = f"max_steps: {10 * COUNT}\nlr: 0.01\n"


def cosine(count: int = COUNT, peak: float = 0.01) -> list[float]:
    return [peak * 0.5 * (1 + math.cos(math.pi * i / count)) for i in range(count)]


def warmup(count: int, peak: float = 0.01) -> list[float]:
    return [peak * i / count for i in range(count)]


LOSS, STUCK = decay(COUNT), level(COUNT, 2.3)
HEALTHY = {
    "cosine": cosine(),
    "linear to zero": [0.01 * (1 - i / (COUNT - 1)) for i in range(COUNT)],
    "warm-up and cosine": [*warmup(20), *cosine(COUNT - 20)],
    "steps of ten": [0.01] * 60 + [0.001] * 60 + [0.0001] * 80,
    "warm restarts": cosine(40) * 5,
    "one cycle": [*warmup(60, 0.1), *(0.1 * 0.5 * (1 + math.cos(math.pi * i / 140)) + 4e-7 for i in range(140))],
    "plateau at the end": [0.01] * 170 + [0.0001] * 30,
    "constant": [0.01] * COUNT,
    "inverse square root": [0.01 / math.sqrt(1 + i) for i in range(COUNT)],
    "averaging raises it": [*cosine(150), *[0.005] * 50],
    "first report is zero": [0.0, *[0.01] * (COUNT - 1)],
    "with holes": [NAN if i % 7 == 0 else value for i, value in enumerate(cosine())],
    "range test": [1e-7 * 10 ** (8 * i / COUNT) for i in range(COUNT)],
    "huge": [1e30 * value for value in cosine()],
}


def alarms(folder: Path, rates: list[float], loss: list[float], config: str = PLAN) -> set[str]:
    return RULES & set(roots(judge(folder, {"train/loss": loss, "lr": rates}, config=config)[0]))


@pytest.mark.parametrize("name", HEALTHY)
def test_a_schedule_of_a_usual_form_is_no_alarm(name: str, tmp_path: Path) -> None:
    assert alarms(tmp_path, HEALTHY[name], LOSS) == set()


def test_a_rate_of_zero_all_the_time(tmp_path: Path) -> None:
    columns = {"train/loss": STUCK, "lr": [0.0] * COUNT}
    findings, diagnosis = judge(tmp_path, columns, config="max_steps: 2000\nlr: 0.0\n")
    assert findings["learning-rate-zero"].position.step == 0
    assert (diagnosis.modes[0].mode, diagnosis.modes[0].cause) == ("silent-error", "learning-rate-set-to-zero")


def test_zero_of_one_group_in_a_run_that_learns_is_a_frozen_group(tmp_path: Path) -> None:
    columns = {"train/loss": LOSS, "lr/backbone": [0.0] * COUNT, "lr/head": cosine()}
    assert not RULES & set(roots(judge(tmp_path / "groups", columns, config=PLAN)[0]))
    assert alarms(tmp_path / "learns", [0.0] * COUNT, LOSS) == set()


def test_a_rate_that_is_zero_for_the_second_half_of_the_run(tmp_path: Path) -> None:
    rates = [0.01 * (1 - i / 100) for i in range(100)] + [0.0] * 100
    findings, _ = judge(tmp_path, {"train/loss": LOSS, "lr": rates}, config=PLAN)
    assert findings["learning-rate-zero"].position.step == 1000


def test_three_zeros_are_too_few(tmp_path: Path) -> None:
    columns = {"train/loss": [2.0, 2.1, 2.0], "lr": [0.0] * 3}
    assert not RULES & set(roots(judge(tmp_path, columns, config=PLAN)[0]))


@pytest.mark.parametrize(("shown", "fires"), [("0.0000", False), ("0.0", True), ("0.00e+00", True)])
def test_a_log_may_have_rounded_the_rate(shown: str, fires: bool, tmp_path: Path) -> None:
    lines = [f"step {i} loss {2.3 + 0.01 * (i % 3):.4f} lr {shown}\n" for i in range(0, 400, 10)]
    log = tmp_path / "logs" / "run-42" / "train.log"
    log.parent.mkdir(parents=True)
    log.write_text("".join(lines), encoding="utf-8")
    findings, _ = judge(tmp_path, {"unrelated": [1.0, 2.0]})
    assert ("learning-rate-zero" in findings) is fires


def test_a_schedule_of_epochs_stepped_every_batch(tmp_path: Path) -> None:
    rates = [0.01 * 0.85**i for i in range(COUNT)]
    loss = [*decay(40, 2.3, 1.5), *level(160, 1.5)]
    findings, diagnosis = judge(tmp_path, {"train/loss": loss, "lr": rates}, config=PLAN + "epochs: 5\n")
    assert findings["learning-rate-decayed-early"].position.step == 290
    assert diagnosis.modes[0].cause == "epoch-schedule-stepped-every-batch"


def test_a_plateau_schedule_or_a_loss_that_still_falls_is_not_decayed_early(tmp_path: Path) -> None:
    rates = [0.01 * 0.85**i for i in range(COUNT)]
    stalled = [*decay(40, 2.3, 1.5), *level(160, 1.5)]
    assert alarms(tmp_path / "falls", rates, [2.3 * 0.99**i for i in range(COUNT)]) == set()
    assert alarms(tmp_path / "plateau", rates, stalled, PLAN + "lr_scheduler: ReduceLROnPlateau\n") == set()
    in_steps = [0.01] * 20 + [0.001] * 20 + [0.00005] * 160
    assert alarms(tmp_path / "steps", in_steps, stalled) == set()


def test_a_schedule_that_is_never_stepped(tmp_path: Path) -> None:
    config = PLAN + "lr_scheduler_type: cosine\n"
    findings, _ = judge(tmp_path / "never", {"train/loss": LOSS, "lr": [0.01] * COUNT}, config=config)
    assert findings["learning-rate-constant-despite-schedule"].evidence[-1].key == "lr_scheduler_type"
    assert alarms(tmp_path / "moves", cosine(), LOSS, config) == set()
    assert (
        alarms(tmp_path / "begun", [0.01] * COUNT, LOSS, "max_steps: 90000\nlr: 0.01\nlr_scheduler_type: cosine\n")
        == set()
    )
    assert (
        alarms(tmp_path / "noise", [0.01] * COUNT, LOSS, PLAN + "noise_scheduler: linear\nbeta_schedule: cosine\n")
        == set()
    )
    assert (
        alarms(tmp_path / "constant", [0.01] * COUNT, LOSS, PLAN + "lr_scheduler_type: constant_with_warmup\n") == set()
    )


def test_a_warm_up_longer_than_the_run(tmp_path: Path) -> None:
    rates = [0.01 * 10 * i / 50_000 for i in range(COUNT)]
    config = PLAN + "warmup_steps: 50000\n"
    findings, diagnosis = judge(tmp_path / "long", {"train/loss": LOSS, "lr": rates}, config=config)
    assert findings["learning-rate-warmup-unfinished"].role == "root"
    assert diagnosis.modes[0].cause == "warmup-longer-than-run"
    assert alarms(tmp_path / "still running", rates, LOSS, config.replace("2000", "60000")) == set()
    assert alarms(tmp_path / "nearly there", [0.9 * value for value in warmup(COUNT)], LOSS, config) == set()


def test_a_schedule_in_steps_departs_at_its_first_step(tmp_path: Path) -> None:
    rates = [0.05 * 0.1 ** (i // 4) for i in range(COUNT)]
    findings, _ = judge(tmp_path, {"train/loss": STUCK, "lr": rates}, config=PLAN)
    found = findings["learning-rate-decayed-early"]
    assert found.position.step == 40
    assert [item.step for item in found.evidence] == [40, 30, 120, 1990]


def test_a_rate_that_underflows_departs_where_its_decay_begins(tmp_path: Path) -> None:
    rates = [0.05 * 0.1 ** (i // 4) if i < 100 else 0.0 for i in range(COUNT)]
    findings, _ = judge(tmp_path, {"train/loss": STUCK, "lr": rates}, config=PLAN)
    found = findings["learning-rate-zero"]
    assert found.position.step == 40
    assert "falls from 0.05" in found.title
    assert 1000 in [item.step for item in found.evidence]


def test_a_warm_up_that_goes_on_departs_where_it_should_have_ended(tmp_path: Path) -> None:
    rates = [0.01 * 10 * i / 50_000 for i in range(COUNT)]
    findings, _ = judge(tmp_path, {"train/loss": LOSS, "lr": rates}, config=PLAN + "warmup_steps: 100\n")
    found = findings["learning-rate-warmup-unfinished"]
    assert found.position.step == 100
    assert found.title == "warmup_steps is 100, but lr rises to the end, where it is 0.000398; lr is 0.01"
