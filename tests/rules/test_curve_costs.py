"""What a million points cost: every detector of metrics, schedules, steps, trackers and sources on one run of them."""

from __future__ import annotations

import time
from array import array

import pytest
from curve_runs import collector

from experiment_debugger.evidence import FileEvidence, RunEvidence
from experiment_debugger.readers.lines import ScanStats
from experiment_debugger.readers.series import Recorded, Series
from experiment_debugger.rules.base import Detector
from experiment_debugger.rules.rulebook import load_rulebook
from experiment_debugger.run import Artifact

COUNT = 1_000_000
SLOWEST = 2.0
"""CPU seconds of one detector; about half a microsecond a point and series on the slowest machine of the project."""
THEMES = ("metric_values", "metric_pairs", "schedules", "schedule_settings", "steps", "trackers", "resume", "sources")
DETECTORS = [
    detector
    for detector in load_rulebook().detectors.values()
    if detector.check.__module__.rpartition(".")[2] in THEMES
]


def long_series(recorded: Recorded, key: str, end: float) -> Series:
    series = recorded.of(key)
    series.steps = array("q", range(COUNT))
    series.values = array("d", (1.0 - (1.0 - end) * i / COUNT + 0.001 * (i % 7) for i in range(COUNT)))
    series.times = array("d", range(COUNT))
    series.lines = array("q", bytes(8 * COUNT))
    return series


@pytest.fixture(scope="module")
def long_run() -> RunEvidence:
    from pathlib import Path

    evidence = collector().text("step 1 loss 2.0\n")
    for kind in ("tensorboard", "metrics"):
        recorded = Recorded()
        for key, end in (("train/loss", 0.2), ("val/loss", 0.2), ("lr", 0.0), ("val/acc", 0.9)):
            long_series(recorded, key, end)
        artifact = Artifact(Path(kind), kind, kind, 1, 0.0, "test")
        evidence.numbers.append(FileEvidence(artifact, ScanStats(0, 0, ()), [], {}, recorded=recorded))
    return evidence


@pytest.mark.parametrize("detector", DETECTORS, ids=lambda detector: detector.info.id)
def test_a_million_points_cost_little(detector: Detector, long_run: RunEvidence) -> None:
    started = time.process_time()
    if detector.scope == "run":
        list(detector.check(long_run, load_rulebook()))
    else:
        for entry, series in long_run.series(*detector.roles):
            list(detector.check(entry, series, long_run))
    assert time.process_time() - started < SLOWEST


def test_all_themes_are_here() -> None:
    assert len(DETECTORS) >= 20
