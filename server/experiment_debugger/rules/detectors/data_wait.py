"""How much of a step the training waits for its next batch.

    time: 0.921  data_time: 0.853                                           mmengine, detectron2, torchvision, timm
    step,t_wait_batch_s,t_forward_s,t_backward_s,t_optimizer_s              loops that time themselves
    step 40: collate 8.62s h2d 0.01s fwd 0.83s bwd 1.73s opt 0.37s

A step time that is smaller than the data time leaves the wait out; then the step is the sum of both. The wait is the
process's: a GPU that is busy all the time has work queued and does not suffer from it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from experiment_debugger.evidence import FileEvidence, RunEvidence
from experiment_debugger.models import Finding
from experiment_debugger.readers.series import Series
from experiment_debugger.rules.base import run_detector
from experiment_debugger.rules.pace import is_clock, is_phase, seconds_of, warm_up
from experiment_debugger.rules.rulebook import Rulebook
from experiment_debugger.rules.series import series_finding

FEWEST_STEPS = 7
"""Timed steps behind the warm-up."""
DOMINANT = 0.5
"""Share of the step: the loop does nothing else half of the time. XProf calls 0.2 highly input-bound; below half, step
times without the wait in them would deceive."""
NEGLIGIBLE = 0.05
"""Share of the step below which XProf calls a program not input-bound."""
PARTS = 8
"""Parts of the run that are looked at one by one: one long wait must not speak for all."""
MOST_PARTS = 0.75
"""Share of the parts that must agree with the whole, each within PART_SLACK."""
PART_SLACK = 0.8
SHORTEST_WAIT = 0.01
"""Seconds a step; the loaders of toy models on toy data are no failure."""
BUSY = 80.0
"""Mean per cent of GPU utilisation above which there is work queued while the process waits."""


@dataclass(frozen=True, slots=True)
class Waits:
    """The waits of one source and rank: seconds waited and seconds in all, for the points `indices` of its series."""

    entry: FileEvidence
    series: Series
    indices: Sequence[int]
    waited: Sequence[float]
    steps: Sequence[float]

    def __len__(self) -> int:
        """Number of timed steps."""
        return len(self.steps)

    @property
    def share(self) -> float:
        """Waited time in all of the time."""
        return _share(self.waited, self.steps)

    def parts(self) -> list[float]:
        """The share in each of up to PARTS parts of the run."""
        count = min(PARTS, len(self.steps) // 3) or 1
        cuts = [len(self.steps) * at // count for at in range(count + 1)]
        return [_share(self.waited[low:high], self.steps[low:high]) for low, high in pairwise(cuts)]


@run_detector(
    id="data-time-dominates",
    title="most of every step is spent waiting for the next batch",
    mode="slow-data",
    symptom_class="throughput-low",
    role="root",
    level="warning",
    within="data",
    needs=["series"],
    why="The loop times its own wait: reading, decoding or collating a batch takes longer than the step that uses it.",
    confirm=["Iterate the loader alone at num_workers 0, 4 and 8, then with a constant __getitem__."],
    false_positives=["A step time that covers only a part of the step.", "GPU work that is queued and not waited for."],
    references=["https://github.com/openxla/xprof", "https://docs.pytorch.org/docs/stable/data.html"],
    verified="run",
)
def data_time_dominates(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """Sources whose data time is at least half of the step in nearly every part of the run."""
    if is_gpu_busy(evidence):
        return
    for waits in all_waits(evidence):
        typical = sum(waits.waited) / len(waits)
        agreeing = sum(part >= DOMINANT * PART_SLACK for part in waits.parts())
        if waits.share < DOMINANT or typical < SHORTEST_WAIT or agreeing < MOST_PARTS * len(waits.parts()):
            continue
        longest = max(range(len(waits.indices)), key=waits.waited.__getitem__)
        yield series_finding(
            waits.entry,
            waits.series,
            0,  # the share is measured behind the warm-up, and true from the start
            data_time_dominates.info,
            title=f"{waits.share:.0%} of the step is waiting for data ({waits.series.key}, {typical:.3g} s on average)",
            also=(waits.indices[0], waits.indices[longest], waits.indices[-1]),
            count=len(waits),
        )


@run_detector(
    id="compute-bound",
    title="the data arrives in time: hardly any of the step is waiting for a batch",
    mode="slow-training",
    symptom_class="observation",
    role="context",
    level="info",
    needs=["series"],
    why="Below a twentieth of the step the loader is not what limits the speed: more workers change nothing.",
    confirm=["The time of the training step on one cached batch against the step time of the run."],
    references=["https://github.com/openxla/xprof"],
    verified="run",
)
def compute_bound(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """Sources whose data time is negligible in nearly every part of the run."""
    for waits in all_waits(evidence):
        agreeing = sum(part <= 2 * NEGLIGIBLE for part in waits.parts())
        if waits.share < NEGLIGIBLE and agreeing >= MOST_PARTS * len(waits.parts()):
            title = f"{waits.share:.1%} of the step is waiting for data ({waits.series.key}): the data arrives in time"
            yield series_finding(waits.entry, waits.series, waits.indices[0], compute_bound.info, title=title)


def is_gpu_busy(evidence: RunEvidence) -> bool:
    """Whether the GPU that is watched works nearly all the time."""
    shares = [value for _, series in evidence.series("gpu-utilisation") for value in series.values if value >= 0]
    return bool(shares) and sum(shares) >= BUSY * len(shares)


def all_waits(evidence: RunEvidence) -> Iterator[Waits]:
    """The waits of every source and rank that times its data and its step, or all phases of the step."""
    for entry, data in evidence.series("data-time"):
        if data.evaluation or len(data) <= FEWEST_STEPS or is_clock(data.values):
            continue
        steps = _step_of(entry, data)
        waits = _paired(entry, data, *steps) if steps else None
        if waits is not None and len(waits) >= FEWEST_STEPS and sum(waits.steps) > 0:
            yield waits


def _step_of(entry: FileEvidence, data: Series) -> tuple[list[Series], bool] | None:
    """(what makes up the step besides or around the wait, whether it holds the wait already)."""
    beside = [one for one in entry.series if one.rank == data.rank and not one.evaluation and one is not data]
    whole = [one for one in beside if one.role == "step-time" and len(one) > FEWEST_STEPS and not is_clock(one.values)]
    if whole:
        return [max(whole, key=lambda one: (len(one) == len(data), len(one)))], True
    phases = [one for one in beside if is_phase(one.key) and len(one) == len(data)]
    return (phases, False) if phases else None


def _paired(entry: FileEvidence, data: Series, parts: list[Series], holds_wait: bool) -> Waits | None:
    """Waits and steps at the same positions, in seconds; None where the units cannot be told."""
    unit = seconds_of(data.key)
    units = [seconds_of(part.key) for part in parts]
    indices = range(warm_up(len(data)), len(data))
    waited = [data.values[index] * (unit or 1.0) for index in indices]
    totals = [_values_at(part, data, indices, factor or 1.0) for part, factor in zip(parts, units, strict=True)]
    kept = [at for at in range(len(indices)) if waited[at] >= 0 and all(total[at] >= 0 for total in totals)]
    waited = [waited[at] for at in kept]
    steps = [sum(total[at] for total in totals) for at in kept]
    excluded = not holds_wait or sum(waited) > sum(steps)
    if excluded and any((one is None) != (unit is None) for one in units):
        return None  # one names its unit, the other does not: the larger one need not be larger
    if excluded:
        steps = [step + wait for step, wait in zip(steps, waited, strict=True)]
    return Waits(entry, data, [indices[at] for at in kept], waited, steps)


def _values_at(part: Series, data: Series, indices: Sequence[int], factor: float) -> list[float]:
    """The values of a series where another one has its points; NaN where it has none."""
    if part.steps == data.steps or len(part) == len(data):
        return [part.values[index] * factor for index in indices]
    known = {step: value for step, value in zip(part.steps, part.values, strict=True) if step >= 0}
    return [known.get(data.steps[index], math.nan) * factor for index in indices]


def _share(waited: Sequence[float], steps: Sequence[float]) -> float:
    return sum(waited) / sum(steps) if sum(steps) else 0.0
