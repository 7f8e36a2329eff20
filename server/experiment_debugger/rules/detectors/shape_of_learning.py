"""What the curves of a sound run say about its result: over-fitting, plateau, oscillation, spikes that were survived.

None of these is a bug, and all are context: an analyst decides what to do about them.
"""

from __future__ import annotations

from collections.abc import Iterator

from experiment_debugger.evidence import FileEvidence, RunEvidence
from experiment_debugger.models import Finding
from experiment_debugger.readers.series import Series
from experiment_debugger.rules.base import run_detector
from experiment_debugger.rules.curves import Course, course_of, is_game, median, noise, principals, spread
from experiment_debugger.rules.rulebook import Rulebook
from experiment_debugger.rules.series import series_finding

FEWEST_EVALUATIONS = 6
OVERFIT_RISE = 0.1
"""Rise of the evaluation loss over its lowest value. SageMaker's Overfit compares it with the training loss of one
step ((val - train) / train > 0.1), which dropout and augmentation alone exceed or hide."""
PATIENCE = 3
"""Evaluations in a row above the lowest by that much; SageMaker's Overfit takes one."""
FEWEST_POINTS = 40
PLATEAU = 0.6
"""Share of the run, at its end, in which the loss does not fall; schedules that end at zero are flat for a third."""
LEFT_OVER = 0.3
"""Level of the plateau as a share of the start: below that the loss has done most of what it can."""
MOVED = 0.02
"""Fall within the plateau, as a share of the whole fall, that still counts as nothing."""
LEARNED = 0.1
"""Fall from the start, as a share of it, that makes a plateau of a loss that had learned."""
SWING = 0.5
"""Noise from point to point, in units of what the run learned, and of its level."""
SPIKE_NOISE = 10.0
"""Height of a spike in units of the noise before it."""
SPIKE_FALL = 0.5
"""The same in units of what was learned before it."""
SPIKE_AFTER = 0.1
"""Share of the run at its start in which nothing is called a spike."""


@run_detector(
    id="eval-loss-overfitting",
    title="the evaluation loss rises while the training loss still falls",
    mode="silent-error",
    kind="science",
    symptom_class="observation",
    role="context",
    level="info",
    needs=["series"],
    why="SageMaker Debugger's Overfit and Overtraining. The best checkpoint is an earlier one; the code does its work.",
    confirm=["Take the checkpoint with the lowest evaluation loss and compare the metric that counts."],
    false_positives=["Cross entropy that rises by confidence while the accuracy still grows."],
    references=["https://docs.aws.amazon.com/sagemaker/latest/dg/debugger-built-in-rules.html#overfit"],
    verified="run",
)
def eval_loss_overfitting(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """Evaluation losses that end well above their lowest value, next to a training loss that does not rise."""
    falling = [course.end <= course.levels[course.lowest()] + course.noise for _, _, course in _courses(evidence)]
    if not falling or not all(falling):
        return
    for entry, series in evidence.series("eval-loss"):
        course = course_of(series)
        lowest = min(range(len(course.values)), key=course.values.__getitem__) if course else 0
        if course is None or lowest >= len(course.values) - PATIENCE or len(course.values) < FEWEST_EVALUATIONS:
            continue
        best, last = course.values[lowest], min(course.values[-PATIENCE:])
        if best > 0 and last - best > max(OVERFIT_RISE * best, 2 * course.noise):
            title = f"{series.key} rose from {best:.4g} to {course.values[-1]:.4g} while the training loss fell"
            at, end = course.indices[lowest], course.indices[-1]
            yield series_finding(entry, series, at, eval_loss_overfitting.info, title=title, also=(end,))


def _courses(evidence: RunEvidence) -> Iterator[tuple[FileEvidence, Series, Course]]:
    """The main training losses that have a course and stay finite."""
    for entry, series in principals(evidence):
        course = course_of(series)
        if course is not None and series.nonfinite_from() is None:
            yield entry, series, course


@run_detector(
    id="loss-plateau",
    title="the training loss fell and has been flat for most of the run",
    mode="silent-error",
    kind="science",
    symptom_class="observation",
    role="context",
    level="info",
    needs=["series"],
    why="It learned first, so the path from data to weights works. Capacity, schedule or data set the level.",
    confirm=["Compare the level with a baseline, and the learning rate at the beginning of the plateau."],
    references=["https://docs.aws.amazon.com/sagemaker/latest/dg/debugger-built-in-rules.html#loss-not-decreasing"],
    verified="run",
)
def loss_plateau(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """Losses flat in the last PLATEAU of the run, far above zero. Never called converged: that no curve can say."""
    for entry, series, course in _courses(evidence):
        first = int((1 - PLATEAU) * len(course.values))
        late = course.values[first:]
        third = len(late) // 3
        fall = course.start - course.end
        if len(course.values) < FEWEST_POINTS or fall < LEARNED * abs(course.start):
            continue
        still = abs(median(late[:third]) - median(late[-third:])) <= MOVED * fall
        if still and course.end > LEFT_OVER * course.start > 0:
            at, began = course.indices[first], course.values[0]
            title = f"{series.key} began at {began:.4g} and has a median of {median(late):.4g} from here on"
            yield series_finding(
                entry, series, at, loss_plateau.info, title=title, also=(course.indices[0], course.indices[-1])
            )


@run_detector(
    id="loss-oscillation",
    title="the training loss swings as far as it has come down",
    mode="silent-error",
    kind="science",
    symptom_class="observation",
    role="context",
    level="info",
    needs=["series"],
    why="Steps that overshoot, or batches so small or unequal that one report says nothing: smooth before judging.",
    confirm=["Plot a running mean; halve the learning rate, or double the batch, for a few hundred steps."],
    references=["https://cs231n.github.io/neural-networks-3/"],
    verified="run",
)
def loss_oscillation(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """Losses whose noise in the second half is as large as half of their level and of their fall."""
    if is_game(evidence):
        return
    for entry, series, course in _courses(evidence):
        half = len(course.values) // 2
        late = course.values[half:]
        swing, fall = noise(late), max(course.start - median(late), 0.0)
        if len(course.values) >= FEWEST_POINTS and median(late) > 0 and swing > SWING * max(fall, median(late)):
            title = f"{series.key} swings by {swing:.3g} from report to report around a median of {median(late):.4g}"
            yield series_finding(entry, series, course.indices[half], loss_oscillation.info, title=title)


@run_detector(
    id="loss-spike-recovered",
    title="the training loss jumped and came back",
    mode="nan-gradient",
    kind="science",
    symptom_class="observation",
    role="context",
    level="info",
    needs=["series"],
    why="A spike that comes back costs little; many of them announce a divergence.",
    confirm=["Learning rate, gradient norm and sample ids of the step of the spike."],
    references=["https://arxiv.org/abs/2204.02311"],
    verified="run",
)
def loss_spike_recovered(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """The highest spike of each main loss whose level afterwards is as low as before."""
    if is_game(evidence):
        return
    for entry, series, course in _courses(evidence):
        at = _spike(course)
        if at is not None:
            usual, _, _ = _around(course, at)
            title = f"{series.key} jumped to {course.values[at]:.4g} from a median of {usual:.4g} and came back"
            yield series_finding(entry, series, course.indices[at], loss_spike_recovered.info, title=title)


def _spike(course: Course) -> int | None:
    """The position of the highest point, where it is a spike that was survived."""
    first = max(8, int(SPIKE_AFTER * len(course.values)))
    if len(course.values) < FEWEST_POINTS:
        return None
    at = max(range(first, len(course.values)), key=course.values.__getitem__)
    before, after, scatter = _around(course, at)
    height = course.values[at] - before
    learned = course.start - before
    if learned <= 0 or height < max(SPIKE_NOISE * scatter, SPIKE_FALL * learned):
        return None
    return at if after <= before + max(2 * scatter, 0.05 * learned) else None


def _around(course: Course, at: int) -> tuple[float, float, float]:
    """(level before, level at the end, scatter before) of a point."""
    before = course.values[max(0, at - 40) : at]
    return median(before), course.end, max(noise(before), spread(before))
