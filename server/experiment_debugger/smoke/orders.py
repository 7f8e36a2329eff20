"""What the supervisor is told while it runs: lines of its standard input, the end of that input, and signals.

cancel          the user has cancelled
stop steps      the step limit is over
(end of input)  the process at the other end is gone, however it died
SIGTERM         somebody ends the supervisor itself
"""

from __future__ import annotations

import os
import queue
import signal
import threading
import time
from collections.abc import Iterator

CANCEL, STEPS, GONE, SIGNALLED = "cancel", "stop steps", "gone", "signalled"
_SIGNALS = ("SIGTERM", "SIGINT", "SIGHUP")


class Orders:
    """The orders in the order they came."""

    def __init__(self, source: int) -> None:
        # SimpleQueue.put may interrupt itself, which a handler of a signal needs.
        self._queue: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._lines = _lines(source)
        self._over = False
        for name in _SIGNALS:
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), lambda *_: self._queue.put(SIGNALLED))

    def first_line(self) -> bytes | None:
        """The line that starts everything; None when the other end went away before it was whole."""
        return next(self._lines, None)

    def listen(self) -> None:
        """Read on in a thread."""
        threading.Thread(target=self._read, daemon=True).start()

    def next(self, seconds: float) -> str | None:
        """The next order; None when there is none within so many seconds."""
        try:
            order = self._queue.get(timeout=seconds)
        except queue.Empty:
            return None
        self._over |= order in {GONE, SIGNALLED}
        return order

    def wait_until_over(self, seconds: float) -> None:
        """Wait until nobody is there any more to give orders, or this process is to end."""
        deadline = time.monotonic() + seconds
        while not self._over and (left := deadline - time.monotonic()) > 0:
            self.next(left)

    def _read(self) -> None:
        for line in self._lines:
            self._queue.put(line.decode("utf-8", "replace").strip())
        self._queue.put(GONE)


def _lines(source: int) -> Iterator[bytes]:
    """Whole lines. A descriptor, because a buffered file that a thread reads cannot be closed when Python ends."""
    rest = b""
    while chunk := os.read(source, 1 << 16):
        *whole, rest = (rest + chunk).split(b"\n")
        yield from whole
