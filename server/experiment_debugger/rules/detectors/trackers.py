"""What trackers say of the run as a whole: two writers in one place, nothing recorded, and how the run ended.

runs/exp-8/events...1796051497.node01.12649.0    19:11:37 - 19:12:04 } two processes,
runs/exp-8/events...1796051498.node01.12655.0    19:11:38 - 19:12:05 } one folder
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from experiment_debugger.evidence import FileEvidence, RunEvidence
from experiment_debugger.models import Evidence, Finding, Position
from experiment_debugger.readers.series import Segment, Series
from experiment_debugger.rules.base import RuleInfo, run_detector
from experiment_debugger.rules.plans import EPOCHS, LEARNING_RATE, STEPS, planned_end, reached_end, setting_of
from experiment_debugger.rules.rulebook import Rulebook
from experiment_debugger.rules.seams import in_time
from experiment_debugger.rules.series import series_finding

FEWEST_POINTS = 10
"""Points of one metric by each writer."""
LONG_TOGETHER = 0.1
"""Share of the shorter file's time in which both were written."""
TWICE = 0.4
"""Share of rows whose step stands there already; two writers of one length give a half."""
BACK = 0.1
"""Share of rows with a smaller step than the one before: two writers take turns, a restart goes back once."""
RECORDS = frozenset({"loss", "eval-loss", "metric"})
_SYSTEM = re.compile(r"(?i)^(?:system|gpu|proc|cpu|disk|network|memory|_)(?:[/._]|$)")
_RANK = re.compile(r"(?i)(?:^|_)(?:rank|worker|env|agent|device|seed|fold|trial|client|host|process|actor)(?:_?id)?$")
_INTERVAL = re.compile(r"(?i)^(?:log(?:ging)?_?(?:every(?:_n_steps)?|steps|interval|freq(?:uency)?))$")
_WELL, _BADLY = frozenset({"finished", "completed", "success"}), frozenset({"failed", "crashed", "killed"})


@run_detector(
    id="tracker-two-writers",
    title="two processes wrote into one tracker at the same time",
    mode="silent-error",
    symptom_class="metric-wrong",
    role="root",
    level="warning",
    needs=["series"],
    why="Both curves stand under one name: every plot, mean and best value mixes two runs, or all ranks of one.",
    confirm=["Compare host and process id in the names of the event files; look for a second job or rank."],
    false_positives=["A restart whose predecessor was still writing its last values."],
    references=["https://docs.pytorch.org/docs/stable/tensorboard.html"],
    verified="run",
)
def tracker_two_writers(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """Event files of one folder with the same metrics at the same time, and tables with interleaved rows."""
    for entry in evidence.numbers:
        kind = entry.artifact.kind
        found = _in_two_files(entry) if kind == "tensorboard" else _in_turns(entry) if kind == "metrics" else None
        if found is not None:
            series, index, title = found
            yield series_finding(
                entry, series, index, tracker_two_writers.info, title=title, also=(max(index - 1, 0), len(series) - 1)
            )


def _in_two_files(entry: FileEvidence) -> tuple[Series, int, str] | None:
    """A metric that both of two overlapping files hold, and where the second file's points begin."""
    for one, other in pairwise(in_time(entry.recorded.segments)):
        if not _together(one, other):
            continue
        for series in entry.series:
            index = next((at for at in range(1, len(series)) if series.times[at] < series.times[at - 1]), None)
            if index is not None and min(index, len(series) - index) >= FEWEST_POINTS:
                return series, index, f"{one.name} and {other.name} both hold {series.key}, written at the same time"
    return None


def _together(one: Segment, other: Segment) -> bool:
    """Whether two files overlap in time and in steps."""
    shared = min(one.last_time, other.last_time) - max(one.first_time, other.first_time)
    shorter = min(one.last_time - one.first_time, other.last_time - other.first_time)
    in_steps = min(one.last_step, other.last_step) > max(one.first_step, other.first_step)
    return in_steps and shared > LONG_TOGETHER * shorter > 0


def _in_turns(entry: FileEvidence) -> tuple[Series, int, str] | None:
    """A loss of a table whose steps stand twice and go back again and again; rows of ranks say whose they are."""
    if any(_RANK.search(series.key) for series in entry.series):
        return None
    for series in entry.series:
        count = len(series)
        if series.role != "loss" or series.evaluation or series.axis != "step" or count < 2 * FEWEST_POINTS:
            continue
        back = [at + 1 for at, (before, after) in enumerate(pairwise(series.steps)) if after < before]
        if len(back) >= BACK * count and count - len(set(series.steps)) >= TWICE * count:
            return (
                series,
                back[0],
                f"steps of {series.key} stand twice, and {len(back)} rows go back to an earlier step",
            )
    return None


@run_detector(
    id="tracker-empty",
    title="the run trained to its end and recorded nothing",
    mode="silent-error",
    symptom_class="metric-wrong",
    role="root",
    level="warning",
    needs=[],
    why="The tracker was never given a value: an interval longer than the run, another rank, or no call at all.",
    confirm=[
        "Log one constant in the first step and look for it; print the rank and the condition around the log call."
    ],
    false_positives=["A run that only evaluates, exports or prepares data."],
    references=["https://docs.wandb.ai/guides/track/log", "https://docs.pytorch.org/docs/stable/tensorboard.html"],
    verified="run",
)
def tracker_empty(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """Trackers without one value of training; only context where the values stand elsewhere."""
    elsewhere = any(True for _ in evidence.series(*RECORDS))
    for entry in evidence.numbers:
        if entry.artifact.kind not in {"tensorboard", "wandb"} or any(map(_is_of_training, entry.series)):
            continue
        title = f"no value of training stands in {entry.name}"
        told = (Evidence(path=entry.name, key="scalars", value=0),)
        position = Position(path=entry.name, attempt=entry.artifact.attempt)
        if not elsewhere and _was_trained(evidence, book):
            yield tracker_empty.info.finding(position, told, title=title)
        elif elsewhere:
            changes = {"role": "context", "symptom_class": "observation", "level": "info"}
            yield tracker_empty.info.finding(position, told, title=title, **changes)


def _is_of_training(series: Series) -> bool:
    return bool(len(series)) and not _SYSTEM.match(series.key)


def _was_trained(evidence: RunEvidence, book: Rulebook) -> bool:
    """Whether settings speak of a training that a log says to have ended."""
    planned = setting_of(evidence, STEPS) or setting_of(evidence, EPOCHS) or evidence.planned_steps
    return bool(planned and setting_of(evidence, LEARNING_RATE)) and (reached_end(evidence) or _ended(evidence, book))


def _ended(evidence: RunEvidence, book: Rulebook) -> bool:
    rules = (book.signatures.get(match.rule) for entry in evidence.files for match in entry.matches)
    return any(rule is not None and rule.role == "ending" for rule in rules)


@run_detector(
    id="setting-logging-interval-longer-than-run",
    title="the logging interval is longer than the run",
    symptom_class="observation",
    role="context",
    level="warning",
    needs=[],
    why="Then nothing is ever due.",
    confirm=["Number of optimizer steps of the run against the interval."],
    references=["https://lightning.ai/docs/pytorch/stable/common/trainer.html"],
    verified="run",
)
def setting_logging_interval(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """An interval of steps beyond the end."""
    found, end = setting_of(evidence, _INTERVAL), planned_end(evidence)
    if found is not None and end is not None and found[1] > end:
        setting, interval = found
        told = (Evidence(path=setting.path, key=setting.key, value=int(interval)),)
        title = f"{setting.key} is {interval:g}, the run has {end} steps"
        yield setting_logging_interval.info.finding(Position(path=setting.path), told, title=title)


@run_detector(
    id="tracker-finished",
    title="the tracker says that the run is finished",
    mode=None,
    symptom_class="completed",
    role="ending",
    level="info",
    needs=[],
    why="The process told its tracker that it ended normally, or its last recorded step is the planned one.",
    confirm=["The last step or epoch equals the plan, and the final checkpoint exists."],
    false_positives=["A script that catches its exception and exits with 0."],
    references=["https://mlflow.org/docs/latest/ml/tracking/", "https://docs.wandb.ai/guides/runs"],
    verified="run",
)
def tracker_finished(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """W&B exit code 0, MLflow FINISHED, or a trainer_state.json at its max_steps."""
    for entry in evidence.numbers:
        code, state = _exit_code(entry), entry.recorded.facts.get("state", "").lower()
        if code == 0 or (code is None and state in _WELL) or _stands_at_end(entry):
            yield _ending(entry, tracker_finished.info, f"the tracker says in {entry.name} that the run is finished")


@run_detector(
    id="tracker-failed",
    title="the tracker says that the run failed",
    mode="crash",
    symptom_class="rank-died",
    role="symptom",
    level="error",
    run_state="failed",
    needs=[],
    why="The process ended with an exception or a signal; the reason stands in its console output.",
    confirm=["The traceback at the end of the console output that the tracker kept."],
    false_positives=["A run that was resumed under the same id and finished later."],
    references=["https://mlflow.org/docs/latest/ml/tracking/", "https://docs.wandb.ai/guides/runs"],
    verified="run",
)
def tracker_failed(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """A W&B exit code other than 0, or an MLflow run that is FAILED or KILLED."""
    for entry in evidence.numbers:
        code, state = _exit_code(entry), entry.recorded.facts.get("state", "").lower()
        if code or (code is None and state in _BADLY):
            told = f"exit code {code}" if code else state.upper()
            finding = _ending(
                entry, tracker_failed.info, f"the tracker says in {entry.name} that the run failed: {told}"
            )
            yield finding.model_copy(update={"recovered": _made_good(entry, evidence)})


def _exit_code(entry: FileEvidence) -> int | None:
    text = entry.recorded.facts.get("exit_code", "")
    return int(text) if re.fullmatch(r"-?\d{1,9}", text) else None


def _stands_at_end(entry: FileEvidence) -> bool:
    planned = entry.recorded.planned_steps
    last = max((max(series.steps) for series in entry.series if len(series) and series.axis == "step"), default=-1)
    return entry.artifact.name.endswith("trainer_state.json") and planned is not None and last >= planned > 0


def _made_good(entry: FileEvidence, evidence: RunEvidence) -> bool:
    """Whether a later try of the same tracker finished."""
    return any(
        other.artifact.kind == entry.artifact.kind
        and other.artifact.mtime > entry.artifact.mtime
        and _exit_code(other) == 0
        for other in evidence.numbers
    )


def _ending(entry: FileEvidence, info: RuleInfo, title: str) -> Finding:
    """A finding at the last recorded step, with the fact that says so."""
    steps = [max(series.steps) for series in entry.series if len(series) and series.axis == "step"]
    step = max(steps, default=-1)
    key = next((name for name in ("exit_code", "state") if name in entry.recorded.facts), "max_steps")
    value = entry.recorded.facts.get(key, str(entry.recorded.planned_steps))
    position = Position(path=entry.name, step=step if step >= 0 else None, attempt=entry.artifact.attempt)
    return info.finding(position, (Evidence(path=entry.name, step=position.step, key=key, value=value),), title=title)
