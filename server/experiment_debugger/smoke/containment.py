"""The processes of a test, wherever they went, and how they are ended.

On Linux the supervisor adopts every orphan below it, so all of them are its descendants, and "it has no child" is known
exactly. Elsewhere an orphan is known because it was seen before, or by the marker in its environment.
"""

from __future__ import annotations

import glob
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from experiment_debugger.smoke.launch import LINUX, adopt_orphans
from experiment_debugger.smoke.spec import MARKER

if TYPE_CHECKING:
    from psutil import Process

FREEZING_ROUNDS = 50
KILL_SECONDS = 10.0  # what lives on after so long cannot be ended: it hangs in the kernel or belongs to another user
PAUSE = 0.02


class Tree:
    """All processes that come from one command, which is started after this object is made."""

    def __init__(self, test: str) -> None:
        import psutil

        adopt_orphans()
        self.command: subprocess.Popen[bytes] | None = None
        self._test = test
        self._me = psutil.Process()
        self._known: set[Process] = set()

    def alive(self) -> list[Process]:
        """Those that live now; ended ones that wait to be reaped do not count."""
        found = set(self._me.children(recursive=True))
        if not LINUX:
            for process in self._known - found:
                with suppress(_no_such_process()):
                    found |= {process, *process.children(recursive=True)}
            self._known = found
        return [process for process in found if _lives(process) or self._reap(process.pid)]

    def terminate(self) -> None:
        """Ask all of them to end."""
        processes = self.alive()
        for group in {group for process in processes if (group := _group(process))}:
            with suppress(OSError):
                os.killpg(group, signal.SIGTERM)
        if not hasattr(os, "killpg"):
            for process in processes:
                with suppress(_any_error()):
                    process.terminate()

    def end(self) -> list[int]:
        """End all of them, now; the pids of those that could not be ended."""
        return end_all(self._findable, self._is_empty)

    def _findable(self) -> list[Process]:
        if LINUX:
            _stop_children()
            return self.alive()
        return list({*self.alive(), *marked(self._test)})

    def _is_empty(self) -> bool:
        """Whether the kernel says that this process has no child left."""
        if self.command and self.command.poll() is None:
            return False
        if not LINUX:
            return True
        with suppress(ChildProcessError):
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            return False
        return True

    def _reap(self, pid: int) -> bool:
        """Take notice of an ended child of ours, so that it is gone; the main process is `Popen`'s to reap."""
        if LINUX and self.command and pid != self.command.pid:
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        return False


def end_all(find: Callable[[], list[Process]], is_empty: Callable[[], bool]) -> list[int]:
    """Kill what `find` finds until nothing is left; the pids of those that could not be ended.

    All are stopped before the first is killed: a parent that sees its children die would start new ones.
    """
    deadline = time.monotonic() + KILL_SECONDS
    while (found := find()) or not is_empty():
        if time.monotonic() > deadline:
            return sorted(process.pid for process in found)
        for process in _frozen(find):
            _kill(process)
        time.sleep(PAUSE)
    return []


def marked(test: str) -> list[Process]:
    """The living processes of this user that carry the marker of a test, with their descendants."""
    import psutil

    found: set[Process] = set()
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.environ().get(MARKER) == test:
                found |= {process, *process.children(recursive=True)}
    return [process for process in found if process.pid != os.getpid() and _lives(process)]


def _frozen(find: Callable[[], list[Process]]) -> set[Process]:
    """What `find` finds, stopped, together with what was started in the meantime."""
    frozen: set[Process] = set()
    for _ in range(FREEZING_ROUNDS):
        fresh = set(find()) - frozen
        if not fresh:
            break
        for process in fresh:
            with suppress(_any_error()):
                process.suspend()
        frozen |= fresh
    return frozen


def _stop_children() -> None:
    """Stop every child of this process (Linux), as fast as can be.

    A process that starts another and ends, and so on, is a child of ours for less than a millisecond. A pid is not
    given to another process before we have reaped it, so it can be signalled as it is.
    """
    stopped: set[int] = set()
    for _ in range(FREEZING_ROUNDS):
        fresh = set(_children()) - stopped
        for pid in fresh:
            with suppress(OSError):
                os.kill(pid, signal.SIGSTOP)
        stopped |= fresh


def _children() -> Iterator[int]:
    """Pids of the children of all threads of this process; none where the kernel does not list them."""
    for path in glob.glob("/proc/self/task/*/children"):
        with suppress(OSError), open(path, encoding="ascii") as listed:
            yield from map(int, listed.read().split())


def _kill(process: Process) -> None:
    """Kill it with its group: within a group no fork escapes, because the kernel holds new processes back meanwhile."""
    if group := _group(process):
        with suppress(OSError):
            os.killpg(group, signal.SIGKILL)
    with suppress(_any_error()):
        process.kill()


def _group(process: Process) -> int | None:
    """The process group, where there are groups; never our own."""
    if not hasattr(os, "killpg"):
        return None
    with suppress(OSError):
        group = os.getpgid(process.pid)
        return None if group in {os.getpgrp(), 0, 1} else group
    return None


def _lives(process: Process) -> bool:
    import psutil

    try:
        return process.is_running() and process.status() not in {psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD}
    except psutil.Error:
        return False


def _any_error() -> type[Exception]:
    import psutil

    return psutil.Error


def _no_such_process() -> type[Exception]:
    import psutil

    return psutil.NoSuchProcess
