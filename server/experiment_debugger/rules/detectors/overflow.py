"""What comes before non-finite numbers: exploding gradient norms, and a loss scale that only falls.

step 440 loss 1.9 grad_norm 3.1e+04 loss_scale 65536
step 441 skipped                    loss_scale 32768
"""

from __future__ import annotations

from collections.abc import Iterator

from experiment_debugger.evidence import RunEvidence
from experiment_debugger.models import Finding
from experiment_debugger.rules.base import run_detector
from experiment_debugger.rules.rulebook import Rulebook
from experiment_debugger.rules.series import loss_is_bad, series_finding

EXPLOSION_FACTOR = 50.0
"""Growth of grad_norm over its median before, which a healthy spike hardly reaches."""
SCALE_HALVINGS = 8
"""Halvings in a row of the loss scale without growth; GradScaler starts at 2**16 and settles within a few."""


@run_detector(
    id="grad-norm-explosion",
    title="the gradient norm grew far beyond its usual size right before the numbers went bad",
    mode="nan-gradient",
    symptom_class="observation",
    role="context",
    level="warning",
    needs=["series"],
    why="Growth before the onset speaks for the update (learning rate, warm-up), a sudden NaN for one operation.",
    confirm=["Compare the norm of the 20 steps before the onset with its median."],
    references=["https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.clip_grad_norm_.html"],
    verified="run",
)
def grad_norm_explosion(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """A norm that rises by EXPLOSION_FACTOR over its median before a non-finite loss of the same file."""
    for entry, series in evidence.series("grad-norm"):
        bad = series.nonfinite_from()
        end = len(series.values) if bad is None else bad
        finite = sorted(series.values[:end])
        if len(finite) < 4 or not loss_is_bad(entry):
            continue
        median = finite[len(finite) // 2]
        peak = max(range(end), key=lambda i: series.values[i])
        if median > 0 and series.values[peak] > EXPLOSION_FACTOR * median and peak >= end - 20:
            yield series_finding(
                entry,
                series,
                peak,
                grad_norm_explosion.info,
                title=f"{series.key} reached {series.values[peak]:.4g}, its median was {median:.4g}",
            )


@run_detector(
    id="loss-scale-collapse",
    title="the loss scale was halved again and again without recovering",
    mode="nan-gradient",
    symptom_class="nonfinite",
    role="root",
    level="error",
    needs=["series"],
    why="Every step overflows: gradients are not finite at any scale, so the optimizer never steps.",
    confirm=["Run one step in float32: finite gradients mean precision, non-finite ones mean the model or data."],
    false_positives=["The first steps of a run, while the scale finds its level."],
    references=["https://docs.pytorch.org/docs/stable/amp.html#torch.amp.GradScaler"],
    verified="run",
)
def loss_scale_collapse(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """A chain of halvings that goes to the end of the log."""
    for entry, series in evidence.series("loss-scale"):
        values = series.values
        first = len(values) - 1
        while first > 0 and values[first - 1] > values[first] >= 0:
            first -= 1
        if len(values) - 1 - first >= SCALE_HALVINGS:
            yield series_finding(
                entry,
                series,
                first + 1,
                loss_scale_collapse.info,
                title=f"{series.key} fell from {values[first]:g} to {values[-1]:g} without one recovery",
            )
