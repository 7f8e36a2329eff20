"""Runs whose curves are made by arithmetic: one CSV, read and judged like any other run."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from experiment_debugger.collection import Collector
from experiment_debugger.diagnose.engine import diagnose_evidence
from experiment_debugger.diagnose.findings import all_outcomes
from experiment_debugger.evidence import FileEvidence, RunEvidence
from experiment_debugger.models import Diagnosis, Finding
from experiment_debugger.project import Project, find_project
from experiment_debugger.readers.lines import ScanStats
from experiment_debugger.readers.series import Histogram, Recorded
from experiment_debugger.rules.matcher import plan_of
from experiment_debugger.rules.rulebook import load_rulebook
from experiment_debugger.run import Artifact, Attempt, Run, resolve

Columns = Mapping[str, Sequence[float | None]]
NAN = math.nan


def write_run(folder: Path, columns: Columns, *, every: int = 10, steps: Sequence[int] = (), config: str = "") -> None:
    """The CSV of run 42 with a step column, and its config."""
    count = max(len(values) for values in columns.values())
    numbers = steps or range(0, count * every, every)
    lines = [",".join(("step", *columns))]
    lines += [
        ",".join((str(step), *("" if value is None else repr(value) for value in row)))
        for step, row in zip(numbers, zip(*columns.values(), strict=True), strict=True)
    ]
    run = folder / "logs" / "run-42"
    run.mkdir(parents=True, exist_ok=True)
    (run / "metrics.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (run / "config.yaml").write_text(config or "seed: 1\n", encoding="utf-8")


@cache
def collector() -> Collector:
    """A reader of runs; what it compiles costs more than a small run does."""
    plan = plan_of(tuple(load_rulebook().signatures.values()))
    return Collector(plan.literals, plan.reader)


def judge(
    folder: Path, columns: Columns, *, every: int = 10, steps: Sequence[int] = (), config: str = ""
) -> tuple[dict[str, Finding], Diagnosis]:
    """The first finding of every rule that fired, and the diagnosis."""
    write_run(folder, columns, every=every, steps=steps, config=config)
    evidence = collector().run(resolve(find_project(folder, folder, {}), "42"))
    return fired(evidence), diagnose_evidence(evidence, load_rulebook())


def tracked(columns: Columns, histograms: Sequence[Histogram] = ()) -> RunEvidence:
    """A run whose only source is binary (no lines), with a point at every step."""
    recorded = Recorded(histograms=[*histograms])
    for key, values in columns.items():
        series = recorded.of(key)
        series.values = array("d", [NAN if value is None else value for value in values])
        series.steps = array("q", range(len(values)))
        series.times = array("d", [NAN]) * len(values)
        series.lines = array("q", [0]) * len(values)
    artifact = Artifact(Path("runs"), "runs", "tensorboard", 0, 0.0, "named")
    run = Run("42", "named", Project(root=Path()), (artifact,), (Attempt(0, "-", ("-",)),))
    return RunEvidence(
        run, [], [], "re", numbers=[FileEvidence(artifact, ScanStats(0, 0, ()), [], {}, recorded=recorded)]
    )


def fired(evidence: RunEvidence) -> dict[str, Finding]:
    """The first finding of every rule over what was read."""
    outcomes = all_outcomes(evidence, load_rulebook())
    assert [outcome for outcome in outcomes if outcome.status == "error"] == []
    return {outcome.rule: outcome.findings[0] for outcome in outcomes if outcome.findings}


def roots(findings: Mapping[str, Finding]) -> list[str]:
    """The rules whose finding is a failure."""
    return sorted(rule for rule, finding in findings.items() if finding.role == "root" and not finding.recovered)


def ripple(index: int, seed: int = 0) -> float:
    """Noise without a generator: about normal, of mean 0 and deviation 1, the same in every run."""
    parts = (math.sin((index + 1) * (12.9898 + part) + 78.233 * seed) * 43758.5453 % 1 for part in range(6))
    return (sum(parts) - 3) * math.sqrt(2)


def decay(count: int, start: float = 2.3, end: float = 0.4, noise: float = 0.03, seed: int = 0) -> list[float]:
    """A loss that falls exponentially from start to end, with the noise of its batches."""
    return [end + (start - end) * math.exp(-5 * i / count) + noise * ripple(i, seed) for i in range(count)]


def level(count: int, value: float, noise: float = 0.03, seed: int = 1) -> list[float]:
    """A curve without trend."""
    return [value + noise * ripple(i, seed) for i in range(count)]
