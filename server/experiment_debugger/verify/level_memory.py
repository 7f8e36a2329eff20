"""Whether the memory of a test stayed level: proof against a leak, whatever the limit of this machine.

elapsed_s,processes,rss_mb,cpu_percent
4.021,2,368.9,101.2
4.274,2,369.0,99.8
"""

from __future__ import annotations

import csv
from contextlib import suppress
from statistics import median

from experiment_debugger.smoke.records import Records
from experiment_debugger.smoke.sampling import SAMPLES

FEWEST = 8
"""Samples behind the start: two seconds of them, and more on a machine so busy that they come late."""
START = 0.2
"""Share of the training that first batches and caches may fill."""
GROWTH = 1.05
"""Last over first half of the rest: allocators settle within a few per cent."""


def memory_stayed_level(records: Records) -> tuple[bool, str]:
    """Whether the resident memory of the whole tree stopped growing, in words."""
    sizes = _sizes(records, first_step(records))
    rest = sizes[round(START * len(sizes)) :]
    if len(rest) < FEWEST:
        return False, f"memory over at least {FEWEST} samples (there were {len(rest)})"
    early, late = median(rest[: len(rest) // 2]), median(rest[len(rest) // 2 :])
    if late > GROWTH * early:
        return False, f"memory that stays level (it grew from {early:.0f} to {late:.0f} MiB)"
    return True, f"memory stayed level at {late:.0f} MiB over {len(rest)} samples"


def first_step(records: Records) -> float:
    """Seconds from the start of the command to its first optimizer step; 0 where no step was counted."""
    times: dict[str, list[float]] = {"loaded": [], "step": []}
    for row in records.rows():
        if row.get("kind") in times and isinstance(row.get("time"), (int, float)):
            times[row["kind"]].append(row["time"])
    return min(times["step"]) - min(times["loaded"]) if times["step"] and times["loaded"] else 0.0


def _sizes(records: Records, since: float) -> list[float]:
    """MiB of every sample since so many seconds after the start; the last is taken while everything ends."""
    sizes: list[float] = []
    with suppress(OSError), (records.folder / SAMPLES).open(encoding="utf-8", newline="") as table:
        for row in csv.DictReader(table):
            with suppress(ValueError, TypeError):
                if float(row.get("elapsed_s") or "") >= since:
                    sizes.append(float(row.get("rss_mb") or ""))
    return sizes[:-1]
