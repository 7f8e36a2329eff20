"""The course of step times: a slow start, outliers, steady growth, and a rate that falls for good.

step    0 | step_time 9.81            step 118 | samples_per_sec 3180
step  100 | step_time 0.0121          step 120 | samples_per_sec 1012
step 2900 | step_time 0.0417          step 122 | samples_per_sec 1010

Growth and drops have innocent reasons: longer inputs, layers that thaw, a discriminator that joins, agents that survive
longer. Where the records show that something else changed, or what makes steps longer, these detectors say nothing.
"""

from __future__ import annotations

import math
import statistics
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import combinations

from experiment_debugger.evidence import FileEvidence, RunEvidence
from experiment_debugger.models import Finding
from experiment_debugger.readers.series import Series
from experiment_debugger.rules.base import run_detector, series_detector
from experiment_debugger.rules.curves import median
from experiment_debugger.rules.pace import (
    Pace,
    inputs_change,
    is_clock,
    is_reinforcement,
    latest_stretch,
    levels,
    paces,
    spacing,
    tokens_keep_pace,
)
from experiment_debugger.rules.rulebook import Rulebook
from experiment_debugger.rules.series import series_finding, step_at

FEWEST_STEPS = 8
SLOW_START = 5.0
"""First step over the usual one; compiling, autotuning and filling caches."""
OUTLIER_SPREADS, MANY_OUTLIERS = 3.0, 10
"""SageMaker's StepOutlier: more than ten steps beyond the mean plus three standard deviations."""
FEWEST_FOR_OUTLIERS = 40
FEWEST_FOR_GROWTH, MANY_FOR_GROWTH = 16, 40
"""Reports below which nothing is said, and below which a part is one or two reports: only FEW_GROWTH is clear then."""
FEW_GROWTH = 3.0
GROWTH_PARTS, GROWTH = 12, 1.5
"""Last over first quarter of the run. Clocks, caches and neighbours on the node move step times by tens of per cent."""
ORDERED = 0.85
"""Share of the pairs of parts of which the later one is slower: 1 for a steady climb, 0.5 for noise."""
EACH_HALF = 1.1
"""Growth in either half of the run: a jump leaves at least one of them flat."""
FEWEST_FOR_DROP = 24
DROP_PARTS, SLOWDOWN = 64, 2.0
"""Median after over median before: a neighbour on the node costs less, and frameworks lose less to logging."""
CLEAR = 0.9
"""Share of the parts on either side that lie on their side of the middle."""
LEAST_LOST = 1.0
"""Seconds in all; a neighbour that costs a run of 40 steps its milliseconds is no failure."""
SHORTEST_SIDE = 0.15
"""Share of the run before and after the change: what lasts less is a phase."""
DRIFT = 1.35
"""Last over first quarter of one side: more is growth."""
NEAR = 0.02
"""Share of the run around a change in which anything else that changes explains it."""
CHANGED = {"learning-rate": 1.5, "grad-norm": 2.0, "loss": 1.5, "memory": 1.15, "loss-scale": math.inf}
"""Ratio of levels across the change that means: another phase of training begins here. A smaller one is noise."""
AROUND = 10
"""Points on either side of a change whose medians are compared, and as many before them for the trend."""


@series_detector(
    "step-time",
    "throughput",
    id="first-step-slow",
    title="the first step took much longer than the others",
    symptom_class="observation",
    role="context",
    level="info",
    why="Compilation, kernel autotuning and the first fill of caches; it is paid once.",
    confirm=["Time steps from the tenth on."],
    references=["https://docs.pytorch.org/tutorials/intermediate/torch_compile_tutorial.html"],
    verified="run",
)
def first_step_slow(entry: FileEvidence, series: Series, evidence: RunEvidence) -> Iterator[Finding]:
    """A first value several times the usual one."""
    if series.evaluation or len(series) < FEWEST_STEPS or not series.values[0] > 0 or is_clock(series.values):
        return
    usual = median(levels(series.values[1:], GROWTH_PARTS))
    first = series.values[0]
    if usual > 0 and (usual / first if series.role == "throughput" else first / usual) >= SLOW_START:
        title = f"the first report of {series.key} is {first:.4g}, the median of the others {usual:.4g}"
        yield series_finding(entry, series, 0, first_step_slow.info, title=title, also=(1,))


@run_detector(
    id="step-outliers",
    title="some steps took much longer than the others",
    symptom_class="observation",
    role="context",
    level="info",
    needs=["series"],
    why="Evaluation, checkpoints, garbage collection, storage or a neighbour; a pattern in them tells which.",
    confirm=["The steps of the outliers: are they equally far apart?"],
    references=["https://docs.aws.amazon.com/sagemaker/latest/dg/debugger-built-in-profiler-rules.html"],
    verified="source",
)
def step_outliers(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """More than ten steps beyond the mean plus three standard deviations."""
    for pace in paces(evidence):
        if len(pace) < FEWEST_FOR_OUTLIERS:
            continue
        mean = sum(pace.values) / len(pace)
        limit = mean + OUTLIER_SPREADS * math.sqrt(
            sum((value - mean) * (value - mean) for value in pace.values) / len(pace)
        )
        slow = [at for at, value in enumerate(pace.values) if value > limit]
        if len(slow) > MANY_OUTLIERS:
            title = f"{len(slow)} of {len(pace)} reports of {pace.series.key} are slower than the mean by 3 deviations"
            also = [pace.indices[at] for at in slow[1:3]]
            yield series_finding(
                pace.entry, pace.series, pace.indices[slow[0]], step_outliers.info, title=title, also=also
            )


@run_detector(
    id="step-time-growth",
    title="steps get slower and slower",
    mode="slow-training",
    symptom_class="throughput-low",
    role="root",
    level="warning",
    needs=["series"],
    why="Steady growth means that something accumulates: a list that every step walks, a graph, open files.",
    confirm=["Profile ten steps at the start and ten at the end: the entry that grew. Watch memory next to it."],
    false_positives=["Inputs that get longer on purpose without their length being recorded."],
    references=["https://docs.pytorch.org/docs/stable/notes/faq.html"],
    verified="run",
)
def step_time_growth(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """Step times that rise from part to part until the end."""
    if is_reinforcement(evidence) or inputs_change(evidence) or tokens_keep_pace(evidence):
        return
    for pace in map(latest_stretch, paces(evidence)):
        course = levels(pace.values, GROWTH_PARTS)
        least = GROWTH if len(pace) >= MANY_FOR_GROWTH else FEW_GROWTH
        if len(pace) >= FEWEST_FOR_GROWTH and _grows(course, least):
            if len(pace) < MANY_FOR_GROWTH and _seconds_lost(pace, course[0]) < LEAST_LOST:
                continue
            ratio = course[-1] / course[0]
            title = f"steps take {ratio:.1f} times as long at the end as at the start ({pace.series.key}, medians)"
            also = (pace.indices[len(pace) // 2], pace.indices[-1])
            yield series_finding(
                pace.entry, pace.series, pace.indices[0], step_time_growth.info, title=title, also=also
            )


def _grows(course: Sequence[float], least: float) -> bool:
    halves = (course[: len(course) // 2], course[len(course) // 2 :])
    pairs = [later > earlier for earlier, later in combinations(course, 2)]
    return (
        _quarter(course, -1) >= least * _quarter(course, 0)
        and sum(pairs) >= ORDERED * len(pairs)
        and all(_quarter(half, -1) >= EACH_HALF * _quarter(half, 0) for half in halves)
    )


@run_detector(
    id="throughput-drop",
    title="the training became much slower at one step and stayed so",
    mode="slow-training",
    symptom_class="throughput-low",
    role="root",
    level="warning",
    needs=["series"],
    why="A lasting drop has a moment: look at what changed then, on the node (clocks, neighbours) or in the data.",
    confirm=[
        "SM clock, temperature and throttle reasons at that time; data time before and after; what else ran there."
    ],
    false_positives=["A phase that costs more on purpose and leaves no trace in any other number."],
    references=["https://docs.nvidia.com/deploy/nvml-api/group__nvmlClocksEventReasons.html"],
    verified="run",
)
def throughput_drop(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """Step times with one lasting change for the worse that nothing else in the records explains."""
    if inputs_change(evidence) or tokens_keep_pace(evidence):
        return
    for pace in map(latest_stretch, paces(evidence)):
        at = _change(pace.values) if len(pace) >= FEWEST_FOR_DROP else None
        if at is None or _phase_begins(evidence, pace, at):
            continue
        usual = median(levels(pace.values[:at], DROP_PARTS))
        if _seconds_lost(pace, usual, at) < LEAST_LOST:
            continue
        slower = median(levels(pace.values[at:], DROP_PARTS)) / usual
        onset = pace.indices[at]
        title = f"steps take {slower:.1f} times as long from here to the end ({pace.series.key}, medians)"
        yield series_finding(
            pace.entry, pace.series, onset, throughput_drop.info, title=title, also=(onset - 1, pace.indices[-1])
        )


def _seconds_lost(pace: Pace, usual: float, start: int = 0) -> float:
    """What the steps from a point on took beyond the usual time, in seconds; infinite for a rate, which has no unit."""
    if pace.series.role != "step-time":
        return math.inf
    return (spacing(pace.series) or 1) * sum(value - usual for value in pace.values[start:])


def _change(values: Sequence[float]) -> int | None:
    """Where the times change for the worse once and for good, or None."""
    course = levels(values, min(DROP_PARTS, len(values) // 3))
    shortest = max(2, math.ceil(SHORTEST_SIDE * len(course)))
    cut = min(range(shortest, len(course) - shortest + 1), key=lambda at: _unrest(course, at), default=None)
    if cut is None:
        return None
    before, after = course[:cut], course[cut:]
    low, high = median(before), median(after)
    middle = math.sqrt(low * high)
    flat = all(_quarter(side, -1) <= DRIFT * _quarter(side, 0) for side in (before, after))
    clear = sum(value < middle for value in before) >= CLEAR * len(before)
    clear = clear and sum(value > middle for value in after) >= CLEAR * len(after)
    if not (high >= SLOWDOWN * low and flat and clear and course[-1] > middle):
        return None
    first, last = len(values) * (cut - 1) // len(course), len(values) * (cut + 1) // len(course)
    return next((at for at in range(first, last) if _is_above(values[at : at + 3], middle)), None)


def _unrest(course: Sequence[float], cut: int) -> float:
    """How far the levels lie from the medians of their sides, in logarithms."""
    logs = [math.log(value) for value in course]
    sides = (logs[:cut], logs[cut:])
    return sum(abs(value - middle) for side in sides for middle in [median(side)] for value in side)


def _quarter(side: Sequence[float], which: int) -> float:
    width = max(1, len(side) // 4)
    return median(side[-width:] if which < 0 else side[:width])


def _is_above(values: Sequence[float], middle: float) -> bool:
    return values[0] > middle and statistics.median(values) > middle


def _phase_begins(evidence: RunEvidence, pace: Pace, at: int) -> bool:
    """Whether anything else begins or changes at this step: an unfrozen layer, a second loss, larger inputs."""
    step, last = step_at(pace.series, pace.indices[at]), step_at(pace.series, pace.indices[-1])
    if step is None or last is None:
        return False
    near = max(NEAR * last, 2.0 * (spacing(pace.series) or 1))
    return any(
        _begins(series, step, near, last) or _changes(series, step, CHANGED.get(series.role or "", math.inf))
        for _, series in evidence.series()
        if series.axis == "step" and not series.evaluation and series is not pace.series
    )


def _begins(series: Series, step: int, near: float, last: int) -> bool:
    """Whether a series has its first points around a step that is not at the start of the run."""
    if series.role not in {"loss", "grad-norm", "learning-rate", None} or len(series) < 2:
        return False
    return abs(series.steps[0] - step) <= near and series.steps[0] > 2 * NEAR * last


def _changes(series: Series, step: int, ratio: float) -> bool:
    """Whether the level of a series jumps at a step by this factor more than it moved before: a loss always falls."""
    cut = bisect_left(series.steps, step)
    width = min(AROUND, cut // 2, len(series) - cut - 1)
    if math.isinf(ratio) or width < 1:
        return False
    edges = ((cut - 2 * width, cut - width), (cut - width, cut), (cut + 1, cut + 1 + width))
    earlier, before, after = (
        median([value for value in series.values[low:high] if math.isfinite(value)]) for low, high in edges
    )
    if not min(earlier, before, after) > 0:
        return False
    jump, trend = math.log(after / before), math.log(before / earlier)
    return abs(jump) >= math.log(ratio) and abs(jump - trend) >= math.log(ratio)
