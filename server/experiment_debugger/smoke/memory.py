"""How much memory a process tree takes, where forked processes share pages.

Four loader workers forked from a process of 2 GiB show 10 GiB of RSS and take 2 GiB. RSS costs nothing to read, so it
is what counts while it is below the limit; above it the kernel is asked for the proportional share (PSS), in which a
page that n processes share counts 1/n for each (smaps_rollup, Linux; elsewhere RSS is all there is).
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from psutil import Process

FRESH_SECONDS = 1.0  # how long a measured share is believed: pages that are written to stop being shared
COST_FACTOR = 20  # reading PSS walks all pages, so it may take one part in so many of the time


class Memory:
    """The memory of a tree, by RSS less what was last seen to be shared."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._shared = 0
        self._pids: frozenset[int] = frozenset()
        self._measure_again = 0.0

    def used(self, processes: list[Process], rss: int) -> int:
        """Bytes that these processes take, whose RSS adds up to `rss`."""
        if rss <= self._limit:
            return rss
        pids = frozenset(process.pid for process in processes)
        if pids != self._pids or rss - self._shared > self._limit or time.monotonic() > self._measure_again:
            self._pids = pids
            self._measure(processes, rss)
        return rss - self._shared

    def _measure(self, processes: list[Process], rss: int) -> None:
        began = time.monotonic()
        self._shared = max(0, rss - sum(_proportional(process) for process in processes))
        now = time.monotonic()
        self._measure_again = now + max(FRESH_SECONDS, COST_FACTOR * (now - began))


def _proportional(process: Process) -> int:
    """Bytes of PSS; RSS where there is none; 0 for a process that has ended."""
    import psutil

    try:
        return int(process.memory_full_info().pss)
    except (psutil.Error, AttributeError):
        pass
    try:
        return int(process.memory_info().rss)
    except psutil.Error:
        return 0
