"""Whether the last report of a run is the last one that it was going to make.

[0/600] [25/600] ... [575/600]       counted from 0: the next one would be 600, and range(600) has none
[50/980] [100/980] ... [950/980]     counted from 1: the next one would be 1000
Epoch 0/10 ... Epoch 9/10            ten epochs, counted from 0
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import IO

BLOCK_BYTES = 1 << 20
LOOKED_AT = 64
"""Latest reports that tell how far apart reports are."""
FEWEST_GAPS = 2
"""Gaps between reports that make an interval."""
REGULAR_SHARE = 0.7
"""Share of equal gaps; a count that starts anew in every epoch cuts some of them short, a bar has none."""
LARGEST_SHARE = 0.125
"""Share of the plan that may lie behind the last report; beyond that a run may as well have been killed there."""


NEARLY = 0.98
"""Share of the planned steps at which a finished run may report for the last time, whatever its interval."""
MOST_OF_EPOCH = 0.9
"""Share of the reports of the fullest epoch that the last one must have to be over."""


class Loop:
    """How the reports of one log count, and whether they begin anew: folds and stages are loops of one length."""

    def __init__(self) -> None:
        self.first_epoch: float | None = None
        self.last_epoch: float | None = None
        self.began_again = False
        self.ended_before = False
        self._in_epoch = self._most_in_epoch = 0
        self._step = self._total = 0

    def count_epoch(self, epoch: float, planned: int) -> None:
        """One more training report, of this epoch."""
        if self.last_epoch is None:
            self.first_epoch = epoch
        elif epoch != self.last_epoch:
            self._began_again(epoch < self.last_epoch / 2, ended=self.stands_at_epoch(planned))
            self._most_in_epoch, self._in_epoch = max(self._most_in_epoch, self._in_epoch), 0
        self._in_epoch += 1
        self.last_epoch = epoch

    def count_step(self, step: int, total: int) -> int:
        """One more report of the longest count; returns the total."""
        again = total == self._total and step < self._step / 2
        self._began_again(again, ended=self._step >= NEARLY * total)
        self._step, self._total = step, total
        return total

    def _began_again(self, again: bool, *, ended: bool) -> None:
        self.began_again |= again
        self.ended_before |= again and ended

    def stands_at_epoch(self, planned: int) -> bool:
        """Whether the last of so many epochs was reported, and as often as those before it."""
        if not planned or self.first_epoch is None or self.last_epoch is None:
            return False
        whole = self._in_epoch >= MOST_OF_EPOCH * self._most_in_epoch
        return whole and stands_at_epoch(self.first_epoch, self.last_epoch, planned)


def stands_at_step(first: int, latest: Sequence[int], planned: int) -> bool:
    """Whether no report is due any more before `planned` steps; `latest` are the last steps reported, in order."""
    last, end = max(latest), planned - (first == 0)
    return last >= end or last + (_interval(latest, planned) or 0) > end


def stands_at_epoch(first: float, last: float, planned: int) -> bool:
    """Whether the last epoch reported is the last one planned."""
    return last >= planned - (first < 1)


def _interval(latest: Sequence[int], planned: int) -> int | None:
    """How many steps lie between reports, where they are regular and dense."""
    gaps = [after - before for before, after in pairwise(latest) if after > before]
    if len(gaps) < FEWEST_GAPS:
        return None
    usual = sorted(gaps)[len(gaps) // 2]
    regular = gaps.count(usual) >= REGULAR_SHARE * len(gaps)
    return usual if regular and usual <= LARGEST_SHARE * planned else None


def times_said(stream: IO[bytes], text: bytes, *, most: int) -> int:
    """How often a text stands in a stream; counting ends at `most`."""
    count, rest = 0, b""
    while count < most and (block := stream.read(BLOCK_BYTES)):
        seen = rest + block
        count += seen.count(text)
        rest = seen[-(len(text) - 1) :] if len(text) > 1 else b""
    return min(count, most)
