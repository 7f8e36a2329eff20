"""What every thread does shortly before the wall clock ends: stacks-<pid>.txt.

Timeout (0:00:43)!
Thread 0x00007f2a1c5ff740 (most recent call first):
  File "/p/train.py", line 31 in all_reduce
"""

from __future__ import annotations

import faulthandler
import functools
import os
import time
from typing import Any

from .agent import Agent, command_line

BEFORE_THE_END_S = 1.5
SOONEST_S = 0.5
_KEEPERS = ("resource_tracker", "semaphore_tracker", "forkserver")
"""Processes of multiprocessing that only keep house, though ranks may be forked from one of them."""


def install(agent: Agent) -> None:
    """Set the timer, where the wall clock has an end."""
    if agent.config.deadline is None:
        return
    stacks = Stacks(agent.config.records, agent.config.deadline)
    if not any(name in word for word in command_line() for name in _KEEPERS):
        stacks.arm()
    stacks.watch_the_user()
    agent.at_exit(stacks.disarm)
    agent.after_fork(stacks.forget)
    agent.before_step.append(agent.safely(stacks.arm))
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=agent.safely(stacks.pause), after_in_parent=agent.safely(stacks.resume))


class Stacks:
    """The timer of faulthandler, of which a process has one. A program that sets it for itself takes it over."""

    def __init__(self, folder: str, deadline: float) -> None:
        self._folder = folder
        self._deadline = deadline
        self._path: str | None = None
        self._descriptor = -1
        self._is_taken = False
        self._dump_later = faulthandler.dump_traceback_later

    def arm(self, *_: Any) -> None:
        """Set the timer, unless it is; in a forked child, this is at its first step."""
        if self._path is None and not self._is_taken:
            self._path = os.path.join(self._folder, f"stacks-{os.getpid()}.txt")
            self._descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            self._set()

    def pause(self) -> None:
        """Before a fork: a child with a timer, but without the timer's thread, would wait for it for ever."""
        if self._path is not None and not self._is_taken:
            faulthandler.cancel_dump_traceback_later()

    def resume(self) -> None:
        """After a fork, in the parent."""
        if self._path is not None and not self._is_taken and os.path.getsize(self._path) == 0:
            self._set()

    def disarm(self) -> None:
        """The end of a program that did not hang."""
        self.pause()
        if self._path is not None and os.path.getsize(self._path) == 0:
            os.remove(self._path)

    def forget(self) -> None:
        """In a forked child, which has no timer."""
        self._path = None

    def watch_the_user(self) -> None:
        """Notice when the program sets the timer itself: from then on we neither pause nor resume it."""

        @functools.wraps(self._dump_later)
        def taken(*args: Any, **kwargs: Any) -> None:
            self._is_taken = True
            faulthandler.dump_traceback_later = self._dump_later
            self._dump_later(*args, **kwargs)

        faulthandler.dump_traceback_later = taken

    def _set(self) -> None:
        seconds = self._deadline - time.time() - BEFORE_THE_END_S
        self._dump_later(max(SOONEST_S, seconds), exit=False, file=self._descriptor)
