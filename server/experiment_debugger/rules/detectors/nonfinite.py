"""Where training numbers stopped being finite.

step 18390 loss 2.1042 grad_norm 8.1e+02
step 18400 loss nan    grad_norm inf
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from experiment_debugger.evidence import FileEvidence, RunEvidence
from experiment_debugger.models import Finding, as_value
from experiment_debugger.readers.roles import is_exponential, is_part
from experiment_debugger.readers.series import Series
from experiment_debugger.rules.base import run_detector
from experiment_debugger.rules.curves import course_of
from experiment_debugger.rules.rulebook import Rulebook
from experiment_debugger.rules.series import (
    loss_is_bad,
    loss_tells,
    place_in,
    series_finding,
    step_at,
    training_losses,
)

FINITE_AGAIN = 2
"""Finite values in a row after a non-finite one that mean: the run recovered. One is a moving average's chance."""
STILL_LEARNS = 0.2
"""Share by which a loss falls after its gradient norm turned bad: then the norm is at fault, not the gradient."""


def _onset(series: Series) -> tuple[int, bool] | None:
    """(index of the first value of the last stretch that did not recover, else of the first; whether it recovered).

    Finite values at an earlier step are a restart, not a recovery.
    """
    values, steps = series.values, series.steps
    start = series.nonfinite_from()
    if start is None:
        return None
    index, finite = start, 0
    for index in range(start, len(values)):
        if not math.isfinite(values[index]):
            if finite >= FINITE_AGAIN:
                start = index
            finite = 0
        elif steps[index] < 0 or steps[index] > steps[start]:
            finite += 1
    return start, finite >= FINITE_AGAIN


@run_detector(
    id="loss-nan-onset",
    title="the training loss became NaN or infinite and stayed so",
    mode="nan-gradient",
    symptom_class="nonfinite",
    role="root",
    level="error",
    needs=["series"],
    why="The first bad step names where to look: the batch, the operation and the update right before it.",
    confirm=["Replay the first bad step with forward hooks that report the first non-finite module output."],
    false_positives=["A loss term that is undefined for some batches by design and is masked before the sum."],
    references=["https://docs.pytorch.org/docs/stable/autograd.html#anomaly-detection"],
    verified="run",
)
def loss_nan_onset(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """The earliest loss of each file and rank that is not finite, one that stayed so before one that recovered."""
    for entry in (*evidence.files, *evidence.numbers):
        earliest: dict[int | None, tuple[bool, int, int, Series]] = {}
        for series in training_losses(entry):
            onset = None if is_exponential(series.key) else _onset(series)
            if onset is None:
                continue
            index, recovered = onset
            recovered = recovered or _is_undefined_term(entry, series, index)
            found = (recovered, place_in(series, index), index, series)
            earliest[series.rank] = min(earliest.get(series.rank, found), found, key=lambda one: one[:2])
        for recovered, _, index, series in earliest.values():
            title = f"{series.key} turned {as_value(series.values[index])} {_before(series, index)}"
            yield series_finding(
                entry, series, index, loss_nan_onset.info, title=title, recovered=recovered, also=_last_good(index)
            )


def _is_undefined_term(entry: FileEvidence, series: Series, index: int) -> bool:
    """Whether one term of the loss is not finite while the whole, of the same source, stays finite to its end."""
    if not is_part(series.key):
        return False
    place = place_in(series, index)
    return any(
        not is_part(whole.key) and whole.nonfinite_from() is None and place_in(whole, len(whole) - 1) > place
        for whole in training_losses(entry)
    )


def _before(series: Series, index: int) -> str:
    """What stood before the first bad value, in the words of a title."""
    if index == 0:
        return "(the first value of all)"
    step = step_at(series, index - 1)
    at = "" if step is None else f" at step {step}"
    return f"(last finite {series.values[index - 1]:.4g}{at})"


def _last_good(index: int) -> tuple[int, ...]:
    return (index - 1,) if index else ()


@run_detector(
    id="grad-norm-nonfinite",
    title="the gradient norm is NaN or infinite while the loss is still finite",
    mode="nan-gradient",
    symptom_class="nonfinite",
    role="root",
    level="error",
    needs=["series"],
    why="Gradients went bad in the backward pass: an operation whose derivative is undefined, or an overflow.",
    confirm=["Run the step once under torch.autograd.set_detect_anomaly(True), forward included."],
    false_positives=["Single overflows that a loss scaler skips: the norm is inf once and finite afterwards."],
    references=["https://docs.pytorch.org/docs/stable/notes/amp_examples.html#gradient-clipping"],
    verified="run",
)
def grad_norm_nonfinite(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """The first lasting non-finite gradient norm of each file."""
    for entry, series in evidence.series("grad-norm"):
        onset = None if series.evaluation else _onset(series)
        if onset is None or any(loss_tells(entry, place_in(series, at)) for at in (onset[0], _next(series, onset[0]))):
            continue
        index, recovered = onset
        value = as_value(series.values[index])
        yield series_finding(
            entry,
            series,
            index,
            grad_norm_nonfinite.info,
            title=f"{series.key} turned {value} while the loss was still finite {_before(series, index)}",
            recovered=recovered or _still_learns(entry, place_in(series, index)),
            also=_last_good(index),
        )


def _next(series: Series, index: int) -> int:
    """The report after: where NaN begins within a logging window, the mean of the window looks normal once."""
    return min(index + 1, len(series) - 1)


def _still_learns(entry: FileEvidence, place: int) -> bool:
    """Whether a loss goes on falling after this place: norms of scaled gradients overflow, the updates do not."""
    for series in training_losses(entry):
        first = next((index for index in range(len(series)) if place_in(series, index) >= place), len(series))
        course = course_of(series, first)
        if course is not None and course.start > 0 and course.end < (1 - STILL_LEARNS) * course.start:
            return True
    return False


@run_detector(
    id="eval-loss-nan",
    title="the evaluation loss is NaN although the training loss is finite",
    mode="nan-gradient",
    symptom_class="nonfinite",
    role="root",
    level="error",
    needs=["series"],
    within="evaluation",
    why="Evaluation sees batches that training does not: empty targets, other lengths, other precision.",
    confirm=["Evaluate batch by batch and print the first one whose loss is not finite, with its label counts."],
    false_positives=["A metric that is undefined until the first full evaluation."],
    references=["https://docs.pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html"],
    verified="run",
)
def eval_loss_nan(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """Evaluation losses that end non-finite."""
    for entry, series in evidence.series("eval-loss", "loss"):
        if (series.role == "loss" and not series.evaluation) or is_exponential(series.key):
            continue
        onset = _onset(series)
        if onset is None or _training_is_bad(evidence, entry):
            continue
        index, recovered = onset
        yield series_finding(
            entry,
            series,
            index,
            eval_loss_nan.info,
            title=f"{series.key} is {as_value(series.values[index])} {_before(series, index)}",
            recovered=recovered,
            also=_last_good(index),
        )


def _training_is_bad(evidence: RunEvidence, entry: FileEvidence) -> bool:
    """Whether training of the same attempt was not finite, by any source: that is the story then."""
    for other in (*evidence.files, *evidence.numbers):
        if other is not entry and other.artifact.attempt != entry.artifact.attempt:
            continue
        norms = [_onset(series) for series in other.series if series.role == "grad-norm"]
        if loss_is_bad(other) or any(onset is not None and not onset[1] for onset in norms):
            return True
    return False
