"""Gradients that are zero, vanish or explode while the loss does not improve.

step 100 loss 2.3041 grad_norm 0.0          the graph is cut, or gradients are zeroed before the step
step 100 loss 2.3035 grad_norm/layer00 3e-14 grad_norm/layer20 0.11
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from experiment_debugger.evidence import FileEvidence, RunEvidence
from experiment_debugger.models import Finding
from experiment_debugger.readers.series import Series
from experiment_debugger.rules.base import run_detector
from experiment_debugger.rules.curves import Course, course_of, is_game, median, objectives, rising_share
from experiment_debugger.rules.rulebook import Rulebook
from experiment_debugger.rules.series import AS_CONTEXT, place_in, series_finding

FEWEST_ZEROS = 10
"""Reports with a norm of exactly zero up to the end; a skipped step or an accumulation step is one."""
ZERO_SHARE = 0.2
"""Their share of all reports."""
CONVERGED = 0.05
"""Share of its first level at which a loss may rightly have no gradient any more: hinge, triplet, separable data."""
VANISHED = 1e-7
"""SageMaker Debugger's VanishingGradient: mean absolute gradient. A norm is never smaller than that mean."""
APART = 1e-6
"""Norm of one layer as a share of that of another; layers of a model that learns lie within a few thousands."""
LEARNED = 0.05
"""Fall of the loss, as a share of where it began, that shows learning."""
EXPLODED = 1e3
"""Growth of the norm from its first to its last level; healthy norms drift by ten, seldom by a hundred."""
CLIMBS = 0.6
"""Share of the steps between levels that go up: a single spike is no explosion."""
_TOTAL = re.compile(
    r"(?:grad(?:ient)?s?[_ ]?norm(?:[_ ]?(?:total|global|all|l2))?|gnorm|total_norm)(?:[_/.](?:step|epoch|train))*$",
    re.IGNORECASE,
)


@run_detector(
    id="gradient-zero",
    title="the gradient norm is exactly zero",
    mode="silent-error",
    symptom_class="no-learning",
    role="root",
    level="error",
    needs=["series"],
    within="backward",
    why="SageMaker Debugger's AllZero: no gradient arrives, so the optimizer has nothing to apply.",
    confirm=["After one backward, list parameters whose grad is None or all zero, before anything zeroes it."],
    false_positives=[
        "The norm is read after zero_grad; then the loss falls all the same.",
        "A loss that reached zero.",
    ],
    references=["https://docs.aws.amazon.com/sagemaker/latest/dg/debugger-built-in-rules.html#all-zero"],
    verified="run",
)
def gradient_zero(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """Total norms that are zero to the end, or all norms of parts together, while no loss falls."""
    if is_game(evidence):
        return
    for entry in (*evidence.files, *evidence.numbers):
        norms = _norms(entry)
        totals = [series for series in norms if _TOTAL.search(series.key)] or norms
        zeros = [_zero_from(series) for series in totals]
        if not totals or not all(first is not None for first in zeros):
            continue
        series, first = totals[0], zeros[0] or 0
        courses = [course for _, course in _courses(evidence, entry, series, first)]
        if any(_learns(course) for course in courses) or _has_converged(evidence, entry, series, first):
            continue
        yield series_finding(
            entry,
            series,
            first,
            gradient_zero.info,
            title=f"{series.key} is exactly 0 in {len(series) - first} reports, to the end",
            level="error" if courses else "warning",
            also=(first - 1 if first else len(series) - 1,),
        )


def _norms(entry: FileEvidence) -> list[Series]:
    return [series for series in entry.series if series.role == "grad-norm" and not series.evaluation]


def _zero_from(series: Series) -> int | None:
    """Index from which all values are zero, if these are enough."""
    first = len(series)
    while first > 0 and series.values[first - 1] == 0.0:
        first -= 1
    count = len(series) - first
    return first if count >= max(FEWEST_ZEROS, ZERO_SHARE * len(series)) else None


def _courses(evidence: RunEvidence, entry: FileEvidence, norm: Series, first: int) -> Iterator[tuple[Series, Course]]:
    """The losses of the same source from a point of the norm on."""
    place = place_in(norm, first)
    for other, loss in objectives(evidence):
        if other is entry:
            start = next((index for index in range(len(loss)) if place_in(loss, index) >= place), len(loss))
            course = course_of(loss, start)
            if course is not None:
                yield loss, course


def _learns(course: Course) -> bool:
    """Whether a loss falls by more than its noise: from its first points, or from its first fifth to its last."""
    fifth = max(1, len(course.values) // 5)
    fall = median(course.values[:fifth]) - median(course.values[-fifth:])
    least, error = LEARNED * abs(course.start), course.noise * math.sqrt(2 / fifth)
    return course.start - course.end > max(3 * course.noise, least) or fall > max(4 * error, least)


def _has_converged(evidence: RunEvidence, entry: FileEvidence, norm: Series, first: int) -> bool:
    """Whether the loss had come down to almost nothing before its gradient was zero."""
    for loss, course in _courses(evidence, entry, norm, first):
        whole = course_of(loss)
        if first and whole is not None and abs(course.end) <= CONVERGED * abs(whole.start):
            return True
    return False


@run_detector(
    id="gradient-vanishing",
    title="gradients vanish on their way through the model",
    mode="silent-error",
    symptom_class="no-learning",
    role="root",
    level="warning",
    needs=["series"],
    within="backward",
    why="SageMaker Debugger's VanishingGradient, together with a loss that never fell: small alone is no bug.",
    confirm=["Norm of the gradient of each layer after one backward: it falls from the last layer to the first."],
    false_positives=["A part that is frozen on purpose.", "A loss scaled down by a constant, with Adam."],
    references=["https://docs.aws.amazon.com/sagemaker/latest/dg/debugger-built-in-rules.html#vanishing-gradient"],
    verified="run",
)
def gradient_vanishing(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """The smallest norm of each source whose median is below VANISHED or APART from the largest one, with that one."""
    for entry in (*evidence.files, *evidence.numbers):
        levels = {id(series): median(course.values[len(course.values) // 2 :]) for series, course in _measured(entry)}
        norms = sorted((series for series, _ in _measured(entry)), key=lambda series: levels[id(series)])
        limit = max(VANISHED, APART * max(levels.values(), default=0.0)) if not is_game(evidence) else VANISHED
        small = [series for series in norms if levels[id(series)] < limit and _is_alive(series)]
        if not small:
            continue
        losses = [course for _, course in _courses(evidence, entry, small[0], 0)]
        dead = bool(losses) and not is_game(evidence) and not any(_learns(course) for course in losses)
        largest = norms[-1]
        other = f", that of {largest.key} {levels[id(largest)]:.2g}" if largest is not small[0] else ""
        yield series_finding(
            entry,
            small[0],
            _first_small(small[0], limit),
            gradient_vanishing.info,
            title=f"the median of {small[0].key} is {levels[id(small[0])]:.2g}{other}",
            also=(len(small[0]) - 1,),
            **({} if dead else AS_CONTEXT),
        )


def _measured(entry: FileEvidence) -> Iterator[tuple[Series, Course]]:
    """The norms of a source that have a course."""
    for series in _norms(entry):
        course = course_of(series)
        if course is not None and len(course.values) >= FEWEST_ZEROS:
            yield series, course


def _is_alive(series: Series) -> bool:
    """Whether there was a gradient at some time: parts that never have one are frozen."""
    return series.values.count(0.0) < len(series)


def _first_small(series: Series, limit: float) -> int:
    """Index from which the norm stays small."""
    index = len(series)
    while index > 0 and not series.values[index - 1] >= limit:
        index -= 1
    return min(index, len(series) - 1)


@run_detector(
    id="gradient-exploding",
    title="the gradient norm grows by orders of magnitude",
    mode="nan-gradient",
    symptom_class="nonfinite",
    role="root",
    level="warning",
    needs=["series"],
    within="backward",
    why="Clipping keeps the loss finite, but the direction is that of a few exploding paths: nothing is learned.",
    confirm=["Norms of the gradient of each layer, before clipping, at an early and at a late step."],
    false_positives=["Losses of GANs and of reinforcement learning.", "A sum over tokens whose number grows."],
    references=["https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.clip_grad_norm_.html"],
    verified="run",
)
def gradient_exploding(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """Norms that climb by EXPLODED from level to level; a failure only where the loss does not fall meanwhile."""
    for entry in (*evidence.files, *evidence.numbers):
        for series, course in _measured(entry):
            first, last = median(course.levels[: max(1, len(course.levels) // 5)]), course.levels[-1]
            if not 0 < first * EXPLODED < min(last, course.end) or rising_share(course.levels) < CLIMBS:
                continue
            losses = [loss for _, loss in _courses(evidence, entry, series, 0)]
            lost = bool(losses) and not is_game(evidence) and not any(_learns(loss) for loss in losses)
            left = next(
                at for at in range(len(course.levels) - 1, -1, -1) if not at or course.levels[at - 1] <= 10 * first
            )
            yield series_finding(
                entry,
                series,
                course.indices[course.first_of(left)],
                gradient_exploding.info,
                title=f"{series.key} grew from a median of {first:.3g} to one of {last:.3g}",
                also=(course.indices[0], len(series) - 1),
                **({} if lost else AS_CONTEXT),
            )
