"""What guessing costs: the numbers of classes that a run tells, and losses and accuracies that are those of guessing.

num_classes: 10      ln 10 = 2.303 is the cross entropy of a guess, 1/10 its accuracy
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from experiment_debugger.evidence import RunEvidence
from experiment_debugger.readers.roles import is_evaluation
from experiment_debugger.readers.series import Series
from experiment_debugger.rules.curves import median, noise, thinned
from experiment_debugger.rules.metric_names import is_accuracy

USUAL_CLASSES = (10, 100, 1000)
"""CIFAR, MNIST, ImageNet: named first where several numbers fit a loss."""
FEWEST_CLASSES, MOST_CLASSES = 3, 1000
"""Numbers of classes that a loss and an accuracy together are believed to show; ln 2 is where preferences begin."""
AT_CHANCE = 0.01
"""Distance of a loss from ln C, as a share; guessing with almost equal logits stays this near."""
NEAR_CHANCE = 0.1
"""The same for a loss that only has to be no learned one: a poor initialisation costs a tenth more than guessing."""
GUESSED = 0.6
"""Distance of an accuracy from 1/C, as a share of it: untrained models prefer a class, and small batches scatter."""
SUPPOSED = "is that of guessing"
_CLASSES = re.compile(
    r"^(?:num_?classes|n_?classes|num_?labels|nc|(?:padded_|n_)?vocab(?:_size)?|num_class|n_vocab)$", re.IGNORECASE
)


def told_classes(evidence: RunEvidence) -> dict[int, str]:
    """Numbers of classes and who says so, settings or the log. Two and fewer are no evidence."""
    found: dict[int, str] = {}
    for setting in evidence.settings:
        value = setting.value
        if _CLASSES.match(setting.name) and isinstance(value, int) and not isinstance(value, bool) and value > 2:
            found.setdefault(value, f"{setting.key}={value} in {setting.path}")
    for entry in evidence.all_files():
        for fact in entry.facts:
            if fact.name == "classes" and fact.value.isdigit() and int(fact.value) > 2:
                found.setdefault(int(fact.value), f"{entry.name}:{fact.line}")
    return found


def classes_at(level: float, evidence: RunEvidence, distance: float = AT_CHANCE) -> dict[int, str]:
    """The numbers of classes of which this loss is a guess, and who says so: the run, or all of its accuracies."""
    near = {count: who for count, who in told_classes(evidence).items() if is_near_guess(level, count, distance)}
    scores = [series for _, series in accuracies(evidence)]
    if near or not scores or not 0 < level < math.log(MOST_CLASSES + 1):
        return near
    for count in (*USUAL_CLASSES, round(math.exp(level))):
        fits = FEWEST_CLASSES <= count <= MOST_CLASSES and is_near_guess(level, count, distance)
        if fits and all(stays_at_guess(series, count) for series in scores):
            return {count: f"{scores[0].key} {SUPPOSED}"}
    return {}


def is_near_guess(loss: float, count: int, distance: float = AT_CHANCE) -> bool:
    """Whether a cross entropy is that of a guess among C classes."""
    return abs(loss - math.log(count)) <= distance * math.log(count)


def accuracies(evidence: RunEvidence) -> Iterator[tuple[bool, Series]]:
    """(whether it is of an evaluation, series) of every accuracy with a value."""
    for _, series in evidence.series("metric"):
        if is_accuracy(series.key) and thinned(series):
            yield series.evaluation or is_evaluation(series.key), series


def stays_at_guess(series: Series, count: int) -> bool:
    """Whether an accuracy, as a share or in per cent, is about 1/C at its beginning and at its end, and never rises."""
    values = [series.values[index] for index in thinned(series)]
    third = max(1, len(values) // 3)
    first, last = median(values[:third]), median(values[-third:])
    error = noise(values) * math.sqrt(2 / third) if len(values) > 2 else 0.0
    return last <= first + 3 * error and all(_is_guess(value, count) for value in (first, last))


def _is_guess(accuracy: float, count: int) -> bool:
    return any(abs(accuracy * count / whole - 1) <= GUESSED for whole in (1.0, 100.0))
