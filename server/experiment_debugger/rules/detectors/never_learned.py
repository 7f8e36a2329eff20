"""A loss that stays where it began: the model does not learn.

step   100 loss 2.3041 grad_norm 0.0      ten classes: ln 10 = 2.303 is what guessing costs
step 20000 loss 2.3019 grad_norm 0.0
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from experiment_debugger.evidence import FileEvidence, RunEvidence
from experiment_debugger.models import Finding
from experiment_debugger.readers.series import Series
from experiment_debugger.rules.base import run_detector
from experiment_debugger.rules.curves import Course, course_of, is_game, median, principals, spread
from experiment_debugger.rules.rulebook import Rulebook
from experiment_debugger.rules.series import series_finding

FEWEST_POINTS = 20
"""Reports of the loss; SageMaker's LossNotDecreasing asks after 10 steps, which every warm-up fails."""
FEWEST_STEPS = 100
"""Optimizer steps; within fewer a warm-up has hardly begun."""
FEWEST_EPOCHS = 5
AT_CHANCE = 0.01
"""Distance of the median from ln C, as a share; guessing with almost equal logits stays this near."""
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
USUAL_CLASSES = (10, 100, 1000)
"""CIFAR, MNIST, ImageNet: believed without a setting where the accuracy is that of guessing too."""
GUESSED = 0.4
"""Distance of an accuracy from 1/C, as a share of it; a few hundred evaluated samples scatter by a third."""
GUESSING, SUPPOSED = "which is guessing", "is that of guessing"
_ACCURACY = re.compile(r"acc(?:uracy)?(?:@1|_?top_?1|1)?$", re.IGNORECASE)
_CLASSES = re.compile(
    r"^(?:num_?classes|n_?classes|num_?labels|nc|(?:padded_|n_)?vocab(?:_size)?|num_class|n_vocab)$", re.IGNORECASE
)
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
    for entry, series, course, (words, level) in _stuck(evidence):
        yield series_finding(
            entry,
            series,
            course.indices[0],
            loss_never_learned.info,
            title=f"{series.key} {words}",
            level=level,
            also=(course.indices[len(course.indices) // 2], course.indices[-1]),
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
            title = f"{norm.key} is {median(course.values):.3g} all the while"
            info = gradient_present_without_learning.info
            yield series_finding(entry, norm, course.indices[-1], info, title=title)


def _stuck(evidence: RunEvidence) -> Iterator[tuple[FileEvidence, Series, Course, tuple[str, str]]]:
    """The main losses that never learned, with the words and the level of the reason."""
    if is_game(evidence):
        return
    classes = _classes(evidence)
    for entry, series in principals(evidence):
        course = course_of(series)
        if course is None or not _is_long_enough(series, course, evidence) or _is_resumed(series, course):
            continue
        reason = _reason(entry, course, classes, evidence) if not _metric_improves(entry) else None
        if reason is not None:
            yield entry, series, course, reason


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
            title = f"{series.key} stays at {median(course.values):.4g} from the first report to the last"
            yield series_finding(entry, series, course.indices[0], loss_flat.info, title=title, also=(len(series) - 1,))


def _reason(
    entry: FileEvidence, course: Course, classes: dict[int, str], evidence: RunEvidence
) -> tuple[str, str] | None:
    """(words of the title, level) of the first thing that makes a flat loss a failure."""
    stays = f"stays at {median(course.values):.4g}"
    count = _chance(course, classes)
    if count is not None:
        words = f"stays at ln {count} = {math.log(count):.4g}, {GUESSING} ({classes[count]})"
        return words, "warning" if classes[count].endswith(SUPPOSED) else "error"
    if not is_flat(course):
        return None
    if _is_zero(entry, "grad-norm"):
        return f"{stays} while every gradient norm is 0", "error"
    if _is_zero(entry, "learning-rate"):
        return f"{stays} while the learning rate is 0", "error"
    if _is_constant(course):
        return f"is {course.values[0]!r} to the last digit in all {len(course.values)} reports", "warning"
    evaluation = _constant_evaluation(evidence)
    return (f"{stays} while {evaluation} is the same in every evaluation", "warning") if evaluation else None


def is_flat(course: Course) -> bool:
    """Whether nothing fell: neither from the start, nor from the first third to the last."""
    third = len(course.values) // 3
    first, last = course.values[:third], course.values[-third:]
    scatter = max(spread(course.values), 1e-12 * abs(course.start))
    error = 1.25 * scatter * math.sqrt(2 / third)
    return abs(median(first) - median(last)) <= FLAT_NOISE * error and abs(course.start - median(last)) <= 3 * scatter


def _chance(course: Course, classes: dict[int, str]) -> int | None:
    """The number of classes C where the loss settles at ln C and never leaves it."""
    settled = course.values[int(SETTLING * len(course.values)) :]
    levels = course.levels[math.ceil(SETTLING * len(course.levels)) :]
    late = course.values[len(course.values) // 2 :]
    for count in classes:
        chance = math.log(count)
        band = max(LEVEL_BAND * chance, min(spread(settled), 0.1 * chance))
        near = abs(median(late) - chance) <= AT_CHANCE * chance
        if near and all(abs(level - chance) <= band for level in levels):
            return count
    return None


def _classes(evidence: RunEvidence) -> dict[int, str]:
    """Numbers of classes and who says so: settings, the log, or a score of 1/C. Two and fewer are no evidence."""
    found: dict[int, str] = {}
    for setting in evidence.settings:
        value = setting.value
        if _CLASSES.match(setting.name) and isinstance(value, int) and not isinstance(value, bool) and value > 2:
            found.setdefault(value, f"{setting.key}={value} in {setting.path}")
    for entry in evidence.all_files():
        for fact in entry.facts:
            if fact.name == "classes" and fact.value.isdigit() and int(fact.value) > 2:
                found.setdefault(int(fact.value), f"{entry.name}:{fact.line}")
    for _, series in evidence.series("metric"):
        for count in USUAL_CLASSES:
            if _ACCURACY.search(series.key) and all(_is_guess(value, count) for value in series.values):
                found.setdefault(count, f"{series.key} {SUPPOSED}")
    return found


def _is_guess(accuracy: float, count: int) -> bool:
    """Whether an accuracy, as a share or in per cent, is about 1/C."""
    return any(abs(accuracy * count / whole - 1) <= GUESSED for whole in (1.0, 100.0))


def _is_long_enough(series: Series, course: Course, evidence: RunEvidence) -> bool:
    """Whether so much was trained that a loss has to have moved, warm-up included."""
    trained = series.steps[course.indices[-1]] - series.steps[course.indices[0]]
    if series.axis == "epoch":
        return len(course.values) >= 8 and trained >= FEWEST_EPOCHS
    if len(course.values) < FEWEST_POINTS or trained < FEWEST_STEPS:
        return False
    warmup = [setting.value for setting in evidence.settings if _WARMUP.search(setting.name)]
    if any(isinstance(value, int | float) and 2 * value > trained for value in warmup):
        return False
    return not evidence.planned_steps or trained >= PLANNED_SHARE * evidence.planned_steps


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


def _constant_evaluation(evidence: RunEvidence) -> str | None:
    """The key of a score or loss of evaluations that never changes a digit."""
    for _, series in evidence.series("metric", "eval-loss"):
        value = series.values[0]
        if series.evaluation and value not in {0.0, 1.0} and series.values.count(value) == len(series) >= EVALUATIONS:
            return series.key
    return None


def _is_constant(course: Course) -> bool:
    """Whether every report has the same value, written with so many digits that rounding is no reason."""
    value = course.values[0]
    digits = len(f"{abs(value):.15g}".replace(".", "").strip("0"))
    return value != 0.0 and digits >= DIGITS and course.values.count(value) == len(course.values)
