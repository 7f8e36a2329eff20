"""What GPU and CPU did: facts, never failures."""

from __future__ import annotations

from array import array

import pytest
from curve_runs import NAN, Columns, fired, level, tracked

from experiment_debugger.evidence import RunEvidence
from experiment_debugger.rules.rulebook import load_rulebook

COUNT = 60
BUSY, IDLE = level(COUNT, 97.0, noise=1.0), level(COUNT, 3.0, noise=1.0)
GPU, CPU = "utilization.gpu [%]", "cpu_percent"
CLOCK, HEAT = "clocks.current.sm [MHz]", "temperature.gpu"
FELL = [1500.0] * 30 + [615.0] * 30
UTILISATION = {
    "gpu-utilisation-low",
    "cpu-bottleneck",
    "gpu-underused",
    "gpu-load-unbalanced",
    "gpu-clock-dropped",
    "gpu-temperature-high",
}
CASES: dict[str, tuple[Columns, set[str]]] = {
    "busy": ({GPU: BUSY}, set()),
    "idle": ({GPU: IDLE}, {"gpu-utilisation-low"}),
    "up and down": ({GPU: [97.0 if i % 4 == 0 else 1.0 for i in range(COUNT)]}, {"gpu-utilisation-low"}),
    "a pause": ({GPU: [0.0 if 20 <= i < 24 else 97.0 for i in range(COUNT)]}, set()),
    "not in use at all": ({GPU: [0.0] * COUNT}, set()),
    "few samples": ({GPU: [1.0] * 5}, set()),
    "not a number": ({GPU: [NAN] * COUNT}, set()),
    "saturated CPU": ({GPU: IDLE, CPU: BUSY}, {"cpu-bottleneck", "gpu-utilisation-low"}),
    "both busy": ({GPU: BUSY, CPU: BUSY}, set()),
    "nothing is used": (
        {GPU: IDLE, CPU: IDLE, "gpu.0.memoryAllocated": IDLE},
        {"gpu-underused", "gpu-utilisation-low"},
    ),
    "clock fell under load": ({GPU: BUSY, CLOCK: FELL}, {"gpu-clock-dropped"}),
    "clock fell when idle": ({GPU: [*BUSY[:30], *IDLE[30:]], CLOCK: FELL}, {"gpu-utilisation-low"}),
    "clock wavers": ({GPU: BUSY, CLOCK: level(COUNT, 1480.0, noise=30.0)}, set()),
    "clock without load": ({CLOCK: FELL}, set()),
    "hot": ({HEAT: [60.0] * 30 + [87.0] * 30}, {"gpu-temperature-high"}),
    "warm": ({HEAT: level(COUNT, 78.0, noise=1.0)}, set()),
}


@pytest.mark.parametrize("name", CASES)
def test_facts_about_the_device(name: str) -> None:
    columns, expected = CASES[name]
    found = fired(tracked(columns))
    assert UTILISATION & set(found) == expected
    assert all(found[rule].role == "context" for rule in expected)


def of_gpus(*courses: list[float]) -> RunEvidence:
    evidence = tracked({})
    for rank, course in enumerate(courses):
        series = evidence.numbers[0].recorded.of(GPU, rank=rank, axis="record")
        for at, value in enumerate(course):
            series.add(at, value)
    return evidence


def test_a_gpu_that_idles_next_to_busy_ones_stands_out() -> None:
    assert "gpu-load-unbalanced" in fired(of_gpus(BUSY, BUSY, IDLE))
    assert "gpu-load-unbalanced" not in fired(of_gpus(BUSY, level(COUNT, 97.0, noise=1.0, seed=5)))


def test_metrics_that_stop_while_the_machine_is_sampled() -> None:
    def stops(after: float) -> bool:
        evidence = tracked({"train/loss": level(COUNT, 1.0), GPU: BUSY})
        loss, gpu = evidence.numbers[0].recorded
        loss.times = array("d", [10.0 * i for i in range(COUNT)])
        gpu.times = array("d", [(600.0 + after) * i / (COUNT - 1) for i in range(COUNT)])
        return "metrics-stop-mid-run" in fired(evidence)

    assert stops(7200.0)
    assert not stops(600.0)


def test_a_million_samples_cost_little() -> None:
    import time

    evidence = tracked({GPU: [97.0, 3.0] * 500_000, CPU: [50.0] * 1_000_000, CLOCK: [1500.0] * 1_000_000})
    for rule in UTILISATION:
        detector, began = load_rulebook().detectors[rule], time.process_time()
        if detector.scope == "run":
            list(detector.check(evidence, load_rulebook()))
        else:
            for entry, series in evidence.series(*detector.roles):
                list(detector.check(entry, series, evidence))
        assert time.process_time() - began < 2.0, rule
