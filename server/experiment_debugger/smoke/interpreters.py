"""Which separate Python interpreters a test has started: each of them should have shaken hands with the probes.

python -m torch.distributed.run train.py    pid 100   an interpreter
python train.py                             pid 101   an interpreter
python train.py                             pid 107   child of 101 with its command line: forked, a loader's worker
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from experiment_debugger.redaction import redacted_words
from experiment_debugger.smoke.reading import Reading

_PYTHON = re.compile(r"(python|pypy)", re.IGNORECASE)
SHORTEST = 0.5  # seconds; what lives shorter is a version check or a helper
LONGEST_COMMAND = 200  # characters


@dataclass
class _Interpreter:
    pid: int
    parent: int
    command: tuple[str, ...]
    born: float  # seconds since 1970
    last_seen: float = 0.0
    forked: bool = False

    @property
    def seconds(self) -> float:
        return max(0.0, self.last_seen - self.born)

    @property
    def text(self) -> str:
        return " ".join(redacted_words(self.command))[:LONGEST_COMMAND].encode("utf-8", "replace").decode("utf-8")


class Interpreters:
    """The Python processes of a tree, over all samples."""

    def __init__(self, main: int, argv: Sequence[str]) -> None:
        self._main, self._argv = main, tuple(argv)
        self._main_was_seen = False
        self._known: dict[tuple[int, float], _Interpreter] = {}

    def see(self, processes: Sequence[Reading]) -> None:
        """Take in one sample."""
        now = time.time()
        self._main_was_seen |= any(process.pid == self._main for process in processes)
        pythons = [process for process in processes if _PYTHON.match(process.executable)]
        for process in sorted(pythons, key=lambda process: process.born):
            if command := self._command(process):
                self._see(process, command, now)

    def started(self) -> list[dict[str, Any]]:
        """The separate interpreters that lived long enough, and the main process however short it lived."""
        known = list(self._known.values())
        if not self._main_was_seen and _PYTHON.match(os.path.basename(self._argv[0])):
            known.insert(0, _Interpreter(self._main, os.getpid(), self._argv, born=0.0))
        return [
            {"pid": one.pid, "parent": one.parent, "seconds": round(one.seconds, 2), "command": one.text}
            for one in known
            if not one.forked and (one.seconds >= SHORTEST or one.pid == self._main)
        ]

    def _see(self, process: Reading, command: tuple[str, ...], now: float) -> None:
        if process.key not in self._known:
            forked = self._is_fork(process, command)
            self._known[process.key] = _Interpreter(process.pid, process.parent, command, process.born, forked=forked)
        known = self._known[process.key]
        known.last_seen = now
        if command != known.command:  # it was seen before it became another program
            known.command, known.forked = command, False

    def _command(self, process: Reading) -> tuple[str, ...]:
        """Its command line, which the system shows a moment later than the program."""
        return process.command or (self._argv if process.pid == self._main else ())

    def _is_fork(self, process: Reading, command: tuple[str, ...]) -> bool:
        """Whether it runs what its parent runs; the parent of one that detached itself is not known any more."""
        same = {known.pid for known in self._known.values() if known.command == command}
        adopted = process.pid != self._main and process.parent in {os.getpid(), 1}
        return process.parent in same or (adopted and bool(same))
