"""Where a series goes on after an interruption: a resume, a requeue, a restart.

    runs/exp-8/events.out.tfevents.1796051497...   steps   0 .. 300      before
    runs/exp-8/events.out.tfevents.1796055032...   steps 300 .. 480      after

A seam needs a sign of its own, a jump of the numbers is none: a new event file or attempt, steps that go backwards, a
line that tells of a resume, or of an interruption that the log outlived.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from experiment_debugger.evidence import FileEvidence, RunEvidence
from experiment_debugger.readers.series import Segment, Series
from experiment_debugger.rules.curves import stretches
from experiment_debugger.rules.rulebook import Rulebook

RESUME_LINES = frozenset(
    {
        "resume-continued",
        "resume-skips-mid-epoch",
        "resume-mid-epoch-loader-not-resumable",
        "run-resumed-from-checkpoint",
        "resume-rng-missing",
        "resume-arguments-differ",
        "resume-announced",
    }
)
INTERRUPTIONS = frozenset({"scheduler-ended", "process-killed", "rank-died"})
"""Symptom classes of an end; reports behind it are those of another try."""
MOST_SEAMS = 50
"""Of one series; more of them are a counter that starts anew in every epoch."""
FRESH = 0.05
"""A try whose first step lies within this share of the one before started from scratch."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Points `start` to `end` (excluded) of a series, written by one try."""

    entry: FileEvidence
    series: Series
    start: int
    end: int

    def values(self, start: int = 0, end: int | None = None) -> list[float]:
        """Finite values, as a slice of the stretch."""
        stretch = self.series.values[self.start : self.end]
        return [value for value in stretch[start:end] if math.isfinite(value)]

    @property
    def first_step(self) -> int:
        """Step of its first point, -1 where unknown."""
        return self.series.steps[self.start]


@dataclass(frozen=True, slots=True)
class Seam:
    """Two stretches of one metric, one after the other, and what says that the second is another try."""

    before: Stretch
    after: Stretch
    sign: str

    @property
    def from_scratch(self) -> bool:
        """Whether the second try begins where the first began: a new start and no resume."""
        begin, again = self.before.first_step, self.after.first_step
        reach = max(self.before.series.steps[self.before.start : self.before.end])
        return again >= 0 and again <= begin + FRESH * (reach - begin)

    def known_before(self) -> Stretch:
        """The first stretch up to where the second sets in: a resume goes back to the last checkpoint."""
        end, again = self.before.end, self.after.first_step
        while again >= 0 and end - 1 > self.before.start and self.before.series.steps[end - 1] >= again:
            end -= 1
        return Stretch(self.before.entry, self.before.series, self.before.start, end)


def seams(evidence: RunEvidence, book: Rulebook, *roles: str) -> Iterator[Seam]:
    """All seams of the series of these roles."""
    chains: dict[tuple[str, str, int | None, bool], list[tuple[FileEvidence, Series]]] = {}
    for entry, series in evidence.series(*roles):
        chain = (entry.artifact.kind, series.key, series.rank, series.evaluation)
        chains.setdefault(chain, []).append((entry, series))
    for parts in chains.values():
        if len({entry.artifact.attempt for entry, _ in parts}) == len(parts):
            yield from _between(sorted(parts, key=lambda part: part[0].artifact.attempt))
        for entry, series in parts:
            yield from _within(entry, series, book)


def _between(parts: Sequence[tuple[FileEvidence, Series]]) -> Iterator[Seam]:
    for (old, first), (new, second) in pairwise(parts):
        yield Seam(Stretch(old, first, 0, len(first)), Stretch(new, second, 0, len(second)), "a new attempt")


def _within(entry: FileEvidence, series: Series, book: Rulebook) -> Iterator[Seam]:
    cuts = _cuts(entry, series, book)
    if not cuts or len(cuts) > MOST_SEAMS:
        return
    edges = [0, *sorted(cuts), len(series)]
    for low, cut, high in zip(edges, edges[1:], edges[2:], strict=False):
        yield Seam(Stretch(entry, series, low, cut), Stretch(entry, series, cut, high), cuts[cut])


def _cuts(entry: FileEvidence, series: Series, book: Rulebook) -> dict[int, str]:
    """Index of the first point of every later try, and its sign."""
    if overlaps(entry.recorded.segments):
        return {}
    cuts = {start: "steps that go back" for start, _ in stretches(series)[1:]}
    cuts |= {bisect_left(series.lines, line): sign for line, sign in _told(entry, book)}
    for segment in in_time(entry.recorded.segments)[1:]:
        cuts[bisect_left(series.times, segment.first_time)] = "a new event file"
    return {cut: sign for cut, sign in cuts.items() if 0 < cut < len(series)}


def _told(entry: FileEvidence, book: Rulebook) -> Iterator[tuple[int, str]]:
    """Lines of a text log that a new try wrote, or the end of the one before."""
    for match in entry.matches:
        rule = book.signatures.get(match.rule)
        if match.rule in RESUME_LINES:
            yield match.line, "a line that tells of a resume"
        elif rule is not None and rule.symptom_class in INTERRUPTIONS and rule.role != "context":
            yield match.line, "an interruption that the log outlived"


def in_time(segments: Sequence[Segment]) -> list[Segment]:
    """Segments that hold points and say when, in order of their first."""
    return sorted((one for one in segments if one.points and one.first_time == one.first_time), key=_begin)


def _begin(segment: Segment) -> float:
    return segment.first_time


def overlaps(segments: Sequence[Segment]) -> bool:
    """Whether two files of one source were written at the same time."""
    return any(later.first_time < earlier.last_time for earlier, later in pairwise(in_time(segments)))
