"""Ends the program after a number of optimizer steps, as it would end itself: finally blocks and atexit run.

{"kind": "stopped", "step": 20}
"""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import Any

from .agent import Agent

PATIENCE_S = 5.0
"""For a program that catches the exit, or that trains in another thread than the main one."""


def attach(agent: Agent, torch: Any) -> None:  # noqa: ARG001  # all parts have one signature
    """Check after every step, if there is a number to stop at."""
    if agent.config.steps is not None:
        stop = Stop(agent, agent.config.steps)
        agent.before_step.insert(0, stop.refuse)
        agent.after_step.append(stop.check)


class Stop:
    """Ends the process, at first by an exception out of optimizer.step() that prints nothing in any thread."""

    def __init__(self, agent: Agent, steps: int) -> None:
        self._agent = agent
        self._steps = steps
        self._is_stopping = False
        agent.after_fork(self._forget)

    def check(self, _optimizer: Any) -> None:
        """Raise out of the last wanted step."""
        if self._agent.step >= self._steps:
            self._is_stopping = True
            self._agent.safely(self._announce)()
            raise SystemExit(0)

    def refuse(self, _optimizer: Any) -> None:
        """Raise out of every further step before it is made."""
        if self._is_stopping:
            raise SystemExit(0)

    def _announce(self) -> None:
        self._agent.record("stopped", step=self._agent.step)
        threading.Thread(target=self._end, name="experiment-debugger-stop", daemon=True).start()

    def _end(self) -> None:
        time.sleep(PATIENCE_S)
        self._agent.finish()
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:  # noqa: S112  # closed, or replaced by something else
                continue
        os._exit(0)

    def _forget(self) -> None:
        self._is_stopping = False
