"""What comes before non-finite numbers: gradients and losses that grow, and a loss scale that only falls.

step 440 loss 1.9 grad_norm 3.1e+04 loss_scale 65536
step 441 skipped                    loss_scale 32768
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

from experiment_debugger.evidence import FileEvidence, RunEvidence
from experiment_debugger.models import Finding
from experiment_debugger.readers.roles import is_exponential
from experiment_debugger.readers.series import Series
from experiment_debugger.rules.base import run_detector, series_detector
from experiment_debugger.rules.curves import course_of, finite, median, thinned
from experiment_debugger.rules.rulebook import Rulebook
from experiment_debugger.rules.series import loss_is_bad, place_in, series_finding, training_losses

EXPLOSION_FACTOR = 50.0
"""Growth of grad_norm over its median before, which a healthy spike hardly reaches."""
LOSS_GROWTH = 3.0
"""Growth of a positive loss over its median before: a last window of ordinary batches does not reach it."""
RIGHT_BEFORE = 20
"""Reports before the onset in which the growth must peak."""
FEWEST_BEFORE = 4
SCALE_HALVINGS = 8.0
"""Halvings of the loss scale, net of growth; GradScaler starts at 2**16 and settles within a few."""
FLOOR = 1.0
"""DeepSpeed's and Megatron's smallest loss scale; GradScaler has none. A healthy scale stays far above."""
SETTLED_SHARE = 0.25
"""A scale that was constant for the last quarter since its first fall, above the floor, has found its level."""
SETTLED_SCALE = 256.0
"""Megatron starts at 2**32 and falls by 16 and more before it settles: a scale above this is no collapse."""
PAUSE = 10.0
"""A pause this many times longer than usual between two falls separates two stories."""
DENSE = 5
"""Optimizer steps from the last finite report to the onset; a divergence can hide in a longer gap."""
PEAK_SHARE = 0.9
"""Share of its largest value that the learning rate had at the onset, to be called at its peak."""
AFTER_WARMUP = 0.2
"""Share of the steps up to the onset that may lie between the end of the warm-up and the onset."""


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
    """A norm that rises by EXPLOSION_FACTOR over its median before a loss that is not finite."""
    for entry, series in evidence.series("grad-norm"):
        if not _is_bad(evidence, entry):
            continue
        bad = series.nonfinite_from()
        peak = _peak(series, len(series) if bad is None else bad, EXPLOSION_FACTOR)
        if peak is not None:
            index, usual = peak
            title = f"{series.key} reached {series.values[index]:.4g}, its median was {usual:.4g}"
            yield series_finding(entry, series, index, grad_norm_explosion.info, title=title)


def _is_bad(evidence: RunEvidence, entry: FileEvidence) -> bool:
    """Whether a loss of this source is not finite, or one of the same attempt where the source holds no loss."""
    if training_losses(entry):
        return loss_is_bad(entry)
    others = (*evidence.files, *evidence.numbers)
    return any(loss_is_bad(other) for other in others if other.artifact.attempt == entry.artifact.attempt)


def _peak(series: Series, end: int, factor: float) -> tuple[int, float] | None:
    """(index, median before) of the largest value right before `end`, if it is `factor` times the median."""
    usual = median([series.values[index] for index in thinned(series, 0, end)])
    near = finite(series, max(0, end - RIGHT_BEFORE), end)
    if end < FEWEST_BEFORE or not near or not usual > 0:
        return None
    peak = max(near, key=series.values.__getitem__)
    return (peak, usual) if series.values[peak] > factor * usual else None


@series_detector(
    "loss",
    id="loss-growth-before-nan",
    title="the loss grew far beyond its usual size right before it stopped being finite",
    mode="nan-gradient",
    symptom_class="observation",
    role="context",
    level="warning",
    why="A loss that climbs into the NaN speaks for too large updates; one that is normal up to it, for one operation.",
    confirm=["Compare the loss of the 20 reports before the onset with its median."],
    references=["https://docs.pytorch.org/docs/stable/notes/faq.html"],
    verified="run",
)
def loss_growth_before_nan(entry: FileEvidence, series: Series, evidence: RunEvidence) -> Iterator[Finding]:
    """A training loss that rises by LOSS_GROWTH over its median before its first non-finite value."""
    bad = None if series.evaluation or is_exponential(series.key) else series.nonfinite_from()
    peak = _peak(series, bad, LOSS_GROWTH) if bad else None
    if bad and peak is not None:
        index, usual = peak
        title = (
            f"{series.key} climbed to {series.values[index]:.4g} before it was not finite, its median was {usual:.4g}"
        )
        yield series_finding(entry, series, index, loss_growth_before_nan.info, title=title, also=(bad,))


@series_detector(
    "loss",
    id="loss-normal-before-nan",
    title="the loss was at its usual level up to the value that was not finite",
    mode="nan-gradient",
    symptom_class="observation",
    role="context",
    level="info",
    why="Nothing grew: one batch or one operation made the NaN, not a sequence of too large updates.",
    confirm=["Replay the batch of the first bad step with the weights of the last checkpoint."],
    references=["https://docs.pytorch.org/docs/stable/autograd.html#anomaly-detection"],
    verified="run",
)
def loss_normal_before_nan(entry: FileEvidence, series: Series, evidence: RunEvidence) -> Iterator[Finding]:
    """A training loss whose last value before the first bad one lies within its usual range."""
    bad = None if series.evaluation or is_exponential(series.key) else series.nonfinite_from()
    if not bad or bad < 3 * FEWEST_BEFORE or _peak(series, bad, LOSS_GROWTH) or _norm_peaks(entry):
        return
    if series.axis != "step" or not 0 <= series.steps[bad] - series.steps[bad - 1] <= DENSE:
        return
    usual = sorted(series.values[index] for index in finite(series, max(0, bad - 3 * RIGHT_BEFORE), bad - 1))
    if usual and series.values[bad - 1] <= usual[-1]:
        title = f"{series.key} was {series.values[bad - 1]:.4g} right before, within its usual range"
        yield series_finding(entry, series, bad, loss_normal_before_nan.info, title=title, also=(bad - 1,))


def _norm_peaks(entry: FileEvidence) -> bool:
    """Whether a gradient norm of the source grew before it, or the loss, went bad."""
    for series in entry.series:
        bad = series.nonfinite_from() if series.role == "grad-norm" else -1
        if bad != -1 and _peak(series, len(series) if bad is None else bad, EXPLOSION_FACTOR / 5):
            return True
    return False


@run_detector(
    id="learning-rate-peak-before-nan",
    title="the loss stopped being finite when the learning rate had just reached its peak",
    mode="nan-gradient",
    symptom_class="observation",
    role="context",
    level="info",
    needs=["series"],
    why="Instability that waits for the peak of the learning rate is instability of the update.",
    confirm=["Rerun from a checkpoint before the peak with a third of the learning rate."],
    references=["https://docs.pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"],
    verified="thread",
)
def learning_rate_peak_before_nan(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """A learning rate that rose to its peak shortly before the first non-finite loss of the same source."""
    for entry, series in evidence.series("learning-rate"):
        losses = [(loss, bad) for loss in training_losses(entry) if (bad := loss.nonfinite_from())]
        course = course_of(series)
        if not losses or course is None:
            continue
        place = min(place_in(loss, bad) for loss, bad in losses)
        before = [index for index in course.indices if place_in(series, index) <= place]
        peak = max(before, key=series.values.__getitem__, default=None)
        if peak is None or series.values[peak] <= 1.01 * series.values[before[0]]:
            continue
        waited = before.index(peak) < (1 - AFTER_WARMUP) * len(before)
        if not waited and series.values[before[-1]] >= PEAK_SHARE * series.values[peak]:
            title = f"{series.key} had just risen to {series.values[peak]:.4g} when the loss was not finite"
            yield series_finding(entry, series, peak, learning_rate_peak_before_nan.info, title=title)


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
    """Many halvings and hardly a doubling: still falling at the end, or at the floor."""
    for entry, series in evidence.series("loss-scale"):
        falls = _last_falls(series)
        if not falls:
            continue
        values, first = series.values, falls[0]
        halvings = math.log2(values[first - 1] / max(values[-1], 2.0**-149))
        if halvings < SCALE_HALVINGS or not _has_no_level(series, falls, evidence):
            continue
        yield series_finding(
            entry,
            series,
            first,
            loss_scale_collapse.info,
            title=f"{series.key} fell from {values[first - 1]:g} to {values[-1]:g} without recovering",
            also=(first - 1, len(series) - 1),
        )


def _last_falls(series: Series) -> list[int]:
    """Indices of the falls that lead to the end, behind the last time that the scale was growing or at rest."""
    indices = [index for index in range(len(series)) if series.values[index] >= 0]
    falls, rises = list[int](), 0
    for before, after in reversed([*pairwise(indices)]):
        change = series.values[after] - series.values[before]
        rises += change > 0
        if rises * SCALE_HALVINGS > len(falls):
            break
        if change < 0:
            if len(falls) > 1 and falls[-1] - after > PAUSE * median([late - early for late, early in pairwise(falls)]):
                break
            falls.append(after)
    return falls[::-1]


def _has_no_level(series: Series, falls: list[int], evidence: RunEvidence) -> bool:
    """Whether the scale is still falling at the end, or lies at its floor with numbers that are not finite."""
    last = series.values[-1]
    still = len(series) - falls[-1] <= max(2, SETTLED_SHARE * (len(series) - falls[0]))
    if last <= FLOOR:
        return still or any(one.nonfinite_from() is not None for _, one in evidence.series("loss", "grad-norm"))
    return still and last <= SETTLED_SCALE
