"""A run whose last report stands at the end that its command line, its config or its tracker planned.

    python train.py --epochs 30          Epoch:  30 | Train Loss: 0.02354 | Val Acc: 0.9830
    steps: 1600  (config.yaml)           step 1590 of a CSV with a row every 10 steps, counted from 0
    epochs: 6    (config.yaml)           six evaluations in TensorBoard, the sixth where training ended

A log that prints its plan itself is judged by `readers.progress`. What was planned elsewhere must be met exactly: a run
that went beyond it follows another plan, and every source must have come that far.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from experiment_debugger.evidence import FileEvidence, RunEvidence
from experiment_debugger.models import Evidence, Finding, Position
from experiment_debugger.readers.last_report import LARGEST_SHARE, LOOKED_AT, stands_at_epoch, stands_at_step
from experiment_debugger.readers.series import Series
from experiment_debugger.rules.base import run_detector
from experiment_debugger.rules.plans import EPOCHS, setting_of
from experiment_debugger.rules.rulebook import Rulebook
from experiment_debugger.rules.series import point, position_of

STEPS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"^(?:total|max)_?(?:time_?steps|env_?steps)$",
        r"^(?:max|total)_?(?:train(?:ing)?_?)?(?:steps|iters?|iterations|updates?)$"
        r"|^(?:num_?)?train(?:ing)?_?(?:steps|iters|iterations)$",
        r"^(?:(?:n|num)_?)?(?:steps|iters|iterations)$",
    )
)
"""Names of the planned steps, the most explicit first: `num_steps` of PPO is the length of a rollout."""
_FLAG = re.compile(r"(?:^|\s)(?:--?)?(?P<key>[A-Za-z][\w.-]*)(?:=|\s+)(?P<value>\d[\d_]*)(?=\s|$)")
FEWEST_EPOCHS = 5
"""Evaluations as many as planned epochs that are no coincidence."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How many steps or epochs a run was going to make, and where that stands."""

    count: int
    source: str


@run_detector(
    id="planned-end-reached",
    title="the last report stands at the planned end",
    mode=None,
    symptom_class="completed",
    role="ending",
    level="info",
    needs=[],
    why="Command line, config or tracker say how many steps or epochs were planned, and the run came exactly that far.",
    confirm=["The final checkpoint or result of the run exists."],
    false_positives=["A process that was killed right after its last report, before it could save its result."],
    references=["https://docs.python.org/3/library/argparse.html"],
    verified="run",
)
def planned_end_reached(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """One finding at the last report of the first log or tracker that reached the plan."""
    if any(entry.progress.loop.began_again for entry in evidence.files):
        return
    logs, trackers = _trained(evidence.files), _trained(evidence.numbers)
    steps, epochs = planned_steps(evidence), planned_epochs(evidence)
    printed = _printed(evidence)
    if printed is not None:
        steps, epochs, logs = printed, None, []
    elif any(entry.progress.epochs for entry in evidence.files):
        return
    for entry in (*logs, *trackers):
        title = _at_steps(entry, steps) or _at_epochs(entry, epochs)
        if title and all(_at_steps(source, steps) or _at_epochs(source, epochs) for source in trackers):
            position, told = _last_report(entry)
            yield planned_end_reached.info.finding(position, (told,), title=title)
            return


def _printed(evidence: RunEvidence) -> Plan | None:
    """The steps that the log itself counts up to: a tracker beside it may show that they were made."""
    totals = [Plan(total, entry.name) for entry in evidence.files if (total := entry.progress.total_steps)]
    return max(totals, key=lambda plan: plan.count, default=None)


def planned_steps(evidence: RunEvidence) -> Plan | None:
    """The planned optimizer steps by command line, config or tracker, or as a log printed its settings."""
    found = _planned(evidence, STEPS)
    printed = next(
        (
            Plan(int(fact.value), entry.name)
            for entry in evidence.files
            for fact in entry.facts
            if fact.name == "planned_steps"
        ),
        None,
    )
    return found or printed


def planned_epochs(evidence: RunEvidence) -> Plan | None:
    """The planned epochs by command line, config or tracker."""
    recorded = (
        Plan(entry.recorded.planned_epochs, entry.name) for entry in evidence.numbers if entry.recorded.planned_epochs
    )
    return _planned(evidence, (EPOCHS,)) or next(recorded, None)


def _planned(evidence: RunEvidence, names: Sequence[re.Pattern[str]]) -> Plan | None:
    """The first of these settings that is positive; the command line overrides configs."""
    declared = evidence.run.declared
    flags = [(found["key"], int(found["value"])) for found in _FLAG.finditer(declared.command or "")]
    for pattern in names:
        for key, value in flags:
            if pattern.match(key.replace("-", "_").rpartition(".")[2]) and value > 0:
                return Plan(value, declared.command_at or "the command line")
    for pattern in names:
        found = setting_of(evidence, pattern)
        if found is not None and found[1] >= 1:
            return Plan(int(found[1]), found[0].path)
    return None


def _trained(entries: Sequence[FileEvidence]) -> list[FileEvidence]:
    """The logs or sources that tell of training."""
    return [entry for entry in entries if any(_is_training(series) for series in entry.series) or entry.progress.lines]


def _is_training(series: Series) -> bool:
    return series.role == "loss" and not series.evaluation and bool(len(series))


def _at_steps(entry: FileEvidence, plan: Plan | None) -> str | None:
    """What a finding says where the last steps of a source are the last ones planned."""
    if plan is None:
        return None
    counts = [entry.progress.steps, *(series.steps for series in entry.recorded if series.axis == "step")]
    for count in counts:
        known = [step for step in count if step >= 0]
        if known and _is_met(known, plan.count):
            return f"step {known[-1]} is the last report of the {plan.count} steps planned by {plan.source}"
    return None


def _is_met(steps: Sequence[int], planned: int) -> bool:
    """Whether one loop, and not one after another, ends at the plan."""
    if not (1 - LARGEST_SHARE) * planned - 1 <= steps[-1] <= planned + 1:
        return False
    anew = any(after < before / 2 for before, after in pairwise(steps))
    return not anew and max(steps) <= planned + 1 and stands_at_step(min(steps), steps[-LOOKED_AT:], planned)


def _at_epochs(entry: FileEvidence, plan: Plan | None) -> str | None:
    """The same for epochs: of a log, of a series by epoch, or of evaluations once an epoch."""
    if plan is None:
        return None
    if entry.progress.lines:
        at_end = _log_is_met(entry, plan.count)
    else:
        at_end = any(_series_is_met(series, plan.count) for series in entry.series) or _is_evaluated(entry, plan.count)
    return f"the last report is of the last of the {plan.count} epochs planned by {plan.source}" if at_end else None


def _log_is_met(entry: FileEvidence, planned: int) -> bool:
    loop = entry.progress.loop
    return loop.last_epoch is not None and loop.last_epoch <= planned and loop.stands_at_epoch(planned)


def _series_is_met(series: Series, planned: int) -> bool:
    """A series with one point an epoch: on the axis of epochs, or counted by ones and exactly as long as planned."""
    if not len(series) or series.steps[0] < 0:
        return False
    first, last = series.steps[0], series.steps[-1]
    by_ones = all(after - before == 1 for before, after in pairwise(series.steps))
    counted = by_ones and len(series) == planned >= FEWEST_EPOCHS and first <= 1
    on_axis = series.axis == "epoch" and last <= planned and stands_at_epoch(first, last, planned)
    return counted or on_axis


def _is_evaluated(entry: FileEvidence, planned: int) -> bool:
    """Whether there are as many evaluations as planned epochs, evenly spaced, and training ended with the last one."""
    trained = [series.steps for series in entry.series if _is_training(series) and len(series) > planned]
    last = max((max(steps) for steps in trained), default=-1)
    return last >= 0 and any(
        len(series) == planned >= FEWEST_EPOCHS
        and len({after - before for before, after in pairwise(series.steps)}) == 1
        and series.steps[-1] in {last, last + 1}
        for series in entry.series
        if series.axis == "step" and series.role in {"eval-loss", "metric"}
    )


def _last_report(entry: FileEvidence) -> tuple[Position, Evidence]:
    """Where the last report of a log or source stands."""
    if entry.progress.lines:
        line, step = entry.progress.lines[-1], entry.steps_before(entry.progress.lines[-1])
        position = Position(path=entry.name, line=line, step=step, time=entry.last_time, attempt=entry.artifact.attempt)
        return position, Evidence(path=entry.name, line=line, step=step)
    series = next(series for series in entry.series if _is_training(series))
    return position_of(entry, series, len(series) - 1), point(entry, series, len(series) - 1)
