"""A model that learns something of its training data while the evaluation stays at guessing.

epoch  1 loss 2.314 val_loss 2.303 val_accuracy 0.103     ten classes: ln 10 = 2.303
epoch 25 loss 2.103 val_loss 2.371 val_accuracy 0.109     nothing of it holds for other data
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from experiment_debugger.evidence import FileEvidence, RunEvidence
from experiment_debugger.models import Finding
from experiment_debugger.readers.series import Series
from experiment_debugger.rules.base import run_detector
from experiment_debugger.rules.chance import AT_CHANCE, FEWEST_CLASSES, MOST_CLASSES, accuracies, told_classes
from experiment_debugger.rules.curves import Course, course_of, is_game, principals
from experiment_debugger.rules.rulebook import Rulebook
from experiment_debugger.rules.series import AS_CONTEXT, series_finding

FEWEST_EVALUATIONS = 8
"""Evaluations before which a slow beginning is as likely."""
FELL = 0.03
"""Fall of the training loss, as a share of ln C: three times what the evaluation loss may have fallen below it."""
FELL_NOISE = 3.0
"""The same in units of the noise from one report to the next."""
SOLVED = 0.5
"""Share of ln C below which the training is learned by heart: arithmetic tasks may generalise long after (grokking)."""
ABOVE_GUESS, SCATTER = 0.06, 1.6
"""An accuracy of guessing: at most this much above 1/C, and at most this many times 1/C."""
Memorised = tuple[FileEvidence, Series, Course, int, FileEvidence, Series, Course]


@run_detector(
    id="evaluation-stays-at-chance",
    title="the evaluation stays at guessing while the training loss falls",
    mode="silent-error",
    symptom_class="no-learning",
    role="root",
    level="warning",
    needs=["series"],
    why="What is learned holds for no other sample: the labels do not belong to the inputs, here or in the evaluation.",
    confirm=["Look at 20 decoded samples of each split with their labels, as the model gets them."],
    false_positives=[
        "Labels made random on purpose.",
        "Grokking: arithmetic tasks generalise long after they are memorised.",
    ],
    references=["https://arxiv.org/abs/1611.03530"],
    verified="run",
)
def evaluation_stays_at_chance(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """Evaluation losses that never came below ln C, with accuracies that never left 1/C."""
    for entry, series, course, count, _, _, trained in _memorised(evidence):
        best = min(range(len(course.values)), key=course.values.__getitem__)
        title = (
            f"{series.key} began at {course.values[0]:.4g} and was {course.values[best]:.4g} at best,"
            f" with ln {count} = {math.log(count):.4g} for a guess"
        )
        also = (course.indices[best], course.indices[-1])
        facts = AS_CONTEXT if trained.end < SOLVED * math.log(count) else {}
        info = evaluation_stays_at_chance.info
        yield series_finding(entry, series, course.indices[0], info, title=title, also=also, **facts)


@run_detector(
    id="training-data-memorised",
    title="the training loss falls although the evaluation stays at guessing",
    mode="silent-error",
    symptom_class="observation",
    role="context",
    level="info",
    needs=["series"],
    why="Model, loss and optimizer work: it is the data that have nothing in common.",
    confirm=["Train on the labels of another shuffle: the curve is the same where the labels mean nothing."],
    references=["https://arxiv.org/abs/1611.03530"],
    verified="run",
)
def training_data_memorised(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """The training losses that fall meanwhile."""
    for _, _, _, _, entry, loss, course in _memorised(evidence):
        title = f"{loss.key} fell from {course.values[0]:.4g} to {course.values[-1]:.4g} meanwhile"
        at = course.indices[-1]
        yield series_finding(entry, loss, at, training_data_memorised.info, title=title, also=(course.indices[0],))


def _memorised(evidence: RunEvidence) -> Iterator[Memorised]:
    """Evaluation losses at guessing, and a main training loss of the same source that falls."""
    if is_game(evidence):
        return
    for entry, series in evidence.series("eval-loss"):
        course = course_of(series)
        if course is None or len(course.values) < FEWEST_EVALUATIONS or series.nonfinite_from() is not None:
            continue
        count = _guessed_classes(course, evidence)
        for other, loss in principals(evidence) if count else ():
            trained = course_of(loss)
            if other is entry and trained is not None and count and _falls(trained, count):
                yield entry, series, course, count, other, loss, trained


def _guessed_classes(course: Course, evidence: RunEvidence) -> int | None:
    """The number of classes of which every evaluation is a guess, by loss and by accuracy."""
    scores = [series for evaluation, series in accuracies(evidence) if evaluation]
    first = course.values[0]
    shown = round(math.exp(first)) if 0 < first < math.log(MOST_CLASSES) else 0
    for count in dict.fromkeys((*told_classes(evidence), shown)):
        if count < FEWEST_CLASSES or not scores:
            continue
        chance = math.log(count)
        began = abs(first - chance) <= AT_CHANCE * chance
        if began and min(course.values) >= (1 - AT_CHANCE) * chance and all(_guesses(one, count) for one in scores):
            return count
    return None


def _guesses(score: Series, count: int) -> bool:
    """Whether an accuracy, as a share or in per cent, never rose above that of guessing."""
    highest = min(SCATTER / count, 1 / count + ABOVE_GUESS)
    return any(0.5 / count <= max(score.values) / whole <= highest for whole in (1.0, 100.0))


def _falls(course: Course, count: int) -> bool:
    """Whether a training loss began at guessing and fell well below."""
    fall = math.log(count) - course.end
    return fall > max(FELL * math.log(count), FELL_NOISE * course.noise) and course.start > course.end
