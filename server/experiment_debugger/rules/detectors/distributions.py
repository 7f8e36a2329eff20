"""Histograms of trackers: weights that never change, activations that are all zero, gradients that vanish.

weights/encoder.0  step 0, 30, 60, 90: the same minimum, maximum, sum and sum of squares to the last digit
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator

from experiment_debugger.evidence import FileEvidence, RunEvidence
from experiment_debugger.models import Evidence, Finding, Position, as_value
from experiment_debugger.readers.series import Histogram
from experiment_debugger.rules.base import run_detector
from experiment_debugger.rules.curves import course_of, principals
from experiment_debugger.rules.rulebook import Rulebook

SAME = 1e-5
"""SageMaker Debugger's UnchangedTensor: relative tolerance."""
FEWEST_STEPS = 3
"""Its number of steps with the same values."""
SHORTEST_SPAN = 20
"""Optimizer steps between the first and the last; a warm-up may begin at a learning rate of almost zero."""
LEARNED = 0.05
"""Fall of the loss, as a share of where it began, that shows that some weights moved."""
DEAD_SHARE = 0.99
"""Share of activations that are zero; half of them is what a healthy ReLU has."""
ZERO = 1e-11
"""TensorBoard's smallest bucket ends at 1e-12."""
VANISHED = 1e-7
"""SageMaker Debugger's VanishingGradient: mean absolute gradient."""
_WEIGHTS = re.compile(r"weight|kernel|param|embed|(?:^|[/_.])w\d*$", re.IGNORECASE)
_OTHER = re.compile(
    r"grad|running|num_batches|ema|exp_avg|moment|update|teacher|target|frozen|activ|\.?bias$", re.IGNORECASE
)
_ACTIVATIONS = re.compile(r"activation|relu|(?:^|[/_.])acts?(?:$|[/_.])", re.IGNORECASE)
_GRADIENTS = re.compile(r"grad", re.IGNORECASE)
By = dict[str, list[Histogram]]


@run_detector(
    id="weights-frozen",
    title="the weights do not change",
    mode="silent-error",
    symptom_class="no-learning",
    role="root",
    level="error",
    needs=["series"],
    within="optimizer",
    why="SageMaker Debugger's UnchangedTensor, for all weights at once: some of them may be frozen on purpose.",
    confirm=["Checksum of the parameters before and after one optimizer step; which objects does the optimizer hold?"],
    false_positives=["Histograms of a copy that is not trained (teacher, average)."],
    references=["https://docs.aws.amazon.com/sagemaker/latest/dg/debugger-built-in-rules.html#unchanged-tensor"],
    verified="run",
)
def weights_frozen(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """Sources in which no histogram of weights ever changes; where some do, or the loss falls, it is context."""
    for entry in evidence.numbers:
        moving = {key: several for key, several in _weights(entry).items() if several[0].minimum < several[0].maximum}
        still = [key for key, several in moving.items() if _never_changes(several)]
        if not still:
            continue
        learns = _loss_falls(evidence)
        whole = len(still) == len(moving) and not learns
        many = "all" if len(still) == len(moving) else f"{len(still)} of"
        first, last = moving[still[0]][0], moving[still[0]][-1]
        yield weights_frozen.info.finding(
            _position(entry, first.step),
            (_shown(entry, one) for one in (first, last)),
            title=f"from step {first.step} to {last.step}, {many} {len(moving)} weights with histograms are the same",
            **_as_context(whole, level="error" if learns is False else "warning"),
        )


def _as_context(failed: bool, level: str) -> dict[str, str]:
    return {"level": level} if failed else {"role": "context", "symptom_class": "observation", "level": "info"}


def _weights(entry: FileEvidence) -> By:
    """The histograms of weights of a source by name, where there are enough of them."""
    kept = (one for one in entry.recorded.histograms if _WEIGHTS.search(one.key) and not _OTHER.search(one.key))
    return {
        key: several
        for key, several in _by_key(kept).items()
        if len({one.step for one in several}) >= FEWEST_STEPS and several[-1].step - several[0].step >= SHORTEST_SPAN
    }


def _by_key(histograms: Iterable[Histogram]) -> By:
    found: By = {}
    for histogram in histograms:
        found.setdefault(histogram.key, []).append(histogram)
    return found


def _never_changes(several: list[Histogram]) -> bool:
    first = several[0]
    return all(_is_same(first, other) for other in several[1:])


def _is_same(one: Histogram, other: Histogram) -> bool:
    """Whether two distributions agree in everything that is recorded of them."""
    numbers = (
        (one.minimum, other.minimum),
        (one.maximum, other.maximum),
        (one.total_of_squares, other.total_of_squares),
        *zip(one.counts, other.counts, strict=False),
    )
    return len(one.counts) == len(other.counts) and all(math.isclose(a, b, rel_tol=SAME) for a, b in numbers)


def _loss_falls(evidence: RunEvidence) -> bool | None:
    """Whether some main loss falls by more than its noise; None where no loss is known."""
    courses = [course for _, series in principals(evidence) if (course := course_of(series)) is not None]
    falls = (one.start - one.end > max(2 * one.noise, LEARNED * abs(one.start)) for one in courses)
    return any(falls) if courses else None


@run_detector(
    id="gradient-histograms-vanishing",
    title="the histograms of gradients lie at almost zero",
    mode="silent-error",
    symptom_class="observation",
    role="context",
    level="info",
    needs=["series"],
    why="SageMaker Debugger's VanishingGradient: the mean absolute gradient of a layer is below 1e-7.",
    confirm=[
        "Compare the layers: a fall from the last to the first is vanishing, zero in one is a frozen or dead one."
    ],
    references=["https://docs.aws.amazon.com/sagemaker/latest/dg/debugger-built-in-rules.html#vanishing-gradient"],
    verified="run",
)
def gradient_histograms_vanishing(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """Layers whose last histogram of gradients has a mean below VANISHED."""
    for entry in evidence.numbers:
        last = [
            several[-1] for several in _by_key(entry.recorded.histograms).values() if _GRADIENTS.search(several[0].key)
        ]
        small = [one for one in last if one.count > 0 and _mean_size(one) < VANISHED]
        if small:
            yield gradient_histograms_vanishing.info.finding(
                _position(entry, small[0].step),
                (_shown(entry, one) for one in small[:3]),
                title=f"the mean absolute gradient is below {VANISHED:g} in {len(small)} of {len(last)} layers",
            )


def _mean_size(histogram: Histogram) -> float:
    """Root of the mean square: no smaller than the mean absolute value, and exact whatever the buckets are."""
    return math.sqrt(max(histogram.total_of_squares, 0.0) / histogram.count)


@run_detector(
    id="activations-dead",
    title="the activations of a layer are all zero",
    mode="silent-error",
    symptom_class="observation",
    role="context",
    level="warning",
    needs=["series"],
    why="SageMaker Debugger's DeadRelu: units that are zero for every input get no gradient and stay so.",
    confirm=["Share of units that are zero for a whole batch, layer by layer, at an early and at a late checkpoint."],
    references=["https://docs.aws.amazon.com/sagemaker/latest/dg/debugger-built-in-rules.html#dead-relu"],
    verified="run",
)
def activations_dead(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """Layers named as activations whose last histogram has nothing but zeros."""
    for entry in evidence.numbers:
        for key, several in _by_key(entry.recorded.histograms).items():
            last = several[-1]
            if not _ACTIVATIONS.search(key) or _GRADIENTS.search(key) or _zero_share(last) < DEAD_SHARE:
                continue
            dead = next(one for one in several if _zero_share(one) >= DEAD_SHARE)
            title = f"{_zero_share(last):.0%} of {key} are zero, to the last histogram"
            yield activations_dead.info.finding(_position(entry, dead.step), [_shown(entry, dead)], title=title)


def _zero_share(histogram: Histogram) -> float:
    if histogram.count <= 0 or histogram.minimum < -ZERO:
        return 0.0
    zeros = sum(n for edge, n in zip(histogram.edges, histogram.counts, strict=False) if edge <= ZERO)
    return 1.0 if histogram.maximum <= ZERO else zeros / histogram.count


def _position(entry: FileEvidence, step: int) -> Position:
    return Position(path=entry.name, step=step, rank=entry.artifact.rank, attempt=entry.artifact.attempt)


def _shown(entry: FileEvidence, histogram: Histogram) -> Evidence:
    return Evidence(path=entry.name, step=histogram.step, key=histogram.key, value=as_value(histogram.maximum))
