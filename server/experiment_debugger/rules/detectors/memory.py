"""Memory that grows: on the GPU until an allocation fails, on the host until the kernel or the scheduler kills.

[rank5] it   10 ... | max allocated 33.1 GiB          iteration,alloc_mb,reserved_mb          rss_mb  812.4
[rank5] it 5300 ... | max allocated 77.0 GiB          4100,9618.2,9748                        rss_mb 1911.0

Only ratios are looked at, so any unit will do. Caches, fragmentation and running maxima grow too, but flatten; replay
memories, cached data sets and mapped files fill by design.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from experiment_debugger.evidence import FileEvidence, RunEvidence
from experiment_debugger.models import Finding
from experiment_debugger.readers.series import Series
from experiment_debugger.rules.base import RuleInfo, run_detector
from experiment_debugger.rules.curves import rising_share, stretches
from experiment_debugger.rules.pace import inputs_change, is_reinforcement, levels, warm_up
from experiment_debugger.rules.rulebook import Rulebook
from experiment_debugger.rules.series import series_finding

FEWEST_POINTS = 8
LEAST_GROWTH = 1.25
"""Last over first eighth; caches and fragmentation settle within a few per cent after warm-up."""
RISING_SHARE = 0.75
"""Share of eighths that must rise: a leak climbs all the time, a jump does not."""
FEWEST_FOR_LEAK = 32
LEAK_PARTS, LEAK_GROWTH, LEAK_RISING = 16, 1.5, 0.9
"""Parts of the run behind the warm-up, last over first of them, and the share of them that rise."""
STRAIGHT = 0.6
"""Growth of the second half over that of the first: 1 for a leak, a third or less for what fills up or is a maximum."""
NEARLY_FULL = 70.0
"""Per cent of the machine's memory; what a tracker samples of every run must come near the limit to be a sign."""
_NO_AMOUNT = re.compile(r"utilization\.memory|^mem$|memory\.total|mem(?:ory)?_total|free|available", re.IGNORECASE)
"""Memory traffic (`dmon` calls it mem), capacity, and what is left."""
_SAMPLED = re.compile(r"^system[./]|(?:^|[./])proc\.memory", re.IGNORECASE)
_SHARE = re.compile(r"percent|%", re.IGNORECASE)


@run_detector(
    id="gpu-memory-growth",
    title="GPU memory in use grew steadily over the run",
    mode="oom",
    symptom_class="observation",
    role="context",
    level="warning",
    needs=["series"],
    why="Steady growth means that something is kept or that inputs grow; a smaller batch only delays the failure.",
    confirm=["Print torch.cuda.memory_allocated() at the same point of 50 steps: the slope is the leak."],
    false_positives=["A curriculum that lengthens sequences on purpose."],
    references=["https://docs.pytorch.org/docs/stable/notes/faq.html"],
    verified="thread",
)
def gpu_memory_growth(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """Memory columns of logs, tables, trackers and GPU logs that rise from start to end."""
    for entry, series in evidence.series("memory"):
        indices = _amounts(series)
        if len(indices) >= FEWEST_POINTS and _grows([series.values[index] for index in indices]):
            first, last = indices[0], indices[-1]
            values = f"from {series.values[first]:g} to {series.values[last]:g}"
            title = f"{series.key} grew {values} over {len(indices)} reports"
            yield series_finding(entry, series, first, gpu_memory_growth.info, title=title, also=(last,))


@run_detector(
    id="gpu-memory-leak",
    title="GPU memory in use grows by the same amount all the time",
    mode="oom",
    symptom_class="observation",
    role="root",
    level="warning",
    needs=["series"],
    why="Straight growth without an end has not failed yet, and will when the card is full.",
    confirm=["torch.cuda.memory._record_memory_history() over 20 steps: which line allocated what is still there?"],
    false_positives=["Inputs that get longer on purpose without their length being recorded."],
    references=["https://docs.pytorch.org/docs/stable/torch_cuda_memory.html"],
    verified="thread",
)
def gpu_memory_leak(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """Memory that rises in a straight line to the end, where no allocation has failed: that speaks for itself."""
    if _has_failed(evidence, book) or inputs_change(evidence) or is_reinforcement(evidence):
        return
    for entry, series in evidence.series("memory"):
        indices = _leaking(series)
        if indices:
            yield _leak_finding(entry, series, indices, gpu_memory_leak.info)


@run_detector(
    id="host-memory-growth",
    title="host memory in use grows by the same amount all the time",
    mode="crash",
    symptom_class="observation",
    role="root",
    level="warning",
    needs=["series"],
    why="Straight growth without an end: the kernel or the scheduler will kill the process when the limit is reached.",
    confirm=["tracemalloc or memray over 100 steps: which line holds what is new?"],
    false_positives=["A memory-mapped data set in its first pass.", "A cache that is still being filled."],
    references=[
        "https://docs.pytorch.org/docs/stable/notes/faq.html",
        "https://github.com/pytorch/pytorch/issues/13246",
    ],
    verified="run",
)
def host_memory_growth(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """Resident memory that rises in a straight line to the end; samples of a tracker only where memory gets scarce."""
    if is_reinforcement(evidence) or _caches_data(evidence):
        return
    for entry, series in evidence.series("host-memory"):
        indices = _leaking(series)
        if indices and (not _SAMPLED.search(series.key) or _is_scarce(entry)):
            yield _leak_finding(entry, series, indices, host_memory_growth.info)


def _leak_finding(entry: FileEvidence, series: Series, indices: Sequence[int], info: RuleInfo) -> Finding:
    first, last = indices[0], indices[-1]
    title = f"{series.key} grows in a straight line, from {series.values[first]:g} to {series.values[last]:g}"
    return series_finding(entry, series, first, info, title=title, also=(indices[len(indices) // 2], last))


def _amounts(series: Series, start: int = 0) -> list[int]:
    """Indices of the points that are amounts in use."""
    if series.evaluation or _NO_AMOUNT.search(series.key):
        return []
    return [index for index in range(start, len(series)) if 0 < series.values[index] < math.inf]


def _grows(values: Sequence[float]) -> bool:
    width = max(1, len(values) // 8)
    means = [sum(part) / len(part) for i in range(0, len(values), width) if (part := values[i : i + width])]
    rising = sum(b > a for a, b in pairwise(means))
    return means[-1] >= LEAST_GROWTH * means[0] and rising >= RISING_SHARE * (len(means) - 1)


def _leaking(series: Series) -> list[int]:
    """The points behind the last restart and the warm-up, if they rise in a straight line; else none."""
    low, high = stretches(series)[-1] if series.axis == "step" else (0, len(series))
    indices = _amounts(series, low + warm_up(high - low)) if high - low >= FEWEST_FOR_LEAK else []
    if len(indices) < FEWEST_FOR_LEAK:
        return []
    course = levels([series.values[index] for index in indices], LEAK_PARTS)
    half = course[len(course) // 2]
    straight = course[-1] - half >= STRAIGHT * (half - course[0])
    grown = course[-1] >= LEAK_GROWTH * course[0] and rising_share(course) >= LEAK_RISING
    return indices if grown and straight else []


def _has_failed(evidence: RunEvidence, book: Rulebook) -> bool:
    """Whether an allocation on the device has failed."""
    return any(
        match.rule in book.signatures and book.signatures[match.rule].symptom_class == "gpu-memory-exhausted"
        for entry in evidence.files
        for match in entry.matches
    )


def _caches_data(evidence: RunEvidence) -> bool:
    return any(match.rule == "dataset-cached-in-ram" for entry in evidence.all_files() for match in entry.matches)


def _is_scarce(entry: FileEvidence) -> bool:
    """Whether the same source says that most of the machine's memory is in use."""
    return any(
        series.role == "host-memory" and _SHARE.search(series.key) and NEARLY_FULL <= series.values[-1] <= 100
        for series in entry.series
        if series.values
    )
