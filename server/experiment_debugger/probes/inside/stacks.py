"""What every thread does shortly before the wall clock ends: stacks-<pid>.txt.

Timeout (0:00:43)!
Thread 0x00007f2a1c5ff740 (most recent call first):
  File "/p/train.py", line 31 in all_reduce
"""

from __future__ import annotations

import faulthandler
import os
import time
from typing import Any

from .agent import Agent, command_line

BEFORE_THE_END_S = 1.5
SOONEST_S = 0.5
_KEEPERS = ("resource_tracker", "semaphore_tracker", "forkserver")
"""Processes of multiprocessing that only keep house."""


def install(agent: Agent) -> None:
    """Set the timer, where the wall clock has an end."""
    keeps_house = any(name in word for word in command_line() for name in _KEEPERS)
    if agent.config.deadline is not None and not keeps_house:
        stacks = Stacks(agent.config.records, agent.config.deadline)
        stacks.arm()
        agent.at_exit(stacks.disarm)
        agent.after_fork(stacks.forget)
        agent.before_step.append(agent.safely(stacks.arm))


class Stacks:
    """The timer of faulthandler. A program that sets it for itself takes it over; faulthandler.enable is another."""

    def __init__(self, folder: str, deadline: float) -> None:
        self._folder = folder
        self._deadline = deadline
        self._file: Any = None

    def arm(self, *_: Any) -> None:
        """Set the timer, unless it is."""
        if self._file is None:
            path = os.path.join(self._folder, f"stacks-{os.getpid()}.txt")
            self._file = open(path, "w", encoding="utf-8")  # noqa: SIM115  # faulthandler keeps its descriptor
            seconds = self._deadline - time.time() - BEFORE_THE_END_S
            faulthandler.dump_traceback_later(max(SOONEST_S, seconds), exit=False, file=self._file)

    def disarm(self) -> None:
        """The end of a program that did not hang."""
        if self._file is None:
            return
        faulthandler.cancel_dump_traceback_later()
        self._file.close()
        if os.path.getsize(self._file.name) == 0:
            os.remove(self._file.name)

    def forget(self) -> None:
        """A forked child has no timer; it sets its own at its first step."""
        self._file = None
