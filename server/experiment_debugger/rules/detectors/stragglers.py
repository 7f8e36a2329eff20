"""A rank whose own work takes longer than that of the others, so that all of them wait for it.

rank0.log: step 40 | compute_time 0.0112        rank1.log: step 40 | compute_time 0.0431

The time of a whole step is the same on all ranks, because collectives make everyone wait for the last. So only times
that a rank measures before it waits can tell; where no rank stands out, nothing is said.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from experiment_debugger.discovery.names import rank_of
from experiment_debugger.evidence import RunEvidence
from experiment_debugger.models import Finding
from experiment_debugger.rules.base import run_detector
from experiment_debugger.rules.curves import median
from experiment_debugger.rules.pace import Pace, levels, paces
from experiment_debugger.rules.rulebook import Rulebook
from experiment_debugger.rules.series import point, series_finding

FEWEST_STEPS = 20
"""Timed steps of each rank."""
SLOWER = 1.5
"""Over the median of the other ranks. NVIDIA's resiliency extension calls a rank a straggler below 0.75 of the best
(1.33 times as long); ranks differ by their share of work, too."""
PARTS, THROUGHOUT = 8, 0.875
"""Parts of the run, and the share of them in which the rank must be this much slower than the others."""
LEAST_OF_STEP = 0.1
"""Of the step time: data times of a few milliseconds differ by any factor and cost nothing."""


@run_detector(
    id="rank-straggler",
    title="one rank is slower than the others all the time",
    mode="slow-training",
    symptom_class="throughput-low",
    role="root",
    level="warning",
    needs=["series"],
    why="Every collective waits for the last rank: the whole job runs at the speed of the slowest one.",
    confirm=["Swap the node or GPU of that rank: does the slowness stay with the device or go with the rank's data?"],
    false_positives=["Pipeline stages that are unequal on purpose."],
    references=["https://github.com/NVIDIA/nvidia-resiliency-ext"],
    verified="run",
)
def rank_straggler(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """The rank of each timed quantity that is slower than the median of the others from start to end."""
    step_time = _usual_step(evidence)
    for key, of_rank in _by_quantity(evidence).items():
        courses = {rank: levels(pace.values, PARTS) for rank, pace in of_rank.items()}
        for rank, pace in of_rank.items():
            others = [course for other, course in courses.items() if other != rank]
            ratio = _slower(courses[rank], others)
            excess = median(courses[rank]) * (1 - 1 / ratio) if ratio else 0.0
            if ratio is None or (pace.series.role == "data-time" and excess < LEAST_OF_STEP * step_time):
                continue
            title = (
                f"rank {rank} takes {ratio:.1f} times as long as the others of {len(of_rank)} ranks ({key}, medians)"
            )
            finding = series_finding(pace.entry, pace.series, pace.indices[0], rank_straggler.info, title=title)
            quick = of_rank[min(courses, key=lambda one: median(courses[one]))]
            position = finding.position.model_copy(update={"rank": rank})
            shown = (*finding.evidence, point(quick.entry, quick.series, quick.indices[0]))
            yield finding.model_copy(update={"position": position, "evidence": shown})


def _by_quantity(evidence: RunEvidence) -> dict[str, dict[int, Pace]]:
    """The longest timed series of each key and rank, where at least two ranks have it."""
    found: dict[str, dict[int, Pace]] = defaultdict(dict)
    for pace in paces(evidence, "step-time", "throughput", "data-time"):
        rank = _rank_of(pace)
        if rank is None or len(pace) < FEWEST_STEPS:
            continue
        known = found[pace.series.key].get(rank)
        if known is None or len(known) < len(pace):
            found[pace.series.key][rank] = pace
    return {key: of_rank for key, of_rank in found.items() if len(of_rank) > 1}


def _rank_of(pace: Pace) -> int | None:
    """The rank that recorded a pace: of the line, of the file, or of the folder that a tracker wrote into."""
    if pace.series.rank is not None:
        return pace.series.rank
    written = pace.entry.artifact.rank
    return rank_of(tuple(pace.entry.name.split("/"))) if written is None else written


def _slower(course: Sequence[float], others: Sequence[Sequence[float]]) -> float | None:
    """How much slower a course is than the median of the others, if it is so in nearly all parts; else None."""
    ratios = [own / median([other[at] for other in others]) for at, own in enumerate(course)]
    slow = sum(ratio >= SLOWER for ratio in ratios)
    return median(ratios) if slow >= THROUGHOUT * len(ratios) else None


def _usual_step(evidence: RunEvidence) -> float:
    """Seconds of a step on any rank; 0 where no step time is recorded."""
    return max((median(levels(pace.values, PARTS)) for pace in paces(evidence, "step-time")), default=0.0)
