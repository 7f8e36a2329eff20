"""Why a command is stopped, and the bounds that stop it.

Stop("memory", "memory limit of 512 MiB reached by 3 processes (601 MiB)", gentle=False)
"""

from __future__ import annotations

import math
import shutil
import time
from dataclasses import dataclass

from experiment_debugger.smoke.orders import CANCEL, GONE, SIGNALLED, STEPS
from experiment_debugger.smoke.sampling import Sample
from experiment_debugger.smoke.spec import Spec

MIB, GIB = 1 << 20, 1 << 30
LEAST_FREE, LEAST_FREE_SHARE = GIB, 0.02
DISK_SECONDS = 1.0  # between two looks at the free space


@dataclass(frozen=True, slots=True)
class Stop:
    """A reason to stop: its kind, a line for people, and whether the command may end by itself first."""

    kind: str
    reason: str
    gentle: bool = True


CANCELLED = Stop("cancelled", "cancelled")
PARENT_GONE = Stop("parent-gone", "the server has ended", gentle=False)
BY_ORDER = {CANCEL: CANCELLED, SIGNALLED: CANCELLED, STEPS: Stop("steps", "step limit"), GONE: PARENT_GONE}


class Bounds:
    """The bounds of one test, from its start on."""

    def __init__(self, spec: Spec) -> None:
        self._spec = spec
        self._deadline = time.monotonic() + spec.seconds
        self._look_again = 0.0
        total, free = self._disk()
        # A disk that was nearly full before is no reason to stop; taking half of what was left is.
        self._least_free = min(max(LEAST_FREE, LEAST_FREE_SHARE * total), free / 2)

    def time_is_over(self) -> Stop | None:
        """The wall clock."""
        if time.monotonic() < self._deadline:
            return None
        return Stop("timeout", f"wall clock of {self._spec.seconds:g} s is over")

    def memory_is_over(self, sample: Sample) -> Stop | None:
        """The memory of the whole tree."""
        limit = self._spec.memory_bytes
        if sample.bytes <= limit:
            return None
        processes = "1 process" if sample.processes == 1 else f"{sample.processes} processes"
        taken = f"{processes} ({sample.bytes / MIB:.0f} MiB)"
        return Stop("memory", f"memory limit of {limit / MIB:.0f} MiB reached by {taken}", gentle=False)

    def disk_is_full(self) -> Stop | None:
        """The file system that the command works in."""
        now = time.monotonic()
        if now < self._look_again:
            return None
        self._look_again = now + DISK_SECONDS
        _, free = self._disk()
        return Stop("disk", f"disk nearly full ({free / GIB:.1f} GiB free)") if free < self._least_free else None

    def _disk(self) -> tuple[float, float]:
        """Bytes of the file system and bytes free; endless for a folder that the command has removed."""
        try:
            disk = shutil.disk_usage(self._spec.cwd)
        except OSError:
            return 0.0, math.inf
        return disk.total, disk.free
