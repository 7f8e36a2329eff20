"""What every probe is given: the configuration, this process's record file, and moments to act at."""

from __future__ import annotations

import atexit
import functools
import itertools
import os
import sys
import threading
import time
from typing import Any, Callable, TypeVar

from . import imports
from .config import Config
from .records import RecordFile

_FLAGS = ("-b", "-B", "-d", "-E", "-i", "-I", "-O", "-OO", "-P", "-q", "-s", "-S", "-u", "-v")
_LONGEST_WORD = 200

Result = TypeVar("Result")


class Agent:
    """One a process. `step` is the largest number of steps that any single optimizer has made.

    `before_step` and `after_step` are called with the optimizer, in their order, around each of its steps.
    """

    def __init__(self, config: Config) -> None:
        self.config = config
        self.step = 0
        self.before_step: list[Callable[[Any], None]] = []
        self.after_step: list[Callable[[Any], None]] = []
        self._records = RecordFile(config.records)
        self._lock = threading.RLock()
        self._complained = False
        self._finished = False
        self._forked = False
        self._at_exit: list[Callable[[], None]] = []
        self._after_fork: list[Callable[[], None]] = []

    def start(self) -> None:
        """Write the handshake: this process has loaded the agent."""
        self.record_all([])
        atexit.register(self.finish)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget_the_parent)

    def record(self, kind: str, **fields: Any) -> None:
        """Append one row: `agent.record("memory", step=3, peak_bytes=...)`."""
        self.record_all([{"kind": kind, **fields}])

    def record_all(self, rows: list[dict[str, Any]]) -> None:
        """Append rows, `kind` and fields of each, in one write; the first ones of a process come after a handshake."""
        with self._lock:
            try:
                if not self._records.is_open and not self._records.closed:
                    self._records.open()
                    self._records.write([self._handshake()])
                    self._finish_with_multiprocessing()
                self._records.write(rows)
            except OSError as error:
                self._records.closed = True
                self.complain(error)

    def when_imported(self, name: str, callback: Callable[[Any], None]) -> None:
        """Call back with the module once it has been imported; at once where it already is."""
        imports.when_imported(name, self.safely(callback))

    def at_exit(self, callback: Callable[[], None]) -> None:
        """Call back before the last record of this process; the latest registered comes first."""
        self._at_exit.insert(0, self.safely(callback))

    def after_fork(self, callback: Callable[[], None]) -> None:
        """Call back in a forked child, to forget what belongs to its parent."""
        self._after_fork.append(self.safely(callback))

    def safely(self, callback: Callable[..., Result]) -> Callable[..., Result | None]:
        """The callback without its exceptions, which must never reach the user's program."""

        @functools.wraps(callback)
        def call(*args: Any, **kwargs: Any) -> Result | None:
            try:
                return callback(*args, **kwargs)
            except Exception as error:
                self.complain(error)
                return None

        return call

    def complain(self, error: BaseException) -> None:
        """One line on stderr, and one record, for the first failure of ours."""
        if self._complained:
            return
        self._complained = True
        says = f"{type(error).__name__}: {error}".replace("\n", " ")[:_LONGEST_WORD]
        self.record("error", says=says)
        if sys.stderr is not None:
            sys.stderr.write(f"experiment-debugger: a probe failed, the program goes on: {says}\n")

    def finish(self) -> None:
        """Write what is still held back, and the last record."""
        with self._lock:
            if self._finished or (self._forked and not self._records.is_open):
                return
            self._finished = True
            for callback in self._at_exit:
                callback()
            self.record("exit", step=self.step, time=time.time())

    def _forget_the_parent(self) -> None:
        """In a forked child: silent until it has something of its own to say, as a DataLoader worker never has."""
        self._lock = threading.RLock()
        self._forked = True
        self.step = 0
        self._records.forget()
        for callback in self._after_fork:
            callback()

    def _finish_with_multiprocessing(self) -> None:
        """Children that multiprocessing forked end without atexit, but run its finalizers.

        Those of a fork server import the main module first, and only then forget the finalizers of their parent.
        """
        util = sys.modules.get("multiprocessing.util")
        if self._forked and util is not None:
            util.Finalize(None, self.finish, exitpriority=100)
            util.register_after_fork(self, lambda agent: util.Finalize(None, agent.finish, exitpriority=100))

    def _handshake(self) -> dict[str, Any]:
        return {
            "kind": "loaded",
            "pid": os.getpid(),
            "ppid": os.getppid(),
            "time": time.time(),
            "python": sys.version.split()[0],
            "argv": [word[:_LONGEST_WORD] for word in program_of(command_line())],
        }


def program_of(words: list[str]) -> list[str]:
    """The interpreter and what it runs: `-m` and a module, `-c` and code, or a script; the rest may hold secrets."""
    rest = list(itertools.dropwhile(lambda word: word in _FLAGS, words[1:]))
    return words[:1] + rest[: 2 if rest[:1] in (["-m"], ["-c"]) else 1]


def command_line() -> list[str]:
    """The words this process was started with, the interpreter and its options among them."""
    words: list[str] | None = getattr(sys, "orig_argv", None)  # new in Python 3.10
    if words is not None:
        return words
    try:
        with open("/proc/self/cmdline", "rb") as file:
            return os.fsdecode(file.read()).rstrip("\0").split("\0")
    except OSError:
        return [sys.executable, *getattr(sys, "argv", [])]
