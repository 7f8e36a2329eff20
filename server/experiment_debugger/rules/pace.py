"""How long steps take, whatever a run records of it: step times, rates, phases of a step, or only when it reported.

    step_time 0.21   iter_time_ms 210   samples/s 1219   4.50 sec/step      one step, in seconds or in proportion to it
    t_wait_batch_s 1.10 | t_forward_s 0.08 | t_backward_s 0.14              phases of one step, of which one is data
    10:33:51 step 256 ...  10:35:44 step 260 ...                            reports with a clock in front

Trackers and logs spell units in the name of the key. A rate is turned round: what is compared are times.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from experiment_debugger.evidence import FileEvidence, RunEvidence
from experiment_debugger.readers.series import Series
from experiment_debugger.rules.curves import median

_UNITS = {"us": 1e-6, "ms": 1e-3, "msec": 1e-3, "milliseconds": 1e-3, "s": 1.0, "sec": 1.0, "secs": 1.0, "seconds": 1.0}
_UNIT = re.compile(r"(?:^|[_ (\[/.])(us|ms|msec|milliseconds|s|sec|secs|seconds)[)\]]*$", re.IGNORECASE)
_PHASE = re.compile(
    r"^(?:t|time|perf)?[_/. ]?(?:forward|fwd|backward|bwd|optim(?:izer)?|opt|h2d|copy|to_device|all_?reduce|comm)"
    r"(?:_?time)?(?:$|[_ (\[/.])",
    re.IGNORECASE,
)
CLOCK_SHARE = 0.98
"""Share of points above the one before that makes a "time" a clock or a sum; a step time has noise."""
FEWEST_FOR_CLOCK = 8
LOOKED_AT = 2000  # points at the start of a series that tell a clock from a duration
SPACED_BY = 200  # points at the start of a series that tell how far apart its steps are
LONGEST_STRETCH = 64  # points of one bin that its level is taken of
WARM_UP_SHARE = 0.02
"""Share of the points at the start that compiling, caches and autotuning disturb; two points at least."""


@dataclass(frozen=True, slots=True)
class Pace:
    """The steady part of a run's step times: `values[i]` belongs to point `indices[i]` of the series.

    `values` are seconds a step, or where the series is a rate, its inverse: then only their ratios mean something.
    """

    entry: FileEvidence
    series: Series
    indices: Sequence[int]
    values: Sequence[float]

    def __len__(self) -> int:
        """Number of usable points."""
        return len(self.values)


def seconds_of(key: str) -> float | None:
    """What one unit of a key is in seconds, where its name says so: 0.001 of `iter_time_ms`."""
    found = _UNIT.search(key)
    return _UNITS[found.group(1).lower()] if found else None


def paces(evidence: RunEvidence, *roles: str) -> Iterator[Pace]:
    """The step times of every training series that has them, by default measured times and rates."""
    for entry, series in evidence.series(*(roles or ("step-time", "throughput"))):
        if not series.evaluation and not is_clock(series.values):
            pace = pace_of(entry, series)
            if pace.values:
                yield pace


def pace_of(entry: FileEvidence, series: Series) -> Pace:
    """The positive finite points of a series behind its warm-up, as times."""
    skipped = warm_up(len(series))
    factor = seconds_of(series.key) or 1.0
    usable = [i for i in range(skipped, len(series)) if 0 < series.values[i] < math.inf]
    if series.role == "throughput":
        return Pace(entry, series, usable, [1 / series.values[i] for i in usable])
    return Pace(entry, series, usable, [series.values[i] * factor for i in usable])


def latest_stretch(pace: Pace) -> Pace:
    """The points since steps last went backwards: another process, fold or machine took those before."""
    steps = pace.series.steps
    cut = next(
        (at for at in range(len(pace) - 1, 0, -1) if 0 <= steps[pace.indices[at]] < steps[pace.indices[at - 1]]), 0
    )
    return Pace(pace.entry, pace.series, pace.indices[cut:], pace.values[cut:]) if cut else pace


def warm_up(count: int) -> int:
    """How many points at the start are no steady state."""
    return max(2, round(count * WARM_UP_SHARE)) if count > 4 else 0


def is_clock(values: Sequence[float]) -> bool:
    """Whether a "time" only ever grows: seconds since the start or the epoch, not what one step took."""
    head = values[:LOOKED_AT]
    if len(head) < FEWEST_FOR_CLOCK or not head[-1] > head[0]:
        return False
    return sum(after >= before for before, after in pairwise(head)) >= CLOCK_SHARE * (len(head) - 1)


def levels(values: Sequence[float], count: int, share: float = 0.5) -> list[float]:
    """Medians (or another percentile) of `count` equal parts, each taken of one stretch in the middle of its part."""
    count = min(count, len(values))
    found = []
    for at in range(count):
        low, high = len(values) * at // count, len(values) * (at + 1) // count
        middle = max(low, (low + high - LONGEST_STRETCH) // 2)
        stretch = values[middle : min(high, middle + LONGEST_STRETCH)]
        found.append(median(stretch) if share == 0.5 else sorted(stretch)[round(share * (len(stretch) - 1))])
    return found


def is_phase(key: str) -> bool:
    """Whether a key names a part of the step that computes or communicates."""
    return bool(_PHASE.search(key))


def spacing(series: Series) -> int | None:
    """How many steps usually lie between two points of a series, or None where it counts none."""
    steps = [step for step in series.steps[:SPACED_BY] if step >= 0]
    between = Counter(after - before for before, after in pairwise(steps) if after > before)
    return between.most_common(1)[0][0] if between else None


def tokens_keep_pace(evidence: RunEvidence) -> bool:
    """Whether a rate of tokens is recorded that does not fall: steps that take longer then hold more."""
    for _, series in evidence.series("throughput"):
        if "tok" in series.key.lower() and not series.evaluation:
            course = [value for value in levels(series.values[warm_up(len(series)) :], 8) if value > 0]
            if len(course) == 8 and min(course[-2:]) > 0.8 * max(course[:2]):
                return True
    return False


def is_reinforcement(evidence: RunEvidence) -> bool:
    """Whether agents act in the run: episodes and answers get longer as they learn, memories fill by design."""
    return any(_ACTING.search(series.key) for _, series in evidence.series())


_ACTING = re.compile(r"reward|episode|ep_len|ep_rew|replay|rollout|completion", re.IGNORECASE)
_SIZE = re.compile(r"len(?:gth)?s?(?:$|[_/. ])|batch_?size|num_?tokens|tokens$|resolution|img_?size", re.IGNORECASE)


def inputs_change(evidence: RunEvidence) -> bool:
    """Whether sizes of the inputs are recorded and change: lengths, batch size, resolution."""
    for _, series in evidence.series():
        if _SIZE.search(series.key) and series.role is None:
            known = [value for value in levels(series.values, 8) if value > 0]
            if known and max(known) > 1.2 * min(known):
                return True
    return False
