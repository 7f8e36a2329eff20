"""A NaN that the trainer keeps out of its log: the loss reads 0.0.

{'loss': 1.161, 'learning_rate': 4.35e-05, 'epoch': 0.14}
{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 4.35e-05, 'epoch': 0.15}
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from experiment_debugger.evidence import FileEvidence, RunEvidence
from experiment_debugger.models import Finding
from experiment_debugger.readers.roles import is_part
from experiment_debugger.readers.series import Series
from experiment_debugger.rules.base import run_detector
from experiment_debugger.rules.curves import is_game, median
from experiment_debugger.rules.rulebook import Rulebook
from experiment_debugger.rules.series import place_in, series_finding, training_losses

FINITE_AGAIN = 2
"""Finite norms behind the last NaN that mean: the batch was skipped and training went on."""
ZEROS = 5
"""Reports of exactly 0.0 in a row up to the end, after a loss that was clearly not zero."""
NOT_ZERO = 0.05
"""The median of the last USUAL reports before; losses with a margin (hinge, triplet) reach zero from less."""
USUAL = 5


@run_detector(
    id="loss-zero-grad-nan",
    title="the loss reads 0.0 while the gradient norm is NaN: the trainer filters NaN from the log",
    mode="nan-gradient",
    symptom_class="nonfinite",
    role="root",
    level="error",
    needs=["series"],
    why="HF Trainer's logging_nan_inf_filter replaces NaN losses, so a dead run shows loss 0.0.",
    confirm=["Set logging_nan_inf_filter=False and rerun a few steps."],
    false_positives=["A loss that is truly zero has a gradient norm of zero, not NaN."],
    references=["https://huggingface.co/docs/transformers/main_classes/trainer"],
    verified="run",
)
def loss_zero_grad_nan(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """Reports with loss exactly 0 next to a NaN gradient norm."""
    for entry in (*evidence.files, *evidence.numbers):
        norms = [series for series in entry.series if series.role == "grad-norm"]
        bad_norms = [norm for norm in norms if norm.nonfinite_from() is not None]
        for loss in training_losses(entry) if bad_norms else ():
            zeros = _zeros(loss)
            for norm in bad_norms:
                bad = [i for i, value in enumerate(norm.values) if math.isnan(value) and place_in(norm, i) in zeros]
                if bad:
                    yield _hidden(entry, loss, norm, bad, zeros)


def _zeros(series: Series) -> dict[int, int]:
    """Where the series is exactly zero: its index by its place (line or step)."""
    return {place: i for i, value in enumerate(series.values) if value == 0.0 and (place := place_in(series, i)) >= 0}


def _hidden(entry: FileEvidence, loss: Series, norm: Series, bad: list[int], zeros: dict[int, int]) -> Finding:
    first = zeros[place_in(norm, bad[0])]
    before = f", the loss before was {loss.values[first - 1]:.4g}" if first else ""
    onset = bad[0]
    while onset and math.isnan(norm.values[onset - 1]):  # the window in which it begins still has a mean to show
        onset -= 1
    return series_finding(
        entry,
        norm,
        onset,
        loss_zero_grad_nan.info,
        title=f"{norm.key} turned nan and {loss.key} reads 0.0 in {len(bad)} reports{before}",
        recovered=sum(map(math.isfinite, norm.values[bad[-1] + 1 :])) >= FINITE_AGAIN,
        also=tuple(dict.fromkeys((bad[0], max(onset - 1, 0)))),
    )


@run_detector(
    id="loss-drops-to-exact-zero",
    title="the loss fell to exactly 0.0 from one report to the next and stayed there",
    mode="nan-gradient",
    symptom_class="nonfinite",
    role="root",
    level="error",
    needs=["series"],
    why="No loss reaches 0.0 in one step: trainers that filter NaN from the log print 0.0 for a run that is dead.",
    confirm=["Set logging_nan_inf_filter=False (HF Trainer) and rerun from the last checkpoint before the drop."],
    false_positives=["A loss whose targets are all ignored is zero from the start, not after a normal value."],
    references=["https://huggingface.co/docs/transformers/main_classes/trainer"],
    verified="run",
)
def loss_drops_to_exact_zero(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """Training losses that end in exact zeros right after ordinary values."""
    for entry, series in evidence.series("loss"):
        first = _zero_to_the_end(series)
        if not first or len(series) - first < ZEROS or series.evaluation or is_part(series.key):
            continue
        before = series.values[max(0, first - USUAL) : first]
        if not min(before) > 0.0 or median(before) <= NOT_ZERO or not series.values[first - 1] > NOT_ZERO:
            continue
        if _norm_tells(entry, place_in(series, first)) or is_game(evidence):
            continue
        yield series_finding(
            entry,
            series,
            first,
            loss_drops_to_exact_zero.info,
            title=f"{series.key} fell from {before[-1]:g} to exactly 0.0 for {len(series) - first} reports",
            also=(first - 1,),
        )


def _zero_to_the_end(series: Series) -> int:
    """Index from which every value is exactly zero."""
    first = len(series)
    while first > 0 and series.values[first - 1] == 0.0:
        first -= 1
    return first


def _norm_tells(entry: FileEvidence, place: int) -> bool:
    """Whether a gradient norm of the same source stands from this place on.

    A finite one says that the zero is a true one; for NaN the rule above speaks.
    """
    norms = [series for series in entry.series if series.role == "grad-norm"]
    return any(place_in(norm, len(norm) - 1) >= place for norm in norms)
