"""A training loss that leaves for good while it stays finite.

step  3200 loss 1.84
step  3220 loss 7.91      above where it began (2.30), and it stays there
step  9980 loss 61.2
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from experiment_debugger.evidence import FileEvidence, RunEvidence
from experiment_debugger.models import Finding, Level
from experiment_debugger.readers.series import Series
from experiment_debugger.rules.base import run_detector
from experiment_debugger.rules.curves import (
    Course,
    course_of,
    is_game,
    median,
    noise,
    principals,
    rising_share,
    thinned,
)
from experiment_debugger.rules.objective_changes import comes_in_stages, objective_changes
from experiment_debugger.rules.rulebook import Rulebook
from experiment_debugger.rules.series import place_in, series_finding

FAR = 2.0
"""Rise above the start, in units of what was learned before; noise, restarts and curricula stay below the start."""
FAR_OF_START = 0.5
"""The same in units of the start itself, for losses that had hardly fallen."""
CERTAIN = 10.0
"""Rise above the start, in its own units, from which nothing but an explosion is left."""
UNLEARNED = 100.0
"""Growth over the start of a loss that never fell; queues that fill (MoCo) and annealed terms reach far less."""
LOST_ALL = 0.9
"""Share of the fall that was lost again: the model is back where it began."""
LOST_MOST = 0.5
"""The same for a loss that left together with its gradient norm."""
NORM_GROWTH = 10.0
"""Growth of the gradient norm at the onset over its median before."""
LEARNED_NOISE = 3.0
"""Fall that counts as learning, in units of the noise from one point to the next."""
LEARNED_SHARE = 0.1
"""The same in units of the start."""
STAYS = 0.15
"""Share of the points that must lie behind the onset; a spike comes back before."""
FEWEST_AFTER = 5
PEAK, ROSE = 0.95, 1.5
"""Shares of the highest and of the lowest learning rate so far that the one at the onset has, to have risen."""
RANGE_TEST = 1e3
"""Growth of the learning rate in a range test (from 1e-7 to 10 in Lightning and fastai)."""
DEPARTED = 0.25
"""Share of the rise to the start beyond which a level has left its best."""


@dataclass(frozen=True, slots=True)
class Departure:
    """Where a loss left: index into the series, and the levels it began at, had reached, and has now."""

    index: int
    start: float
    best: float
    end: float
    first_index: int
    best_index: int
    last_index: int

    @property
    def fall(self) -> float:
        """What was learned before."""
        return max(self.start - self.best, 0.0)


@run_detector(
    id="loss-diverged",
    title="the training loss left its level and stayed far above it",
    mode="nan-gradient",
    symptom_class="nonfinite",
    role="root",
    level="warning",
    needs=["series"],
    why="Updates that are too large throw the weights far away; the numbers may stay finite and the run still be lost.",
    confirm=["Rerun the steps before the onset from the last checkpoint with a third of the learning rate."],
    false_positives=[
        "A new task, curriculum or loss term that begins at this step.",
        "TD errors of reinforcement learning.",
    ],
    references=["https://arxiv.org/abs/2304.13013"],
    verified="run",
)
def loss_diverged(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """Main losses that end far above their start, or that lost what they had learned. Players' losses are no sign."""
    for entry, series, departure, level in _diverged(evidence):
        values, first, last = series.values, departure.first_index, departure.last_index
        known = f"first {values[first]:.4g}, lowest {values[departure.best_index]:.4g}, last {values[last]:.4g}"
        yield series_finding(
            entry,
            series,
            departure.index,
            loss_diverged.info,
            title=f"{series.key} rose to {values[departure.index]:.4g} and stayed high: {known}",
            level=level,
            also=(departure.best_index, last, first),
        )


@run_detector(
    id="learning-rate-rose-before-divergence",
    title="the learning rate was at its highest when the loss left",
    mode="nan-gradient",
    symptom_class="observation",
    role="context",
    level="info",
    needs=["series"],
    why="A loss that leaves while the learning rate rises leaves because of it.",
    confirm=["Rerun from a checkpoint before the onset with the learning rate of an earlier, quiet step."],
    references=["https://docs.pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"],
    verified="run",
)
def learning_rate_rose_before_divergence(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """A learning rate of the same source that was never higher before the onset, and once was clearly lower."""
    for entry, series, departure, _ in _diverged(evidence):
        place = place_in(series, departure.index)
        for rate in entry.series:
            before = [i for i in thinned(rate) if place_in(rate, i) <= place] if rate.role == "learning-rate" else []
            values = [rate.values[index] for index in before]
            if len(values) >= FEWEST_AFTER and values[-1] >= PEAK * max(values) and values[-1] > ROSE * min(values):
                title = f"{rate.key} had risen to {values[-1]:.3g} when the loss left"
                info = learning_rate_rose_before_divergence.info
                yield series_finding(entry, rate, before[-1], info, title=title, also=(before[0],))


def _diverged(evidence: RunEvidence) -> Iterator[tuple[FileEvidence, Series, Departure, Level]]:
    """The main losses that left for good, where from, and how sure that is."""
    if is_game(evidence):
        return
    for entry, series in principals(evidence):
        if series.nonfinite_from() is not None or _is_range_test(entry):
            continue
        course = course_of(series)
        departure = None if course is None else _departure(series, course)
        if departure is None or course is None or _evaluation_improves(evidence, departure, series):
            continue
        level = _level(entry, series, departure, course)
        if level is not None and not _is_another_objective(evidence, entry, series, departure, course):
            yield entry, series, departure, level


def _is_another_objective(
    evidence: RunEvidence, entry: FileEvidence, series: Series, departure: Departure, course: Course
) -> bool:
    """Whether the loss measures something else since the onset; that does not take it far above its start."""
    if departure.end - departure.start >= CERTAIN * abs(departure.start):
        return False
    if comes_in_stages(course, departure.fall):
        return True
    return objective_changes(evidence, entry, series, departure.best_index, departure.index)


def _is_range_test(entry: FileEvidence) -> bool:
    """Whether the learning rate grows by orders of magnitude to the end: a search for the rate that diverges."""
    for series in entry.series:
        values = [series.values[index] for index in thinned(series)] if series.role == "learning-rate" else []
        if values and 0 < min(values) * RANGE_TEST < values[-1] and rising_share(values) > 0.9:
            return True
    return False


def _departure(series: Series, course: Course) -> Departure | None:
    """The onset: behind the last level that was near the best one, if enough points lie there."""
    levels, start, end = course.levels, course.start, course.end
    lowest = course.lowest()
    best = min(levels[lowest], start)
    if not end > best:
        return None
    limit = best + max(DEPARTED * ((start if start > best else end) - best), LEARNED_NOISE * _calm(course, lowest))
    last = max((at for at, level in enumerate(levels) if level <= limit), default=0)
    first = course.first_of(last)
    at = next((at for at in range(len(course.values) - 1, first - 1, -1) if course.values[at] <= limit), first - 1) + 1
    after = len(course.values) - at
    if at >= len(course.values) or after < max(FEWEST_AFTER, STAYS * len(course.values)):
        return None
    before = course.indices[at - 1] if at else course.indices[0]
    onset = next(i for i in range(before + (at > 0), course.indices[at] + 1) if series.values[i] > limit)
    lowest_at = min((i for i in course.indices if i < onset), key=series.values.__getitem__, default=onset)
    return Departure(onset, start, best, end, course.indices[0], lowest_at, course.indices[-1])


def _calm(course: Course, lowest: int) -> float:
    """The noise of the points up to the best level: behind the onset everything swings."""
    return noise(course.values[: max(4, course.first_of(lowest + 1))])


def _level(entry: FileEvidence, series: Series, departure: Departure, course: Course) -> Level | None:
    """How sure a failure is: error, warning, or None for a rise that healthy runs show too."""
    rise, fall, size = departure.end - departure.start, departure.fall, abs(departure.start)
    calm = _calm(course, course.lowest())
    learned = fall >= LEARNED_NOISE * calm and fall >= LEARNED_SHARE * size
    grew = _norm_grew(entry, series, departure.index)
    if not learned:
        return "error" if size > 0 and departure.end > UNLEARNED * size and grew is not False else None
    if rise >= max(FAR * fall, FAR_OF_START * size):
        return "error" if rise >= CERTAIN * size or grew else "warning"
    lost = (departure.end - departure.best) / fall
    return (
        "warning" if (lost >= LOST_ALL and _is_flat_after(course, departure)) or (lost >= LOST_MOST and grew) else None
    )


def _is_flat_after(course: Course, departure: Departure) -> bool:
    """Whether the loss does not fall again: who learns anew (a new fold, task or restart) is not lost."""
    after = [value for index, value in zip(course.indices, course.values, strict=True) if index >= departure.index]
    third = len(after) // 3
    return median(after[-third:]) >= median(after[third : 2 * third]) - 0.05 * departure.fall if third else False


def _norm_grew(entry: FileEvidence, loss: Series, onset: int) -> bool | None:
    """Whether a gradient norm of the source grew at the onset; None where there is none."""
    known = None
    place = place_in(loss, onset)
    for series in entry.series:
        if series.role != "grad-norm" or len(series) < 2 * FEWEST_AFTER:
            continue
        indices = thinned(series)
        before = [abs(series.values[i]) for i in indices if place_in(series, i) < place]
        after = [abs(series.values[i]) for i in indices if place_in(series, i) >= place]
        if before and after:
            grew = max(after) > NORM_GROWTH * max(median(before), 1e-300)
            known = grew if known is None else known or grew
    return known


def _evaluation_improves(evidence: RunEvidence, departure: Departure, loss: Series) -> bool:
    """Whether an evaluation loss was lower behind the onset than before: then the training loss is another quantity."""
    step = loss.steps[departure.index]
    for _, series in evidence.series("eval-loss"):
        before = [v for s, v in zip(series.steps, series.values, strict=True) if s < step and math.isfinite(v)]
        after = [v for s, v in zip(series.steps, series.values, strict=True) if s >= step and math.isfinite(v)]
        if step >= 0 and before and after and median(after[-3:]) < min(before):
            return True
    return False
