"""console.log: the first and the last part of what a command prints, however much that is.

    step 1 loss 2.31
    [experiment-debugger: 1006632960 bytes left out]
    step 90210 loss nan
    experiment-debugger: stopped: wall clock of 45 s is over

The first half is on disk as soon as it is printed, so that it can be followed. The last half waits in a ring in memory
and is written at the end. What a command says while it is being ended (a launcher reports a signal as an error) is no
part of its log.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import suppress
from typing import IO

READ_BYTES = 1 << 20
LAST_WORDS_BYTES = 4096
SETTLE_SECONDS = 0.3  # at most, for the reader to take in what was printed before the stop
LOOK_SECONDS = 0.01
LONGEST_CUT_LINE = 1 << 12  # bytes up to the first line end that are dropped, so that the last part begins with a line
DRAIN_SECONDS = 5.0  # for what is still in the pipe when all processes have ended


class Console:
    """Takes everything from a pipe and keeps at most `limit` bytes of it in the file at `path`."""

    def __init__(self, path: str, limit: int) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o644)
        self._head = limit // 2
        self._ring = Ring(limit - self._head)
        self._written = 0
        self._last = _last_byte(path)
        self._thread: threading.Thread | None = None
        self._is_over = False
        self._pipe = -1
        self._last_words = b""

    @property
    def last_words(self) -> str:
        """The end of what was printed after `log_is_over`."""
        return self._last_words.decode("utf-8", "replace")

    @property
    def seen(self) -> int:
        """Bytes that were printed."""
        return self._written + self._ring.seen

    def follow(self, stream: IO[bytes]) -> None:
        """Read the stream to its end, in a thread."""
        self._pipe = stream.fileno()
        self._thread = threading.Thread(target=self._pump, args=(self._pipe,), daemon=True)
        self._thread.start()

    def log_is_over(self) -> None:
        """The command is going to be ended: what it prints from now on is kept apart; what it has printed is not."""
        deadline = time.monotonic() + SETTLE_SECONDS
        while time.monotonic() < deadline and _waiting(self._pipe):
            time.sleep(LOOK_SECONDS)
        time.sleep(LOOK_SECONDS)  # an empty pipe was read, but what was read may not be in the log yet
        self._is_over = True

    def finish(self, line: str | None = None) -> int:
        """Write the last part, then a line of our own; the number of bytes that were left out."""
        if self._thread:
            self._thread.join(DRAIN_SECONDS)
        tail, left_out = self._ring.kept()
        if left_out:
            self._write_line(f"[experiment-debugger: {left_out} bytes left out]")
        self._write(tail)
        if line:
            self._write_line(f"experiment-debugger: {line}")
        os.close(self._file)
        return left_out

    def _pump(self, pipe: int) -> None:
        with suppress(OSError):
            while data := os.read(pipe, READ_BYTES):
                if self._is_over:
                    self._last_words = (self._last_words + data)[-LAST_WORDS_BYTES:]
                    continue
                head = data[: max(self._head - self._written, 0)]
                self._write(head)
                self._written += len(head)
                self._ring.write(data[len(head) :])

    def _write_line(self, line: str) -> None:
        self._write((b"" if self._last == b"\n" else b"\n") + line.encode("utf-8", "replace") + b"\n")

    def _write(self, data: bytes) -> None:
        """Write all of it; a full disk must not keep the command waiting at its pipe."""
        with suppress(OSError):
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(self._file, rest) :]
        self._last = data[-1:] or self._last


def _last_byte(path: str) -> bytes:
    """How a file ends; an empty one is at the start of a line."""
    with open(path, "rb") as file:
        file.seek(max(os.path.getsize(path) - 1, 0))
        return file.read(1) or b"\n"


def _waiting(pipe: int) -> int:
    """Bytes that wait in a pipe; 0 where the system does not tell."""
    try:
        import fcntl
        import termios

        return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)
    except (ImportError, OSError, ValueError):
        return 0


class Ring:
    """The last `size` bytes of everything written to it."""

    def __init__(self, size: int) -> None:
        self.seen = 0
        self._size = size
        self._space = bytearray(size)  # zeroed pages, which take no memory before they are written

    def write(self, data: bytes) -> None:
        """Take the data in; what is older than `size` bytes is forgotten."""
        fresh = data[-self._size :] if self._size else b""
        start = (self.seen + len(data) - len(fresh)) % (self._size or 1)
        before_end = fresh[: self._size - start]
        self._space[start : start + len(before_end)] = before_end
        self._space[: len(fresh) - len(before_end)] = fresh[len(before_end) :]
        self.seen += len(data)

    def kept(self) -> tuple[bytes, int]:
        """The last bytes from the start of a line on, and how many bytes were written before them."""
        if self.seen <= self._size:
            return bytes(self._space[: self.seen]), 0
        oldest = self.seen % (self._size or 1)
        last = bytes(self._space[oldest:]) + bytes(self._space[:oldest])
        kept = last[last.find(b"\n", 0, LONGEST_CUT_LINE) + 1 :]
        return kept, self.seen - len(kept)
