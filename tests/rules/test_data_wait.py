"""Waiting for data: which share of the step, of what, and when it says nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from curve_runs import NAN, Columns, decay, judge, level, tracked

from experiment_debugger.diagnose import diagnose_text
from experiment_debugger.rules.detectors.data_wait import all_waits

COUNT = 120


def times(value: float, count: int = COUNT, seed: int = 1) -> list[float]:
    """Durations around a value, a twentieth of it up and down."""
    return level(count, value, noise=value / 20, seed=seed)


def run(data: list[float], step: list[float], **more: list[float]) -> Columns:
    return {"train/loss": decay(len(data)), "data_time": data, "step_time": step, **more}


def test_a_step_that_is_mostly_wait_is_slow_data(tmp_path: Path) -> None:
    found, diagnosis = judge(tmp_path, run(times(0.3), times(0.4, seed=2)), every=1)
    assert found["data-time-dominates"].position.step == 0
    assert "75%" in found["data-time-dominates"].title
    assert diagnosis.modes[0].mode == "slow-data"


def test_a_step_time_without_the_wait_is_completed(tmp_path: Path) -> None:
    found, _ = judge(tmp_path, run(times(0.3), times(0.1, seed=2)), every=1)
    assert "75%" in found["data-time-dominates"].title


def test_units_are_read_from_the_keys(tmp_path: Path) -> None:
    columns = {"train/loss": decay(COUNT), "data_time_ms": times(300.0), "step_time_s": times(0.4, seed=2)}
    found, _ = judge(tmp_path, columns, every=1)
    assert "75%" in found["data-time-dominates"].title


def test_phases_add_up_to_the_step(tmp_path: Path) -> None:
    phases = {"t_wait_batch_s": times(0.6), "t_forward_s": times(0.1, seed=2), "t_backward_s": times(0.3, seed=3)}
    found, _ = judge(tmp_path, {"train/loss": decay(COUNT), **phases}, every=1)
    assert "60%" in found["data-time-dominates"].title


HEALTHY = {
    "a tenth of the step": run(times(0.04), times(0.4, seed=2)),
    "four tenths": run(times(0.16), times(0.4, seed=2)),
    "one wait of a minute": run([60.0 if i == 50 else 0.01 for i in range(COUNT)], times(0.4, seed=2)),
    "toy data, a few milliseconds": run(times(0.004), times(0.005, seed=2)),
    "only the first steps": run([9.0] * 2 + times(0.01, 118), times(0.4, seed=2)),
    "units that do not fit": {"train/loss": decay(COUNT), "data_time": times(300.0), "step_time_ms": times(200.0)},
    "a busy GPU behind the wait": run(times(0.3), times(0.4, seed=2), gpu_util=times(97.0)),
    "constant zeros": run([0.0] * COUNT, [0.0] * COUNT),
    "three points": run([0.3] * 3, [0.4] * 3),
    "not a number": run([NAN] * COUNT, times(0.4)),
    "a clock": {"train/loss": decay(COUNT), "data_time": [0.3 * i for i in range(COUNT)], "step_time": times(0.4)},
}


@pytest.mark.parametrize("name", HEALTHY)
def test_what_comes_close_says_nothing(name: str, tmp_path: Path) -> None:
    found, diagnosis = judge(tmp_path, HEALTHY[name], every=1)
    assert "data-time-dominates" not in found
    assert diagnosis.verdict != "failure"


def test_data_that_arrives_in_time_speaks_against_the_loader(tmp_path: Path) -> None:
    found, _ = judge(tmp_path, run(times(0.002), times(0.4, seed=2)), every=1)
    assert found["compute-bound"].role == "context"


def test_holes_and_huge_values_are_passed_over() -> None:
    data, step = times(0.3), times(0.4, seed=2)
    data[20], step[30], data[40] = NAN, NAN, 1e308
    waits = next(iter(all_waits(tracked(run(data, step)))))
    assert len(waits) == COUNT - 2 - 2


def test_a_line_of_durations_is_read() -> None:
    line = "step {step}: loss 2.1 collate 8.6s h2d 0.01s fwd 0.80s bwd 1.60s opt 0.30s\n"
    diagnosis = diagnose_text("".join(line.format(step=step) for step in range(0, 400, 20)))
    assert diagnosis.modes[0].rules[0] == "data-time-dominates"
    assert "76%" in diagnosis.summary
