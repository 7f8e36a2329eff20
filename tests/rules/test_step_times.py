"""The course of step times, and regular stalls, next to what looks like them and is meant so."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import pytest
from curve_runs import NAN, Columns, decay, judge, level, tracked

from experiment_debugger.rules.detectors.loader_stalls import stalls_of
from experiment_debugger.rules.pace import is_clock, levels, seconds_of

COUNT = 240
SLOW = {"step-time-growth", "throughput-drop", "step-time-stalls-periodic", "epoch-start-gap"}


def times(value: float, count: int = COUNT, seed: int = 1) -> list[float]:
    return level(count, value, noise=value / 20, seed=seed)


def growing(factor: float, count: int = COUNT) -> list[float]:
    return [value * (1 + (factor - 1) * i / count) for i, value in enumerate(times(0.1, count))]


def dropping(factor: float, at: int, count: int = COUNT) -> list[float]:
    """Samples per second that fall to a part of what they were."""
    return [value / (factor if i >= at else 1) for i, value in enumerate(times(3000.0, count))]


def stalling(period: int, stall: float = 1.0, count: int = COUNT) -> list[float]:
    return [value + (stall if i % period == 0 else 0) for i, value in enumerate(times(0.2, count))]


def run(key: str, values: list[float], **more: Sequence[float | None]) -> Columns:
    return {"train/loss": decay(len(values)), key: values, **more}


def alarms(folder: Path, columns: Columns, config: str = "") -> set[str]:
    return SLOW & set(judge(folder, columns, every=1, config=config)[0])


def test_steady_growth_fires_from_the_start(tmp_path: Path) -> None:
    found, diagnosis = judge(tmp_path, run("step_time", growing(3.0)), every=1)
    assert found["step-time-growth"].position.step is not None
    assert found["step-time-growth"].position.step < 10
    assert diagnosis.modes[0].mode == "slow-training"


def test_a_lasting_drop_fires_at_its_step(tmp_path: Path) -> None:
    found, diagnosis = judge(tmp_path, run("samples_per_sec", dropping(3.0, 150)), every=1)
    assert found["throughput-drop"].position.step == 150
    assert diagnosis.modes[0].onset.step == 150


def test_stalls_with_the_period_of_the_workers_are_slow_data(tmp_path: Path) -> None:
    found, diagnosis = judge(tmp_path, run("step_time", stalling(4)), every=1, config="data:\n  num_workers: 4\n")
    assert found["step-time-stalls-periodic"].position.step == 8  # the first behind the warm-up
    assert diagnosis.modes[0].mode == "slow-data"


def test_stalls_that_are_measured_as_data_time_need_no_setting(tmp_path: Path) -> None:
    waits = [0.001 + (1.0 if i % 5 == 0 else 0) for i in range(COUNT)]
    assert "step-time-stalls-periodic" in alarms(tmp_path, run("step_time", stalling(5), data_time=waits))


HALF = COUNT // 2
HEALTHY: dict[str, tuple[Columns, str]] = {
    "level": (run("step_time", times(0.1)), ""),
    "a third more at the end": (run("step_time", growing(1.3)), ""),
    "longer sequences on purpose": (run("step_time", growing(3.0), seq_len=[64.0 + i for i in range(COUNT)]), ""),
    "as many tokens a second as before": (run("step_time", growing(3.0), **{"tokens/s": times(9000.0)}), ""),
    "episodes that get longer": (run("step_time", growing(3.0), episode_reward=times(1.0)), ""),
    "seconds since the start": (run("time", [0.1 * i for i in range(COUNT)]), ""),
    "warm-up of a cache": (run("step_time", [9.0, 5.0, 2.0, *times(0.1, COUNT - 3)]), ""),
    "a phase that ends": (
        run("samples_per_sec", [v / (3 if 100 <= i < 140 else 1) for i, v in enumerate(times(3000.0))]),
        "",
    ),
    "a drop by a third": (run("samples_per_sec", dropping(1.5, 120)), ""),
    "layers thaw: the learning rate changes": (
        run("samples_per_sec", dropping(3.0, HALF), lr=[1e-3] * HALF + [1e-4] * HALF),
        "",
    ),
    "a second loss begins": (
        run("samples_per_sec", dropping(3.0, HALF), disc_loss=[*[None] * HALF, *times(0.7, HALF)]),
        "",
    ),
    "larger inputs: memory changes": (
        run("samples_per_sec", dropping(3.0, HALF), gpu_mem=[8.0] * HALF + [20.0] * HALF),
        "",
    ),
    "optimizer step after micro-steps": (run("step_time", stalling(4)), "gradient_accumulation_steps: 4\n"),
    "an unknown period": (run("step_time", stalling(4)), ""),
    "evaluation at these steps": (
        run("step_time", stalling(20, 3.0), **{"val/loss": [1.0 if i % 20 == 0 else None for i in range(COUNT)]}),
        "num_workers: 4\n",
    ),
    "slow steps that are no waits": (run("step_time", stalling(4), data_time=times(0.001)), "num_workers: 4\n"),
    "rollouts": (run("step_time", stalling(4), rollout_reward=times(1.0)), "num_workers: 4\n"),
    "three points": (run("step_time", [0.1, 0.2, 0.3]), ""),
    "constant": (run("step_time", [0.1] * COUNT), ""),
    "huge": (run("step_time", [1e300] * COUNT), ""),
    "not a number": (run("step_time", [NAN] * COUNT), ""),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_what_is_meant_so_says_nothing(name: str, tmp_path: Path) -> None:
    columns, config = HEALTHY[name]
    assert not alarms(tmp_path, columns, config)


def test_holes_do_not_hide_a_drop(tmp_path: Path) -> None:
    values = dropping(3.0, 150)
    values[10], values[160] = NAN, math.inf
    assert "throughput-drop" in alarms(tmp_path, run("samples_per_sec", values))


def test_a_slow_first_step_and_outliers_are_facts_only(tmp_path: Path) -> None:
    values = [12.0, *(1.0 if i % 37 == 5 else value for i, value in enumerate(times(0.1, 600)))]
    found, diagnosis = judge(tmp_path, run("step_time", values), every=1)
    assert {"first-step-slow", "step-outliers"} <= set(found)
    assert diagnosis.verdict != "failure"


def test_reports_on_the_clock_need_a_word_about_the_loader() -> None:
    from curve_runs import collector

    from experiment_debugger.diagnose.engine import diagnose_evidence
    from experiment_debugger.rules.rulebook import load_rulebook

    def log(head: str) -> str:
        clock, lines = 0, [head]
        for step in range(4, 400, 4):
            clock += 124 if step % 32 == 4 else 4
            stamp = f"2026-03-01 {10 + clock // 3600}:{clock // 60 % 60:02}:{clock % 60:02}"
            lines.append(f"{stamp} step {step} loss {2 + 1 / step:.4f}\n")
        return "".join(lines)

    heads = ("2026-03-01 09:59:00 data_root: /mnt/hdd/train\n", "2026-03-01 09:59:00 data_root: /data/train\n")
    slow, silent = (diagnose_evidence(collector().text(log(head)), load_rulebook()) for head in heads)
    assert slow.modes[0].cause == "random-reads-on-slow-storage"
    assert silent.verdict != "failure"


def test_waits_for_the_first_batch_of_every_epoch() -> None:
    from experiment_debugger.diagnose import diagnose_text

    def log(wait: float) -> str:
        line = "2026-03-01 10:{minute:02}:00 epoch {epoch}: first batch after {wait} s\n"
        return "".join(line.format(minute=epoch, epoch=epoch, wait=wait) for epoch in range(8))

    assert diagnose_text(log(25.0)).modes[0].rules == ("epoch-start-gap",)
    assert diagnose_text(log(3.0)).verdict != "failure"


def test_a_bar_whose_rate_falls_for_good() -> None:
    from experiment_debugger.diagnose import diagnose_text

    def log(rate: float) -> str:
        bar = "Epoch 0:  10%|#  | {step}/900 [00:30<03:51, {rate:.2f}it/s, loss=0.6{step}]\n"
        rates = [*times(8.0, 60), *times(rate, 60, seed=2)]
        return "".join(bar.format(step=step, rate=value) for step, value in enumerate(rates, 1))

    assert diagnose_text(log(2.5)).modes[0].rules == ("throughput-drop",)
    assert diagnose_text(log(7.0)).verdict != "failure"


def test_the_period_and_its_cost() -> None:
    stalls = stalls_of(stalling(8))
    assert stalls is not None
    assert (stalls.period, round(stalls.ratio)) == (8, 6)
    assert stalls_of(times(0.2)) is None


def test_units_clocks_and_levels() -> None:
    assert [seconds_of(key) for key in ("iter_time_ms", "elapsed time per iteration (ms)", "t_s", "time")] == [
        1e-3,
        1e-3,
        1.0,
        None,
    ]
    assert is_clock([1.7e9 + i for i in range(50)])
    assert not is_clock(growing(3.0))
    assert levels([1.0, 2.0, 3.0, 4.0], 2) == [1.5, 3.5]


def test_a_million_steps_cost_little() -> None:
    import time

    from experiment_debugger.rules.rulebook import load_rulebook

    evidence = tracked({"step_time": [0.1 + 0.001 * (i % 7) for i in range(1_000_000)]})
    detectors = [load_rulebook().detectors[rule] for rule in (*SLOW, "step-outliers", "rank-straggler")]
    for detector in detectors:
        began = time.process_time()
        list(detector.check(evidence, load_rulebook()))
        assert time.process_time() - began < 2.0, detector.info.id


def restless(factor: float, count: int) -> list[float]:
    return [value * (0.75 if i % 9 == 8 else 1.0) for i, value in enumerate(growing(factor, count))]


def test_few_reports_must_grow_more(tmp_path: Path) -> None:
    assert "step-time-growth" in alarms(tmp_path / "sevenfold", run("step_time", restless(20.0, 20)))
    assert alarms(tmp_path / "twofold", run("step_time", restless(2.2, 20))) == set()
    assert alarms(tmp_path / "too few", run("step_time", restless(20.0, 12))) == set()


def test_growth_under_noise(tmp_path: Path) -> None:
    noisy = [value * (1.6 if i % 5 == 0 else 1.0) for i, value in enumerate(growing(7.0, 24))]
    assert "step-time-growth" in alarms(tmp_path, run("step_time", noisy))


def test_a_loss_that_falls_all_along_explains_no_drop(tmp_path: Path) -> None:
    falling = [2.3 * 0.9 ** (i // 8) for i in range(COUNT)]
    jumps = [2.3 if i < HALF else 0.9 for i in range(COUNT)]
    drop = dropping(3.0, HALF)
    assert "throughput-drop" in alarms(tmp_path / "falls", run("samples_per_sec", drop, ce_loss=falling))
    assert "throughput-drop" not in alarms(tmp_path / "jumps", run("samples_per_sec", drop, ce_loss=jumps))


@pytest.mark.parametrize(("milliseconds", "fires"), [(2.0, False), (200.0, True)])
def test_milliseconds_lost_in_all_are_no_drop(milliseconds: float, fires: bool, tmp_path: Path) -> None:
    values = [milliseconds * (1.0 + 0.02 * (i % 5)) * (4.0 if i >= 27 else 1.0) for i in range(40)]
    found, _ = judge(tmp_path, run("time_ms", values), every=1)
    assert ("throughput-drop" in found) is fires
