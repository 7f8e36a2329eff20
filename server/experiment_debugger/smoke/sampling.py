"""samples.csv: what the process tree of a test takes, one row a sample.

elapsed_s,processes,rss_mb,cpu_percent
0.25,1,48.2,97.0
0.50,5,612.9,311.5
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from experiment_debugger.smoke.interpreters import Interpreters
from experiment_debugger.smoke.memory import Memory
from experiment_debugger.smoke.reading import Reading, read
from experiment_debugger.smoke.spec import Spec

if TYPE_CHECKING:
    from psutil import Process

SAMPLES = "samples.csv"
HEADER = "elapsed_s,processes,rss_mb,cpu_percent"
FIRST_MINUTE = 60.0
OFTEN, SELDOM = 0.25, 1.0  # seconds between two samples in the first minute and after it
MOST_ROWS = 3700  # after the first minute; a long test is sampled as often and writes fewer rows
COST_FACTOR = 20  # walking a large machine's processes may take one part in so many of the time


@dataclass(frozen=True, slots=True)
class Sample:
    """The number of processes of the tree and the bytes they take, pages shared by several counted once."""

    processes: int
    bytes: int


class Sampler:
    """Takes samples when they are due and remembers the peak."""

    def __init__(self, spec: Spec, main: int) -> None:
        self.peak = 0
        self.interpreters = Interpreters(main, spec.argv)
        self._memory = Memory(spec.memory_bytes)
        self._started = self._due = time.monotonic()
        self._before = self._started
        self._cpu: dict[tuple[int, float], float] = {}
        self._row_seconds, self._row_due = spec.seconds / MOST_ROWS, self._started
        path = os.path.join(spec.records, SAMPLES)
        self._file = open(path, "w", encoding="utf-8", buffering=1)  # noqa: SIM115 (open as long as the test runs)
        self._file.write(HEADER + "\n")

    @property
    def is_due(self) -> bool:
        """Whether it is time for the next one."""
        return time.monotonic() >= self._due

    def take(self, processes: list[Process]) -> Sample:
        """Read these processes; the row is written when it is time for one."""
        now = time.monotonic()
        readings = [reading for process in processes if (reading := read(process))]
        sample = Sample(len(readings), self._memory.used(processes, sum(reading.rss for reading in readings)))
        self.peak = max(self.peak, sample.bytes)
        self.interpreters.see(readings)
        if now >= self._row_due:
            self._write(now, sample, self._cpu_percent(readings, now))
        self._schedule(now)
        return sample

    def close(self) -> None:
        """No more rows."""
        with suppress(OSError):
            self._file.close()

    def _cpu_percent(self, readings: list[Reading], now: float) -> float:
        """Processor time since the last sample; 100 is one core."""
        before, self._cpu = self._cpu, {reading.key: reading.cpu_seconds for reading in readings}
        spent = sum(seconds - before.get(key, 0.0) for key, seconds in self._cpu.items())
        passed, self._before = now - self._before, now
        return 100 * spent / passed if passed > 0.01 else 0.0

    def _write(self, now: float, sample: Sample, cpu_percent: float) -> None:
        elapsed = now - self._started
        with suppress(OSError):  # a full disk is the business of the bound on disk space
            self._file.write(f"{elapsed:.2f},{sample.processes},{sample.bytes / (1 << 20):.1f},{cpu_percent:.1f}\n")

    def _schedule(self, began: float) -> None:
        now = time.monotonic()
        in_first_minute = now - self._started < FIRST_MINUTE
        self._due = now + max(OFTEN if in_first_minute else SELDOM, COST_FACTOR * (now - began))
        if began >= self._row_due:
            self._row_due = began + (0 if in_first_minute else self._row_seconds)
