"""One rank that everyone waits for, told from ranks that merely differ."""

from __future__ import annotations

from pathlib import Path

import pytest
from curve_runs import collector, level

from experiment_debugger.diagnose.engine import diagnose_evidence
from experiment_debugger.models import Diagnosis
from experiment_debugger.project import find_project
from experiment_debugger.rules.rulebook import load_rulebook
from experiment_debugger.run import resolve

COUNT = 80


def times(value: float, seed: int) -> list[float]:
    return level(COUNT, value, noise=value / 20, seed=seed)


def diagnose(folder: Path, ranks: list[list[float]], key: str = "step_time", beside: str = "") -> Diagnosis:
    """A run with one log a rank."""
    logs = folder / "logs" / "run-42"
    logs.mkdir(parents=True)
    for rank, values in enumerate(ranks):
        lines = [f"step {i} loss {2 - i / 100:.4f} {key} {value:.5f}{beside}\n" for i, value in enumerate(values)]
        (logs / f"rank{rank}.log").write_text("".join(lines), encoding="utf-8")
    return diagnose_evidence(collector().run(resolve(find_project(folder, folder, {}), "42")), load_rulebook())


def test_the_slow_rank_is_named(tmp_path: Path) -> None:
    diagnosis = diagnose(tmp_path, [times(0.1, 1), times(0.1, 2), times(0.2, 3), times(0.1, 4)])
    assert diagnosis.modes[0].rules == ("rank-straggler",)
    assert "Rank 2 takes 2.0 times" in diagnosis.summary
    assert {item.path for item in diagnosis.modes[0].evidence} >= {"logs/run-42/rank2.log"}


def test_the_slow_one_of_two_ranks_is_named(tmp_path: Path) -> None:
    assert "Rank 1" in diagnose(tmp_path, [times(0.1, 1), times(0.3, 2)]).summary


HEALTHY = {
    "collectives make all alike": [times(0.2, 1), times(0.2, 2), times(0.2, 3)],
    "a fifth more": [times(0.1, 1), times(0.12, 2), times(0.1, 3)],
    "rank 0 saves and evaluates": [
        [value + (5.0 if i % 20 == 0 else 0) for i, value in enumerate(times(0.1, 1))],
        times(0.1, 2),
    ],
    "slow in one half": [times(0.1, 1), [*times(0.1, 2)[:40], *times(0.3, 2)[40:]]],
    "one rank": [times(0.1, 1)],
    "three points": [times(0.1, 1)[:3], times(0.3, 2)[:3]],
    "constant": [[0.1] * COUNT, [0.1] * COUNT],
}


@pytest.mark.parametrize("name", HEALTHY)
def test_ranks_that_merely_differ_say_nothing(name: str, tmp_path: Path) -> None:
    assert "rank-straggler" not in diagnose(tmp_path, HEALTHY[name]).checked.fired


def test_data_times_of_a_millisecond_say_nothing(tmp_path: Path) -> None:
    ranks = [times(0.001, 1), times(0.003, 2)]
    diagnosis = diagnose(tmp_path, ranks, key="data_time", beside=" step_time 0.25")
    assert "rank-straggler" not in diagnosis.checked.fired
