"""Regular pauses between steps in which the training waits for its loader.

    t_total_s 1.34 0.24 0.25 0.24 1.32 0.24 0.25 0.24      four workers deliver four batches, then everyone waits
    10:33:51 step 256 ... 10:35:44 step 260 ...            the same, seen on the clock of the log
    epoch 6: first batch after 11.12 s                     workers are started anew for every epoch

Many things come every k steps: an optimizer step after k micro-steps, a synchronising log line, an evaluation, a
checkpoint. So a period alone says nothing: the wait must have been measured, or k must be that of the workers, or the
log must say something about its loader.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from experiment_debugger.evidence import FileEvidence, RunEvidence
from experiment_debugger.models import Finding
from experiment_debugger.readers.series import Series
from experiment_debugger.rules.base import run_detector
from experiment_debugger.rules.curves import median
from experiment_debugger.rules.pace import Pace, is_reinforcement, paces, seconds_of, spacing, warm_up
from experiment_debugger.rules.rulebook import Rulebook
from experiment_debugger.rules.series import series_finding

MOST_STEPS = 4096
"""Steps in a row that a period is looked for in."""
REPEATS = 6
"""Times that a pause must come back after the same number of steps."""
LONGEST_PERIOD = 64
"""Reports; workers times prefetch factor."""
FARTHEST = 128
"""Steps between pauses that only words about the loader speak for: evaluations and checkpoints are farther apart."""
REGULAR = 0.75
"""Share of the pauses that come after the same number of steps; workers drift against each other."""
STALL = 3.0
"""A slow step over a quick one. An optimizer step after several micro-steps hardly reaches it."""
LOST = 0.2
"""Share of the time that the pauses take."""
WAITED = 0.6
"""Share of a pause that must be data time, where that is recorded."""
SHORTEST_PAUSE = 2.0
"""Seconds between two lines; stamps are whole seconds."""
WORKERS = frozenset({"num_workers", "dataloader_num_workers", "n_workers", "workers", "num_data_workers"})
_INTERVAL = re.compile(r"every|interval|freq|period|accum|n_critic|_steps$|steps_per|update", re.IGNORECASE)
_FIRST_BATCH = re.compile(r"first[_ ]?batch", re.IGNORECASE)
FEWEST_EPOCHS = 3
LONG_START = 0.2
"""Share of an epoch that goes by before its first batch."""


@dataclass(frozen=True, slots=True)
class Stalls:
    """Slow steps that come back: positions in the values, how many values apart, and how much slower they are."""

    at: Sequence[int]
    period: int
    ratio: float
    lost: float


def stalls_of(values: Sequence[float]) -> Stalls | None:
    """The regular slow ones among times, or None."""
    stretch = values[max(0, (len(values) - MOST_STEPS) // 2) :][:MOST_STEPS]
    first = max(0, (len(values) - MOST_STEPS) // 2)
    ordered = sorted(stretch)
    if len(ordered) < 2 * REPEATS:
        return None
    quick = ordered[len(ordered) // 4]
    for top in (ordered[int(0.95 * (len(ordered) - 1))], ordered[int(0.985 * (len(ordered) - 1))]):
        limit = max(STALL * quick, quick + 0.4 * (top - quick))
        slow = [at for at, value in enumerate(stretch) if value > limit]
        apart = Counter(after - before for before, after in pairwise(slow))
        period, count = apart.most_common(1)[0] if apart else (0, 0)
        lost = sum(stretch[at] - quick for at in slow) / sum(stretch) if sum(stretch) else 0.0
        regular = count >= max(REPEATS, REGULAR * (len(slow) - 1)) and 2 <= period <= LONGEST_PERIOD
        if regular and lost >= LOST and len(slow) * period >= REGULAR * len(stretch):
            ratio = median([stretch[at] for at in slow]) / quick if quick > 0 else math.inf
            return Stalls([first + at for at in slow], period, ratio, lost)
    return None


@run_detector(
    id="step-time-stalls-periodic",
    title="every few steps the training waits for the loader",
    mode="slow-data",
    symptom_class="throughput-low",
    role="root",
    level="warning",
    within="data",
    needs=["series"],
    why="Workers that start together deliver together: quick steps use up what is there, then the loop waits.",
    confirm=["Iterate the loader alone with twice the workers: does the time of a batch halve?"],
    false_positives=["Work of the loop itself that comes every k steps, with k the number of workers by chance."],
    references=["https://docs.pytorch.org/docs/stable/data.html"],
    verified="run",
)
def step_time_stalls_periodic(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """Sources whose step times, or times of reports, stall regularly for want of data."""
    if is_reinforcement(evidence):
        return
    timed = list(paces(evidence))
    for pace in timed:
        stalls = stalls_of(pace.values)
        if stalls and _is_loader(evidence, pace, stalls, book):
            yield _finding(pace, stalls, "step")
    if not timed or all(not stalls_of(pace.values) for pace in timed):
        for pace in _reported(evidence):
            stalls = stalls_of(pace.values)
            if stalls and _is_seen_by_clock(evidence, pace, stalls, book):
                yield _finding(pace, stalls, "report")


def _finding(pace: Pace, stalls: Stalls, what: str) -> Finding:
    first = stalls.at[0]
    near = [pace.indices[at] for at in (first + 1, stalls.at[1]) if at < len(pace)]
    usual = f"one of {stalls.period} {what}s takes {stalls.ratio:.0f} times as long as the others (medians)"
    title = f"{usual}, {stalls.lost:.0%} of the time"
    index = pace.indices[first]
    return series_finding(
        pace.entry, pace.series, index, step_time_stalls_periodic.info, title=title, also=near, count=len(stalls.at)
    )


def _is_loader(evidence: RunEvidence, pace: Pace, stalls: Stalls, book: Rulebook) -> bool:
    """Whether the pauses are waits for data: measured as such, or as many steps apart as there are workers."""
    data = next((one for one in pace.entry.series if _is_data_of(one, pace.series)), None)
    if data is not None:
        return _is_waited(pace, data, stalls)
    period = stalls.period * (spacing(pace.series) or 1)
    if _comes_with(evidence, pace.series, period):
        return False
    return _is_round_of_workers(evidence, period) or (period <= FARTHEST and has_witness(evidence, book))


def _is_data_of(data: Series, steps: Series) -> bool:
    return data.role == "data-time" and len(data) == len(steps) and data.rank == steps.rank and not data.evaluation


def _is_waited(pace: Pace, data: Series, stalls: Stalls) -> bool:
    """Whether the slow steps are slow because of their data time."""
    factor, slow = seconds_of(data.key) or 1.0, set(stalls.at)
    waits = [data.values[index] * factor for index in pace.indices]
    longer = [
        median([values[at] for at in slow]) - median([value for at, value in enumerate(values) if at not in slow])
        for values in (waits, pace.values)
    ]
    return longer[0] >= WAITED * longer[1] > 0


def _is_round_of_workers(evidence: RunEvidence, period: int) -> bool:
    counts = {setting.value for setting in evidence.settings if setting.name in WORKERS}
    return any(isinstance(count, int) and count > 1 and period % count == 0 for count in counts)


def _comes_with(evidence: RunEvidence, own: Series, period: int) -> bool:
    """Whether something else comes at these intervals: a series that is recorded so, or a setting that says so."""
    if any(_INTERVAL.search(setting.name) and setting.value == period for setting in evidence.settings):
        return True
    usual = spacing(own) or 1
    return any((spacing(series) or 0) in {period, 2 * period} and usual < period for _, series in evidence.series())


def has_witness(evidence: RunEvidence, book: Rulebook) -> bool:
    """Whether the texts of the run say something about its loader that explains such pauses."""
    causes = [cause for cause in book.causes.values() if step_time_stalls_periodic.info.id in cause.supported_by]
    telling = {rule for cause in causes for rule in cause.requires}
    return any(match.rule in telling for entry in evidence.all_files() for match in entry.matches)


def _reported(evidence: RunEvidence) -> Iterator[Pace]:
    """Seconds a step between the reports of every source that has a clock; one training loss stands for all."""
    for entry in (*evidence.files, *evidence.numbers):
        losses = [one for one in entry.series if one.role == "loss" and not one.evaluation and one.axis == "step"]
        series = max(losses, key=len, default=None)
        if series is None:
            continue
        later = [
            index
            for index in range(max(1, warm_up(len(series))), len(series))
            if series.times[index] >= series.times[index - 1] and series.steps[index] > series.steps[index - 1] >= 0
        ]
        yield Pace(entry, series, later, [_seconds_a_step(series, index) for index in later])


def _seconds_a_step(series: Series, index: int) -> float:
    return (series.times[index] - series.times[index - 1]) / (series.steps[index] - series.steps[index - 1])


def _is_seen_by_clock(evidence: RunEvidence, pace: Pace, stalls: Stalls, book: Rulebook) -> bool:
    """Whether pauses between reports are long, hold no evaluation, and the loader is under suspicion anyway."""
    series, indices = pace.series, [pace.indices[at] for at in stalls.at]
    long = median([series.times[index] - series.times[index - 1] for index in indices]) >= SHORTEST_PAUSE
    period = stalls.period * (spacing(series) or 1)
    if not long or period > FARTHEST or _comes_with(evidence, series, period) or not has_witness(evidence, book):
        return False
    evaluated = sum(_holds_evaluation(evidence, pace.entry, series, index) for index in indices)
    return evaluated <= (1 - REGULAR) * len(indices)


def _holds_evaluation(evidence: RunEvidence, entry: FileEvidence, series: Series, index: int) -> bool:
    """Whether an evaluation was reported between a report and the one before it."""
    lines = (series.lines[index - 1], series.lines[index])
    if lines[1]:
        low, high = bisect_right(entry.progress.lines, lines[0]), bisect_left(entry.progress.lines, lines[1])
        return any(entry.progress.evaluation[low:high])
    return any(
        series.times[index - 1] <= time <= series.times[index]
        for other in entry.series
        if other.evaluation
        for time in other.times
    )


@run_detector(
    id="epoch-start-gap",
    title="every epoch begins with a long wait for its first batch",
    mode="slow-data",
    symptom_class="throughput-low",
    role="root",
    level="warning",
    within="data",
    needs=["series"],
    why="Workers that are started anew import, unpickle the dataset and fill their queues before any batch comes.",
    confirm=["Two epochs with persistent_workers=True: the wait is gone in the second."],
    false_positives=["Epochs of a few seconds in a run of a few minutes."],
    references=["https://docs.pytorch.org/docs/stable/data.html"],
    verified="thread",
)
def epoch_start_gap(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """Times to the first batch that take a good part of the time from one such batch to the next."""
    for entry, series in evidence.series():
        if not _FIRST_BATCH.search(series.key) or series.evaluation or len(series) < FEWEST_EPOCHS:
            continue
        factor = seconds_of(series.key) or 1.0
        waits = [value * factor for value in series.values]
        epochs = [after - before for before, after in pairwise(series.times) if after > before]
        if len(epochs) < FEWEST_EPOCHS - 1 or median(waits) < max(SHORTEST_PAUSE, LONG_START * median(epochs)):
            continue
        title = f"epochs wait {median(waits):.3g} s for their first batch, of {median(epochs):.3g} s in all (medians)"
        yield series_finding(entry, series, 0, epoch_start_gap.info, title=title, also=(1, len(series) - 1))
