"""The record file of one process: probe-<pid>.jsonl, one JSON object a line.

{"kind": "loaded", "pid": 4711, "ppid": 4700, "time": 1796073998.2, "python": "3.11.7", "argv": ["python", "x.py"]}
{"kind": "step", "step": 1, "time": 1796074001.4, "loss": 2.303, "lr": 0.001, "rank": 0}
{"kind": "step", "step": 2, "time": 1796074001.5, "loss": "nan", "lr": 0.001, "rank": 0}

Whole lines go out in one write each, so that a process killed by a signal has lost nothing that it wrote.
"""

from __future__ import annotations

import json
import math
import os
from typing import Any, Iterable

MOST_FILES = 500
MOST_BYTES = 64 << 20
"""Bounds of the records folder; beyond them nothing is written."""
_MEASURED_EVERY = 1 << 20


class RecordFile:
    """Opened by the first record; it gives up silently where it cannot write."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.closed = False
        self._descriptor: int | None = None
        self._identity: tuple[int, int] | None = None
        self._unmeasured = 0

    @property
    def path(self) -> str:
        """Each process has its own."""
        return os.path.join(self.folder, f"probe-{os.getpid()}.jsonl")

    @property
    def is_open(self) -> bool:
        """Whether the descriptor is still ours: programs that turn into daemons close all they find."""
        if self._descriptor is None:
            return False
        try:
            status = os.fstat(self._descriptor)
        except OSError:
            return False
        return (status.st_dev, status.st_ino) == self._identity

    def open(self) -> None:
        """Raises OSError; a full folder closes it for good."""
        if self._folder_is_full():
            self.closed = True
            return
        self._descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        status = os.fstat(self._descriptor)
        self._identity = (status.st_dev, status.st_ino)

    def forget(self) -> None:
        """Leave the file to the parent: called in a forked child, which opens its own if it has something to say."""
        if self.is_open and self._descriptor is not None:
            os.close(self._descriptor)
        self._descriptor = None

    def write(self, rows: Iterable[dict[str, Any]]) -> None:
        """Append the rows, or nothing where the folder is full."""
        if self.closed or self._descriptor is None:
            return
        text = "".join(json.dumps(row) + "\n" for row in rows).encode("ascii")
        self._unmeasured += len(text)
        if self._unmeasured > _MEASURED_EVERY:
            self._unmeasured = 0
            self.closed = self._folder_is_full()
        if text and not self.closed:
            os.write(self._descriptor, text)

    def _folder_is_full(self) -> bool:
        with os.scandir(self.folder) as entries:
            sizes = [entry.stat().st_size for entry in entries if entry.name.startswith("probe-")]
        return len(sizes) > MOST_FILES or sum(sizes) > MOST_BYTES


def number(value: Any) -> Any:
    """A number as JSON has it: 0.5, "nan", "inf", "-inf", or None where there is none."""
    try:
        value = float(value)
    except Exception:
        return None
    return value if math.isfinite(value) else str(value)
