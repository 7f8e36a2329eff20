"""A loss that stays where it began: the model does not learn.

step   100 loss 2.3041 grad_norm 0.0      ten classes: ln 10 = 2.303 is what guessing costs
step 20000 loss 2.3019 grad_norm 0.0
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from experiment_debugger.evidence import FileEvidence, RunEvidence
from experiment_debugger.models import Finding
from experiment_debugger.readers.roles import is_evaluation
from experiment_debugger.readers.series import Series
from experiment_debugger.rules.base import run_detector
from experiment_debugger.rules.chance import NEAR_CHANCE, SUPPOSED, classes_at
from experiment_debugger.rules.curves import Course, course_of, is_game, median, principals, spread
from experiment_debugger.rules.rulebook import Rulebook
from experiment_debugger.rules.series import series_finding

FEWEST_POINTS = 20
"""Reports of the loss; SageMaker's LossNotDecreasing asks after 10 steps, which every warm-up fails."""
FEWEST_STEPS = 100
"""Optimizer steps; within fewer a warm-up has hardly begun."""
FEWEST_EPOCHS = 5
LEVEL_BAND = 0.02
"""Distance of every level from ln C, as a share, where noise is not larger."""
SETTLING = 0.2
"""Share of the points at the start that may lie above: a bad initialisation settles to chance."""
FLAT_NOISE = 2.0
"""Fall from the first to the last third, in standard errors of their medians, that is no learning."""
PLANNED_SHARE = 0.05
"""Share of the planned steps below which nothing can be said."""
ARRIVES = 1e-6
"""Gradient norm above which something arrives."""
DIGITS = 5
"""Significant digits of a value that is the same in every report; fewer may be rounding."""
EVALUATIONS = 4
"""Evaluations that agree in every digit."""
FEWEST_STILL, STILL_DIGITS = 6, 4
"""Reports and significant digits of a loss that is the same in all of them, next to an evaluation that is too."""
SATURATED = 1e-3
"""A loss below is solved to the limits of its precision, and may rest there."""
SINGLE = 2.0**-22
"""Two units in the last place of single precision, as a share."""
GUESSING = "which is guessing"
_WARMUP = re.compile(r"warm_?up", re.IGNORECASE)


@run_detector(
    id="loss-never-learned",
    title="the training loss never left its start level",
    mode="silent-error",
    symptom_class="no-learning",
    role="root",
    level="error",
    needs=["series"],
    why="A loss at ln C is a guess among C classes: no gradient, no update, or inputs that do not tell the labels.",
    confirm=["Overfit one batch of 8: if that fails too it is loss, graph or optimizer, else the data."],
    false_positives=["A run that was stopped within its warm-up.", "A loss of players against each other."],
    references=[
        "https://docs.aws.amazon.com/sagemaker/latest/dg/debugger-built-in-rules.html#loss-not-decreasing",
        "https://karpathy.github.io/2019/04/25/recipe/",
    ],
    verified="run",
)
def loss_never_learned(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """Main losses that are flat and at chance, or flat without a gradient, a learning rate or any change of a digit."""
    for entry, series, indices, (words, level) in _stuck(evidence):
        yield series_finding(
            entry,
            series,
            indices[0],
            loss_never_learned.info,
            title=f"{series.key} {words}",
            level=level,
            also=(indices[len(indices) // 2], indices[-1]),
        )


@run_detector(
    id="gradient-present-without-learning",
    title="gradients arrive although the loss never leaves its start level",
    mode="silent-error",
    symptom_class="observation",
    role="context",
    level="info",
    needs=["series"],
    why="The path from loss to parameters works: look at the optimizer, the learning rate, and at inputs and labels.",
    confirm=["Checksum of the parameters before and after a step: if it changes, look at the data."],
    references=["https://karpathy.github.io/2019/04/25/recipe/"],
    verified="run",
)
def gradient_present_without_learning(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """Ordinary gradient norms next to a loss at chance, at a learning rate that is not zero."""
    for entry, _, _, (words, _) in _stuck(evidence):
        if GUESSING not in words or _is_zero(entry, "learning-rate"):
            continue
        norm = next((one for one in entry.series if one.role == "grad-norm" and not one.evaluation), None)
        course = course_of(norm) if norm is not None else None
        if norm is not None and course is not None and min(course.levels) > ARRIVES:
            title = f"{norm.key} has a median of {median(course.values):.3g} all the while"
            info = gradient_present_without_learning.info
            yield series_finding(entry, norm, course.indices[-1], info, title=title)


def _stuck(evidence: RunEvidence) -> Iterator[tuple[FileEvidence, Series, list[int], tuple[str, str]]]:
    """The main losses that never learned: their points, and the words and the level of the reason."""
    if is_game(evidence):
        return
    for entry, series in principals(evidence):
        course = course_of(series)
        if _metric_improves(entry):
            continue
        reason = None
        if course is not None and _is_long_enough(series, course, evidence) and not _is_resumed(series, course):
            reason = _reason(entry, course, evidence)
        reason = reason or _still(series, evidence)
        if reason is not None:
            yield entry, series, [*range(len(series))] if course is None else course.indices, reason


@run_detector(
    id="loss-flat",
    title="the training loss is flat from the first report to the last",
    mode="silent-error",
    symptom_class="observation",
    role="context",
    level="info",
    needs=["series"],
    why="Contrastive losses, losses of fine-tuning and of late training look flat in health: alone it proves nothing.",
    confirm=["Compare the first and the last checkpoint on one fixed batch."],
    references=["https://docs.aws.amazon.com/sagemaker/latest/dg/debugger-built-in-rules.html#loss-not-decreasing"],
    verified="run",
)
def loss_flat(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """SageMaker Debugger's LossNotDecreasing, over the whole run instead of 10 steps, and only as context."""
    for entry, series in principals(evidence):
        course = course_of(series)
        if course is not None and _is_long_enough(series, course, evidence) and is_flat(course):
            title = f"{series.key} stays at a median of {median(course.values):.4g} in all {len(series)} reports"
            yield series_finding(entry, series, course.indices[0], loss_flat.info, title=title, also=(len(series) - 1,))


def _reason(entry: FileEvidence, course: Course, evidence: RunEvidence) -> tuple[str, str] | None:
    """(words of the title, level) of the first thing that makes a flat loss a failure."""
    stays = f"stays at a median of {median(course.values):.4g}"
    late = median(course.values[len(course.values) // 2 :])
    for count, who in classes_at(late, evidence).items():
        if _settles_at(course, math.log(count)):
            words = f"{stays}, ln {count} = {math.log(count):.4g}, {GUESSING} ({who})"
            return words, "warning" if who.endswith(SUPPOSED) else "error"
    if not is_flat(course):
        return None
    if _is_zero(entry, "grad-norm"):
        return f"{stays} while every gradient norm is 0", "error"
    if _is_zero(entry, "learning-rate"):
        return f"{stays} while the learning rate is 0", "error"
    if _is_constant(course):
        return f"is {course.values[0]!r} to the last digit in all {len(course.values)} reports", "warning"
    evaluation = _constant_evaluation(evidence, EVALUATIONS) if classes_at(late, evidence, NEAR_CHANCE) else None
    return (f"{stays} while {evaluation} is the same in every evaluation", "warning") if evaluation else None


def _still(series: Series, evidence: RunEvidence) -> tuple[str, str] | None:
    """The reason where the loss and an evaluation are the same in all of a few reports: no weight was changed.

    A warm-up begins with steps too small to see, so as much of the plan as for other reasons has to be over.
    """
    value, count = series.values[0], len(series)
    planned = evidence.planned_steps if series.axis == "step" else None
    trained = series.steps[-1] - series.steps[0]
    if count < FEWEST_STILL or _digits(value) < STILL_DIGITS or abs(value) < SATURATED or not _is_same(series.values):
        return None
    if trained < PLANNED_SHARE * (planned or 0) or _is_warming_up(trained, evidence):
        return None
    evaluation = _constant_evaluation(evidence, FEWEST_STILL)
    if evaluation is None or any(not _is_same(other.values) for _, other in evidence.series("eval-loss")):
        return None
    return f"is {value:.6g} in all {count} reports, and {evaluation} is the same in every evaluation", "warning"


def is_flat(course: Course) -> bool:
    """Whether nothing fell: neither from the start, nor from the first third to the last."""
    third = len(course.values) // 3
    first, last = course.values[:third], course.values[-third:]
    scatter = max(spread(course.values), 1e-12 * abs(course.start))
    error = 1.25 * scatter * math.sqrt(2 / third)
    return abs(median(first) - median(last)) <= FLAT_NOISE * error and abs(course.start - median(last)) <= 3 * scatter


def _settles_at(course: Course, chance: float) -> bool:
    """Whether the loss settles at ln C and never leaves it."""
    settled = course.values[int(SETTLING * len(course.values)) :]
    levels = course.levels[math.ceil(SETTLING * len(course.levels)) :]
    band = max(LEVEL_BAND * chance, min(spread(settled), 0.1 * chance))
    return all(abs(level - chance) <= band for level in levels)


def _is_long_enough(series: Series, course: Course, evidence: RunEvidence) -> bool:
    """Whether so much was trained that a loss has to have moved, warm-up included."""
    trained = series.steps[course.indices[-1]] - series.steps[course.indices[0]]
    if series.axis == "epoch":
        return len(course.values) >= 8 and trained >= FEWEST_EPOCHS
    if len(course.values) < FEWEST_POINTS or trained < FEWEST_STEPS:
        return False
    if _is_warming_up(trained, evidence):
        return False
    return not evidence.planned_steps or trained >= PLANNED_SHARE * evidence.planned_steps


def _is_warming_up(trained: int, evidence: RunEvidence) -> bool:
    """Whether a warm-up, as a setting tells it in steps, takes more than half of what was trained."""
    warmup = [setting.value for setting in evidence.settings if _WARMUP.search(setting.name)]
    return any(isinstance(value, int | float) and 2 * value > trained for value in warmup)


def _is_resumed(series: Series, course: Course) -> bool:
    """Whether the series begins in the middle of training."""
    first, last = series.steps[course.indices[0]], series.steps[course.indices[-1]]
    return first > 0.2 * last


def _metric_improves(entry: FileEvidence) -> bool:
    """Whether a score of the source grew by half: something is learned then, whatever the loss says."""
    for series in entry.series:
        course = course_of(series) if series.role == "metric" else None
        if course is not None and course.start > 0 and course.end > 1.5 * course.start + 3 * course.noise:
            return True
    return False


def _is_zero(entry: FileEvidence, role: str) -> bool:
    """Whether every value of this role is exactly zero."""
    found = [series for series in entry.series if series.role == role and not series.evaluation]
    return bool(found) and all(series.values.count(0.0) == len(series) >= FEWEST_POINTS // 2 for series in found)


def _constant_evaluation(evidence: RunEvidence, fewest: int) -> str | None:
    """The key of a score or loss of evaluations that never changes a digit."""
    for _, series in evidence.series("metric", "eval-loss"):
        evaluation = series.evaluation or is_evaluation(series.key)
        if evaluation and series.values[0] not in {0.0, 1.0} and len(series) >= fewest and _is_same(series.values):
            return series.key
    return None


def _is_constant(course: Course) -> bool:
    """Whether every report has the same value, written with so many digits that rounding is no reason."""
    value = course.values[0]
    return _digits(value) >= DIGITS and course.values.count(value) == len(course.values)


def _is_same(values: Sequence[float]) -> bool:
    """Whether all values are one, but for the last bits of single precision: sums in another order differ in those."""
    return math.isfinite(sum(values)) and max(values) - min(values) <= SINGLE * abs(values[0])


def _digits(value: float) -> int:
    """The significant digits that a value is written with; none of zero."""
    return len(f"{abs(value):.15g}".replace(".", "").strip("0")) if value else 0
