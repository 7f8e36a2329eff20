"""What detectors ask of a curve: robust level, spread and trend of a series, without numpy.

    loss 2.31 2.30 2.33 | 2.29 nan 2.31 | 2.30 2.28 2.31     three bins: medians 2.31, 2.30, 2.30

Curves are noisy, sampled unevenly, and hold NaN. So levels are medians, spreads are median absolute deviations, and
trends are read from the medians of a few bins of equally many points.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from experiment_debugger.evidence import FileEvidence, RunEvidence
from experiment_debugger.readers.roles import is_exponential, is_part
from experiment_debugger.readers.series import Series

NORMAL = 1.4826
"""Median absolute deviation of a normal distribution, in standard deviations, to one."""


def median(values: Sequence[float]) -> float:
    """The median; NaN of an empty sequence."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    if not ordered:
        return math.nan
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def spread(values: Sequence[float]) -> float:
    """A standard deviation that a few outliers do not move: the scaled median absolute deviation."""
    level = median(values)
    return NORMAL * median([abs(value - level) for value in values])


def noise(values: Sequence[float]) -> float:
    """The spread from one point to the next, as a standard deviation: trends hardly count."""
    return spread([after - before for before, after in pairwise(values)]) / math.sqrt(2)


def finite(series: Series, start: int = 0, end: int | None = None) -> list[int]:
    """Indices of the finite points of a stretch."""
    stop = len(series) if end is None else end
    return [index for index in range(start, stop) if math.isfinite(series.values[index])]


def bins(values: Sequence[float], count: int) -> list[float]:
    """Medians of at most `count` consecutive bins of equally many values."""
    count = min(count, len(values))
    cuts = [len(values) * at // count for at in range(count + 1)] if count else []
    return [median(values[low:high]) for low, high in pairwise(cuts)]


def rising_share(levels: Sequence[float]) -> float:
    """The share of steps from one level to the next that go up: 1 for a steady climb, 0.5 for noise."""
    steps = [after > before for before, after in pairwise(levels)]
    return sum(steps) / len(steps) if steps else 0.0


def stretches(series: Series) -> list[tuple[int, int]]:
    """(start, end) of the stretches whose steps do not go backwards: folds, restarts; unknown steps count on."""
    cuts = [0]
    before = -1
    for index, step in enumerate(series.steps):
        if 0 <= step < before:
            cuts.append(index)
        before = step if step >= 0 else before
    return [(low, high) for low, high in pairwise([*cuts, len(series)]) if high > low]


def objectives(evidence: RunEvidence) -> Iterator[tuple[FileEvidence, Series]]:
    """The training losses that have to fall for training to work: no parts of a sum, no players of a game."""
    for entry, series in evidence.series("loss"):
        if not series.evaluation and not is_part(series.key) and not is_exponential(series.key):
            yield entry, series


MOST_POINTS = 4096
"""Points of a series that levels and noise are taken from: evenly picked, so that a million cost no more."""
FEWEST_POINTS = 8
"""Finite points below which a curve has no shape."""
MOST_LEVELS, POINTS_A_LEVEL = 40, 4
_GAME = re.compile(
    r"(?:^|[/_. -])(?:rewards?|returns?|episodes?|ep_(?:rew|len)\w*|rollout|policy|actor|critic|entropy|approx_kl"
    r"|epsilon|td_error|q_?(?:val\w*|mean|max)"
    r"|advantages?|disc(?:riminator)?|generator|adversarial|fake|(?:gen|adv|[dg])_?loss)(?:$|[/_. -])"
    r"|err[DG]$|loss[/_. ]?(?:gen|adv|[dgDG])$|^[DG]_?loss",
)
_MAIN = re.compile(
    r"^(?:train(?:ing)?[/_. -])?(?:total|avg|mean|lm|model|running)?[/_. -]?(?:loss|nll|cross[ _]?entropy|ce(?:_loss)?)"
    r"(?:[/_. -](?:train(?:ing)?|step|epoch|avg|total|iter\w*|mean))*$",
    re.IGNORECASE,
)


def thinned(series: Series, start: int = 0, end: int | None = None) -> list[int]:
    """At most MOST_POINTS indices of finite points of a stretch, evenly picked."""
    stop = len(series) if end is None else end
    picked = range(start, stop, max(1, -(-(stop - start) // MOST_POINTS)))
    return [index for index in picked if math.isfinite(series.values[index])]


@dataclass(frozen=True, slots=True)
class Course:
    """A loss from its last restart on: the picked points, and the medians of up to MOST_LEVELS bins of them."""

    indices: list[int]
    values: list[float]
    levels: list[float]
    noise: float

    @property
    def start(self) -> float:
        """Where it began: the median of the first three points."""
        return median(self.values[:3])

    @property
    def end(self) -> float:
        """Where it ended: the median of the last tenth, of three points at least."""
        return median(self.values[-max(3, len(self.values) // 10) :])

    def lowest(self, end: int | None = None) -> int:
        """The number of the bin with the lowest level."""
        levels = self.levels[:end]
        return min(range(len(levels)), key=levels.__getitem__)

    def first_of(self, level: int) -> int:
        """The position in `indices` at which a bin begins."""
        return len(self.indices) * level // len(self.levels)


def course_of(series: Series, start: int = 0, end: int | None = None) -> Course | None:
    """The course of a series; None where fewer than FEWEST_POINTS finite points are left."""
    indices = thinned(series, start, end)
    restart = 0
    for at, (before, after) in enumerate(pairwise(indices), 1):
        if 0 <= series.steps[after] < series.steps[before]:
            restart = at
    indices = indices[restart:]
    if len(indices) < FEWEST_POINTS:
        return None
    values = [series.values[index] for index in indices]
    return Course(indices, values, bins(values, min(MOST_LEVELS, len(values) // POINTS_A_LEVEL)), noise(values))


def is_game(evidence: RunEvidence) -> bool:
    """Whether the metrics are those of players or agents (GAN, RL): their losses say little about learning."""
    return any(_GAME.search(series.key) for _, series in evidence.series())


def principals(evidence: RunEvidence) -> Iterator[tuple[FileEvidence, Series]]:
    """The objectives that are the whole loss by their name, or the only training loss of their source."""
    for entry, series in objectives(evidence):
        if _MAIN.search(series.key) or sum(one.role == "loss" and not one.evaluation for one in entry.series) == 1:
            yield entry, series
