"""One process at one moment, as the system shows it."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from psutil import Process


@dataclass(frozen=True, slots=True)
class Reading:
    """What a process is and takes: `rss` in bytes, `executable` a file name, `command` empty if it may not be read."""

    pid: int
    born: float
    parent: int
    rss: int
    cpu_seconds: float
    command: tuple[str, ...]
    executable: str

    @property
    def key(self) -> tuple[int, float]:
        """What tells it from another process that gets the same pid later."""
        return self.pid, self.born


def read(process: Process) -> Reading | None:
    """What is known of a process; None when it has ended."""
    import psutil

    try:
        with process.oneshot():
            times = process.cpu_times()
            return Reading(
                pid=process.pid,
                born=process.create_time(),
                parent=process.ppid(),
                rss=process.memory_info().rss,
                cpu_seconds=times.user + times.system,
                command=tuple(process.cmdline()),
                executable=os.path.basename(_executable(process)),
            )
    except psutil.Error:
        return None


def _executable(process: Process) -> str:
    import psutil

    with suppress(psutil.AccessDenied):
        if path := process.exe():
            return path
    return process.name()
