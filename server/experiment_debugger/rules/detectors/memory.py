"""GPU memory that grows until an allocation fails: a leak or growing inputs, not a model that is too large.

[rank5] it   10 ... | max allocated 33.1 GiB          iteration,alloc_mb,reserved_mb
[rank5] it 5300 ... | max allocated 77.0 GiB          4100,9618.2,9748
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from experiment_debugger.evidence import RunEvidence
from experiment_debugger.models import Finding
from experiment_debugger.readers.series import Series
from experiment_debugger.rules.base import run_detector
from experiment_debugger.rules.rulebook import Rulebook
from experiment_debugger.rules.series import series_finding

FEWEST_POINTS = 8
LEAST_GROWTH = 1.25
"""Last over first quarter; caches and fragmentation settle within a few per cent after warm-up."""
RISING_SHARE = 0.75
"""Share of quarters-to-quarter windows that must rise: a leak climbs all the time, a jump does not."""


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
    """Memory columns of logs and tables that rise from start to end."""
    for entry, series in evidence.series("memory"):
        if _grows(series):
            first, last = series.values[0], series.values[-1]
            title = f"{series.key} grew from {first:g} to {last:g} over {len(series.values)} reports"
            end = len(series.values) - 1
            yield series_finding(entry, series, 0, gpu_memory_growth.info, title=title, also=(end,))


def _grows(series: Series) -> bool:
    values = series.values
    count = len(values)
    if count < FEWEST_POINTS or min(values) <= 0:
        return False
    width = max(1, count // 8)
    means = [sum(values[i : i + width]) / len(values[i : i + width]) for i in range(0, count, width)]
    rising = sum(b > a for a, b in pairwise(means))
    return means[-1] >= LEAST_GROWTH * means[0] and rising >= RISING_SHARE * (len(means) - 1)
