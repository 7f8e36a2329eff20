"""Two metrics that are one number: precision and recall of one average, a validation that is the training.

val/precision 0.8125 val/recall 0.8125          micro averages with one label per sample
train/loss    2.24543262  val/loss 2.24543262   the validation is given the batch that was trained on
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from experiment_debugger.evidence import FileEvidence, RunEvidence
from experiment_debugger.models import Finding
from experiment_debugger.readers.roles import is_evaluation, words_of
from experiment_debugger.readers.series import Series
from experiment_debugger.rules.base import run_detector
from experiment_debugger.rules.rulebook import Rulebook
from experiment_debugger.rules.series import point, position_of

FEWEST_EQUAL = 3
"""Evaluations in which two metrics agree."""
OFTEN = 100
"""Points of a metric that stands in every training report."""
FEWEST_SAME = 8
"""Different values that a training and a validation metric share, of at least DIGITS digits."""
DIGITS = 4
"""Significant digits that two measurements do not share by chance again and again."""
MOST_COMPARED = 4000
"""Evaluations of one metric that are looked at."""
_TRAINING = re.compile(r"\b(?:train|training)\b")
_SPLIT = re.compile(r"\b(?:train|training|val|valid|validation|eval|evaluation|test|testing|dev|holdout)\b *")
_ON_PURPOSE = re.compile(r"(?i)overfit|single_?batch|one_?batch|sanity")


@run_detector(
    id="metric-identical-pair",
    title="precision, recall and accuracy are the same number in every evaluation",
    symptom_class="observation",
    role="context",
    level="warning",
    needs=["series"],
    within="evaluation",
    why="With one label per sample, micro averages of precision, recall and F1 all are the accuracy: they add nothing.",
    confirm=["The average argument of the metrics: micro, macro or weighted."],
    false_positives=["A perfect or an empty prediction."],
    references=[
        "https://scikit-learn.org/stable/modules/model_evaluation.html#multiclass-and-multilabel-classification"
    ],
    verified="thread",
)
def metric_identical_pair(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """Precision and recall of one evaluation that agree exactly, in values that are neither 0 nor 1."""
    for entry in (*evidence.files, *evidence.numbers):
        for precision in entry.series:
            recall = _partner(entry, precision)
            if recall is None or len(recall) < FEWEST_EQUAL or recall.values != precision.values:
                continue
            if len(recall) <= OFTEN and len({value for value in recall.values if 0 < value < 1}) >= 2:
                yield metric_identical_pair.info.finding(
                    position_of(entry, precision, 0),
                    (point(entry, precision, 0), point(entry, recall, 0)),
                    title=f"{precision.key} and {recall.key} are equal in all {len(recall)} evaluations",
                )


def _partner(entry: FileEvidence, precision: Series) -> Series | None:
    """The recall of the same evaluation, rank and average as a precision."""
    if "precision" not in precision.key.lower():
        return None
    wanted = precision.key.lower().replace("precision", "recall")
    same = (one for one in entry.series if one.key.lower() == wanted and one.rank == precision.rank)
    return next((one for one in same if one.evaluation == precision.evaluation), None)


@run_detector(
    id="metric-validation-equals-training",
    title="validation and training metrics are the same numbers",
    mode="metric-error",
    symptom_class="metric-wrong",
    role="root",
    level="warning",
    needs=["series"],
    within="evaluation",
    why="Two sets of samples never give the same loss to the last digit: what is called validation is the training.",
    confirm=["Compare the sample ids of one validation batch with those of the training batch right before it."],
    false_positives=["Training and validation sets that are one on purpose, to see whether a model can memorise."],
    references=["https://scikit-learn.org/stable/common_pitfalls.html#data-leakage"],
    verified="run",
)
def metric_validation_equals_training(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """The first metric of each source whose validation repeats the training, digit for digit."""
    if any(_ON_PURPOSE.search(setting.key) and setting.value for setting in evidence.settings):
        return
    for entry in (*evidence.files, *evidence.numbers):
        found = next(_copies(entry), None)
        if found is None:
            continue
        training, validation, pairs = found
        shown = (pairs[0], pairs[-1])
        yield metric_validation_equals_training.info.finding(
            position_of(entry, validation, pairs[0][1]),
            [
                point(entry, series, index)
                for pair in shown
                for series, index in zip((training, validation), pair, strict=True)
            ],
            title=f"{validation.key} is {training.key} to the last digit in all {len(pairs)} evaluations",
        )


def _copies(entry: FileEvidence) -> Iterator[tuple[Series, Series, list[tuple[int, int]]]]:
    """Training and validation series of one quantity with the same values, and their common points.

    Only a name that says training counts: `loss` next to `val_loss` may be an alias for a tuner.
    """
    own = {
        (_quantity(series), series.rank): series
        for series in entry.series
        if series.role in {"loss", "metric"} and not series.evaluation and _TRAINING.search(words_of(series.key))
    }
    for validation in entry.series:
        training = own.get((_quantity(validation), validation.rank))
        if training is None or not is_evaluation(validation.key):
            continue
        pairs = _common(training, validation)
        if pairs and _is_copy(training, validation, pairs):
            yield training, validation, pairs


def _quantity(series: Series) -> str:
    return _SPLIT.sub("", words_of(series.key)).strip()


def _common(training: Series, validation: Series) -> list[tuple[int, int]]:
    """Indices of both at the steps of the validation; none where it has a step that the training has not."""
    count = min(len(validation), MOST_COMPARED)
    if len(training) == len(validation) and training.steps == validation.steps:
        return [(at, at) for at in range(count)]
    places = {step: at for at, step in enumerate(training.steps) if step >= 0}
    steps: Sequence[int] = validation.steps[:count]
    return [(places[step], at) for at, step in enumerate(steps)] if all(step in places for step in steps) else []


def _is_copy(training: Series, validation: Series, pairs: Sequence[tuple[int, int]]) -> bool:
    """Whether all values agree, and enough of them are different and have digits that chance does not repeat."""
    telling = set()
    for one, other in pairs:
        value, copy = training.values[one], validation.values[other]
        if value != copy and not (math.isnan(value) and math.isnan(copy)):
            return False
        if math.isfinite(value) and value != float(f"{value:.{DIGITS - 1}g}"):
            telling.add(value)
    return len(telling) >= FEWEST_SAME
