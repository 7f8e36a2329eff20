"""Step counters of trackers that go back, stand still or leave gaps.

train/loss   step 0 1 2 ... 59 0 1 2 ... 59 0 1     the number of the batch in its epoch, not of the step
train/loss   step 0 0 0 0 0                         add_scalar without global_step
wandb: WARNING Tried to log to step 3 that is less than the current step 119 ... this data will be ignored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from experiment_debugger.evidence import FileEvidence, RunEvidence, evidence_of
from experiment_debugger.models import Finding, Position
from experiment_debugger.readers.series import Series
from experiment_debugger.rules.base import run_detector, series_detector
from experiment_debugger.rules.curves import median, objectives, stretches
from experiment_debugger.rules.rulebook import Rulebook
from experiment_debugger.rules.seams import in_time
from experiment_debugger.rules.series import series_finding

TRACKERS = frozenset({"tensorboard", "wandb"})
FEWEST_TIMES = 2
"""Returns of a counter to its beginning; one is a restart."""
FEWEST_POINTS = 5
"""Points of each round."""
AT_BEGINNING = 0.1
"""Share of the reach of the counter within which a new round begins."""
GOES_ON = 0.5
"""Share of what the first round learned that a later one may lose at its begin: folds and new models lose it all."""
FEWEST_REPEATS = 3
"""Values under the step of the one before; one or two are a restart."""
REGULAR = 0.9
"""Share of equal distances between reports that makes a grid, in which a hole is one."""
MISSING_REPORTS = 3
"""Length of a hole, in usual distances."""
DROPPED = "wandb-step-order-dropped"


@run_detector(
    id="tracker-steps-backwards",
    title="values are recorded under steps that go backwards",
    mode="silent-error",
    symptom_class="metric-wrong",
    role="root",
    level="warning",
    needs=["series"],
    why="Two counters feed one axis, or the batch of the epoch is the step: curves overlap or lose points.",
    confirm=["Print the step next to the value where it is logged; it must be the optimizer step everywhere."],
    false_positives=["Rounds that start anew on purpose, such as folds."],
    references=["https://docs.wandb.ai/guides/track/log", "https://docs.pytorch.org/docs/stable/tensorboard.html"],
    verified="run",
)
def tracker_steps_backwards(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """Event files of one process whose loss goes on while its step starts anew, and what W&B says to have dropped."""
    for entry, series in objectives(evidence):
        rounds = stretches(series) if entry.artifact.kind == "tensorboard" and series.axis == "step" else []
        if len(rounds) <= FEWEST_TIMES or len(in_time(entry.recorded.segments)) > 1:
            continue
        if _start_anew(series, rounds) and _goes_on(series, rounds):
            at = rounds[1][0]
            title = f"the step of {series.key} starts anew {len(rounds) - 1} times while its values go on"
            yield series_finding(entry, series, at, tracker_steps_backwards.info, title=title, also=(at - 1,))
    for entry in evidence.numbers:
        if entry.artifact.kind == "wandb":
            yield from _dropped(entry, evidence)


def _start_anew(series: Series, rounds: Sequence[tuple[int, int]]) -> bool:
    """Whether every round begins near the lowest step and holds some points."""
    lowest, reach = min(series.steps), max(series.steps)
    begins = [series.steps[start] <= lowest + AT_BEGINNING * (reach - lowest) for start, _ in rounds]
    return all(begins) and all(end - start >= FEWEST_POINTS for start, end in rounds[:-1])


def _goes_on(series: Series, rounds: Sequence[tuple[int, int]]) -> bool:
    """Whether the loss of later rounds continues where the round before ended."""
    starts = [median(series.values[start : start + FEWEST_POINTS]) for start, _ in rounds]
    ends = [median(series.values[max(start, end - FEWEST_POINTS) : end]) for start, end in rounds]
    learned = starts[0] - ends[0]
    kept = [start - end <= GOES_ON * learned for end, start in zip(ends, starts[1:], strict=False)]
    return learned > 0 and all(kept)


def _dropped(tracker: FileEvidence, evidence: RunEvidence) -> Iterator[Finding]:
    """What the log says that a W&B run has left out; the run is the place, since the loss of it is lasting."""
    for entry in evidence.files:
        found = [match for match in entry.matches if match.rule == DROPPED]
        if found and entry.artifact.attempt == tracker.artifact.attempt:
            reached = found[0].groups.get("new_last") or found[0].groups.get("last")
            step = int(reached) if reached else None
            yield tracker_steps_backwards.info.finding(
                Position(path=tracker.name, step=step, attempt=tracker.artifact.attempt),
                [evidence_of(entry, match) for match in found[:2]],
                title="Weights & Biases left out values whose step is smaller than the last one",
                count=entry.counts.get(DROPPED, len(found)),
            )
            return


@series_detector(
    "loss",
    id="steps-repeated",
    title="several values are recorded under one step",
    symptom_class="observation",
    role="context",
    level="info",
    why="Micro-steps of one optimizer step, two writers, or a step that is not passed on.",
    confirm=["Count the points of one step; compare with gradient accumulation and the number of processes."],
    references=["https://docs.pytorch.org/docs/stable/tensorboard.html"],
    verified="run",
)
def steps_repeated(entry: FileEvidence, series: Series, evidence: RunEvidence) -> Iterator[Finding]:
    """The first step of a tracker's training loss that holds more than one value, where many do."""
    if entry.artifact.kind not in {*TRACKERS, "metrics"} or series.axis != "step" or series.evaluation:
        return
    repeats = [at + 1 for at, (before, after) in enumerate(pairwise(series.steps)) if before == after >= 0]
    if len(repeats) >= max(FEWEST_REPEATS, 0.1 * len(series)):
        title = f"{len(repeats) + 1} of {len(series)} values of {series.key} repeat the step before"
        yield series_finding(entry, series, repeats[0], steps_repeated.info, title=title, also=(repeats[0] - 1,))


@series_detector(
    "loss",
    id="steps-missing",
    title="reports are missing between steps that are otherwise evenly spaced",
    symptom_class="observation",
    role="context",
    level="info",
    why="The logger dropped them, a part of the run was recorded elsewhere, or the log was cut.",
    confirm=["Look for the missing steps in another source: console, event file, tracker."],
    references=["https://docs.wandb.ai/guides/track/limits"],
    verified="thread",
)
def steps_missing(entry: FileEvidence, series: Series, evidence: RunEvidence) -> Iterator[Finding]:
    """The first hole of a training loss that is reported on a grid."""
    if series.axis != "step" or series.evaluation or len(series) < FEWEST_POINTS:
        return
    distances = [after - before for before, after in pairwise(series.steps)]
    usual = sorted(distances)[len(distances) // 2]
    if usual <= 0 or sum(one == usual for one in distances) < REGULAR * len(distances):
        return
    holes = [at for at, one in enumerate(distances) if one > MISSING_REPORTS * usual]
    missing = sum(distances[at] // usual - 1 for at in holes)
    if holes and series.steps[holes[0]] >= 0:
        at = holes[0]
        title = f"{missing} reports of {series.key} are missing, in {len(holes)} gap{'s' * (len(holes) > 1)}"
        yield series_finding(entry, series, at + 1, steps_missing.info, title=title, also=(at,))
