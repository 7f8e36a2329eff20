"""A NaN that the trainer keeps out of its log: the loss reads 0.0.

{'loss': 1.161, 'learning_rate': 4.35e-05, 'epoch': 0.14}
{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 4.35e-05, 'epoch': 0.15}
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from experiment_debugger.evidence import RunEvidence
from experiment_debugger.models import Finding
from experiment_debugger.rules.base import run_detector
from experiment_debugger.rules.rulebook import Rulebook
from experiment_debugger.rules.series import series_finding

ZEROS = 5
"""Reports of exactly 0.0 in a row up to the end, after a loss that was clearly not zero."""
NOT_ZERO = 0.05


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
    for entry in evidence.files:
        losses = [series for series in entry.series if series.role == "loss"]
        norms = [series for series in entry.series if series.role == "grad-norm"]
        for loss in losses:
            zero = {line: i for i, line in enumerate(loss.lines) if loss.values[i] == 0.0}
            for norm in norms:
                bad = [i for i, line in enumerate(norm.lines) if line in zero and math.isnan(norm.values[i])]
                if bad:
                    yield series_finding(
                        entry,
                        norm,
                        bad[0],
                        loss_zero_grad_nan.info,
                        title=f"{loss.key} reads 0.0 while {norm.key} is nan, in {len(bad)} reports, the first",
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
        values = series.values
        first = len(values)
        while first > 0 and values[first - 1] == 0.0:
            first -= 1
        if series.evaluation or first == 0 or len(values) - first < ZEROS or not values[first - 1] > NOT_ZERO:
            continue
        yield series_finding(
            entry,
            series,
            first,
            loss_drops_to_exact_zero.info,
            title=f"{series.key} fell from {values[first - 1]:g} to exactly 0.0 for {len(values) - first} reports",
        )
