"""Metrics that cannot be right: out of their range, frozen, perfect from the first evaluation, or undefined.

val/acc  1.57 1.83 1.90           a share above one: hits of two crops, divided by the number of rows
val/acc  0.109375 0.109375 ...    the same to the last digit while the training loss falls
val/acc  1.0 1.0 1.0 1.0          a column of the table knows the label
bbox_mAP_s -1.0 -1.0              COCO has no small objects here: a sentinel and no error
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from experiment_debugger.evidence import FileEvidence, RunEvidence
from experiment_debugger.models import Finding
from experiment_debugger.readers.roles import is_evaluation
from experiment_debugger.readers.series import Series
from experiment_debugger.rules.base import series_detector
from experiment_debugger.rules.curves import finite, objectives
from experiment_debugger.rules.metric_names import is_accuracy, is_area, is_of_class, is_share
from experiment_debugger.rules.plans import is_easy, level_at_end, remaining_loss
from experiment_debugger.rules.series import AS_CONTEXT, series_finding

SLACK = 1e-3
"""How far rounding and smoothing may carry a share over its bound, relative to it."""
SENTINEL = -1.0
HIGHEST_MULTIPLE = 10.0
"""A share counted several times (crops, ranks, a broadcast batch of 8); beyond it a number is likelier a percentage."""
LEARNED = 0.5
"""Level of the training loss at the end over that at the start: an accuracy of 2 % does not go with half the loss."""
FEWEST_SHARES = 4
"""Evaluations before a share above one is believed to be no percentage."""
MIXED = (75.0, 133.0)
"""Factor between neighbours of which one is a fraction and the other a percentage: 100, give or take the noise."""
FEWEST_EVALUATIONS = 6
"""Evaluations of the same value; a small validation set gives two or three by chance."""
FEWEST_COARSE, FEW_SAMPLES = 10, 50
"""The same for a value that a text log has rounded to three digits or fewer, or of so few samples."""
MAJORITY = 0.5
"""A class of at least this share can be all that a model predicts while its loss falls."""
MOVED = 0.8
"""Level of the training loss at the end over that at the start, below which it has changed while a metric has not."""
FEWEST_CLASSES = 3
"""With two, (C - 1) / C is a guess."""
EXACT = 1e-6
"""Distance to (C - 1) / C that single precision explains."""
SATURATED = 0.99
"""Shares above are solved tasks, which give one value for long."""
FEWEST_PERFECT = 5
"""Perfect evaluations in a row from the first on: toy runs and smoke tests have fewer."""
OFTEN = 100
"""Points of a metric that stands in every training report: a value that is carried along, not evaluated each time."""


@series_detector(
    "metric",
    id="metric-out-of-range",
    title="a metric has a value that it cannot have",
    mode="metric-error",
    symptom_class="metric-wrong",
    role="root",
    level="error",
    within="evaluation",
    why="A share above one or below zero: something is counted twice, divided by the wrong number, or broadcast.",
    confirm=["Feed predictions equal to the labels: the metric must give its maximum, 1 or 100."],
    false_positives=["A count or a score of another kind that carries the name of a share."],
    references=["https://scikit-learn.org/stable/modules/model_evaluation.html"],
    verified="run",
)
def metric_out_of_range(entry: FileEvidence, series: Series, evidence: RunEvidence) -> Iterator[Finding]:
    """Shares above 100, above 1 where they are fractions, below 0, or of two scales."""
    if not is_share(series.key) or 0 <= min(series.values) <= max(series.values) <= 1:
        return
    known = finite(series)
    index = _impossible(series, known, evidence)
    if index is not None:
        value = series.values[index]
        title = f"{series.key} is {value:.6g}, which no share can be"
        highest = max(known, key=lambda at: series.values[at])
        yield series_finding(entry, series, index, metric_out_of_range.info, title=title, also=(highest,))
    elif (mixed := _of_two_scales(series, known)) is not None:
        title = f"{series.key} is once a fraction and once a percentage: {series.values[mixed]:.4g}"
        yield series_finding(
            entry, series, mixed, metric_out_of_range.info, title=title, level="warning", also=(mixed - 1,)
        )


def _impossible(series: Series, known: Sequence[int], evidence: RunEvidence) -> int | None:
    """Index of the first impossible value."""
    values = series.values
    highest = max((values[at] for at in known), default=0.0)
    counts = highest > 1 and all(values[at].is_integer() for at in known)
    bound = 100.0 if highest > 100 * (1 + SLACK) else 1.0
    if highest > 100 * (1 + SLACK) or _is_multiple(series, known, highest, evidence):
        return None if counts else next(at for at in known if values[at] > bound * (1 + SLACK))
    if is_accuracy(series.key) and highest > 0:
        return next((at for at in known if values[at] < -SLACK and values[at] != SENTINEL), None)
    return None


def _is_multiple(series: Series, known: Sequence[int], highest: float, evidence: RunEvidence) -> bool:
    """Whether values between 1 and 10 are no percentages: for half of them there is too little loss left."""
    if not 1 + SLACK < highest <= HIGHEST_MULTIPLE or len(known) < FEWEST_SHARES:
        return False
    if is_area(series.key):
        return True
    remaining = remaining_loss(evidence)
    return is_accuracy(series.key) and remaining is not None and remaining <= LEARNED


def _of_two_scales(series: Series, known: Sequence[int]) -> int | None:
    """Index of the first of two jumps by a factor of 100, one up and one down."""
    jumps = []
    for before, after in pairwise(known):
        low, high = sorted((series.values[before], series.values[after]))
        if 0 < low <= 1 < high and MIXED[0] <= high / low <= MIXED[1]:
            jumps.append((after, series.values[after] > series.values[before]))
    both = {up for _, up in jumps} == {True, False}
    return jumps[0][0] if both else None


@series_detector(
    "metric",
    "eval-loss",
    id="metric-constant",
    title="an evaluation gives the very same value every time while the training loss changes",
    mode="metric-error",
    symptom_class="metric-wrong",
    role="root",
    level="warning",
    within="evaluation",
    why="What is evaluated does not follow the training: cached outputs, other weights, a wrong axis.",
    confirm=["Dump predictions of two evaluations and compare them; compute the metric by hand on four rows."],
    false_positives=["A model that predicts the majority class all the time, or a very small validation set."],
    references=["https://lightning.ai/docs/torchmetrics/stable/pages/overview.html"],
    verified="run",
)
def metric_constant(entry: FileEvidence, series: Series, evidence: RunEvidence) -> Iterator[Finding]:
    """Values that are equal to the last digit in all evaluations, from the first one on."""
    values = series.values
    evaluated = series.evaluation or is_evaluation(series.key)
    if not evaluated or len(values) < FEWEST_EVALUATIONS or not _is_telling(series):
        return
    same = next((at for at, value in enumerate(values) if value != values[0]), len(values))
    rounded = entry.artifact.kind == "log" and _is_short(values[0])
    remaining = remaining_loss(evidence)
    coarse = rounded or _is_of_few_samples(values[0])
    if remaining is None or same < (FEWEST_COARSE if coarse else FEWEST_EVALUATIONS):
        return
    of_entries = remaining < 1 and _is_of_one_hot_rows(entry, series, same)
    if of_entries or (same == len(values) and remaining < MOVED):
        title = f"{series.key} is {values[0]:.6g} in the first {same} of {len(values)} evaluations while the loss falls"
        sure = of_entries or (remaining <= LEARNED and not _may_be_majority(series, evidence))
        changes: dict[str, Any] = {} if sure else AS_CONTEXT
        yield series_finding(entry, series, 0, metric_constant.info, title=title, also=(same - 1,), **changes)


def _may_be_majority(series: Series, evidence: RunEvidence) -> bool:
    """Whether the value may be the share of the largest class, and the loss has not fallen below what that costs.

    A model that knows only this share p has a loss of at least -p ln p - (1 - p) ln(1 - p).
    """
    value = series.values[0] / 100 if series.values[0] > 1 else series.values[0]
    if series.role == "eval-loss" or value < MAJORITY:
        return False
    entropy = -value * math.log(value) - (1 - value) * math.log(1 - value)
    ends = [level_at_end(loss) for _, loss in objectives(evidence)]
    return not ends or min(ends) >= LEARNED * entropy


def _is_of_few_samples(value: float) -> bool:
    """Whether a share is one of a small set: 0.9375 is 15 of 16, and stays so for long."""
    share = value / 100 if value > 1 else value
    return any(abs(share * count - round(share * count)) <= EXACT * count for count in range(1, FEW_SAMPLES + 1))


def _is_of_one_hot_rows(entry: FileEvidence, series: Series, same: int) -> bool:
    """Whether training and evaluation both stand at (C - 1) / C for C classes, for half of the run or longer.

    That is the accuracy over the entries of one-hot rows of a model that predicts nothing.
    """
    value = series.values[0]
    classes = round(1 / (1 - value)) if value < 1 else 0
    if classes < FEWEST_CLASSES or abs(value - (classes - 1) / classes) > EXACT:
        return False
    twins = (one for one in entry.series if is_share(one.key) and not one.evaluation and len(one) == len(series))
    half = max(FEWEST_COARSE, len(series) // 2)
    return same >= half and any(set(twin.values[:half]) == {value} for twin in twins)


def _is_telling(series: Series) -> bool:
    """Whether a frozen value of this metric means something: none that is saturated, a start, or a setting."""
    value = series.values[0]
    if series.role == "eval-loss":
        return math.isfinite(value) and value != 0.0
    if not is_share(series.key) or is_of_class(series.key) or len(series) > OFTEN:
        return False
    return 0 < value < SATURATED or (1 < value < 100 * SATURATED and not (value.is_integer() and "prec" in series.key))


def _is_short(value: float) -> bool:
    return value == float(f"{value:.3g}")


@series_detector(
    "metric",
    id="metric-perfect-at-once",
    title="a validation metric is perfect from the first evaluation on",
    kind="science",
    symptom_class="observation",
    role="context",
    level="warning",
    within="evaluation",
    why="Too good to be true? A leak (inputs that know the label, splits that share samples) looks like an easy task.",
    confirm=[
        "Shuffle the labels of the validation set: the metric must drop to chance. Look for one feature that does it."
    ],
    false_positives=["A task that is solved within its first epoch, such as a toy set."],
    references=["https://scikit-learn.org/stable/common_pitfalls.html#data-leakage"],
    verified="run",
)
def metric_perfect_at_once(entry: FileEvidence, series: Series, evidence: RunEvidence) -> Iterator[Finding]:
    """Shares of an evaluation that are exactly 1 (or 100) every time; numbers cannot tell a leak from an easy task."""
    values = series.values
    evaluated = series.evaluation or is_evaluation(series.key)
    if not evaluated or not is_share(series.key) or is_of_class(series.key) or len(values) < FEWEST_PERFECT:
        return
    top = 100.0 if values[0] > 1 else 1.0
    if min(values) == max(values) == top and _has_trained(evidence) and not is_easy(evidence):
        title = f"{series.key} is {top:g} in all {len(values)} evaluations, the first one included: easy, or a leak"
        yield series_finding(entry, series, 0, metric_perfect_at_once.info, title=title, also=(len(values) - 1,))


def _has_trained(evidence: RunEvidence) -> bool:
    """Whether the training loss fell: a model that could do it before, or is only evaluated, proves nothing."""
    remaining = remaining_loss(evidence)
    return remaining is not None and remaining <= LEARNED


@series_detector(
    "metric",
    id="metric-nan",
    title="a metric is NaN",
    symptom_class="observation",
    role="context",
    level="info",
    within="evaluation",
    why="Often a class that does not occur; for the mean it means an empty evaluation, or NaN predictions.",
    confirm=["Count samples and classes of the evaluated split, and look whether the evaluation loss is finite."],
    false_positives=["Classes without samples, and metrics before the first episode."],
    references=["https://lightning.ai/docs/torchmetrics/stable/pages/overview.html"],
    verified="thread",
)
def metric_nan(entry: FileEvidence, series: Series, evidence: RunEvidence) -> Iterator[Finding]:
    """The first NaN of a metric that ends so."""
    values = series.values
    if values[-1] == values[-1]:
        return
    first = next(at for at in range(len(values)) if values[at] != values[at])
    told = "from the first evaluation on" if first == 0 else f"after {first} reports"
    yield series_finding(entry, series, first, metric_nan.info, title=f"{series.key} is NaN {told}")
