"""Batches are prepared by a thread while the model computes."""

import queue
import threading
from collections.abc import Iterable, Iterator

DEPTH = 4


class Prefetcher:
    """Iterate over a loader, `DEPTH` batches ahead."""

    def __init__(self, loader: Iterable) -> None:
        self.loader = loader
        self.batches = queue.Queue(maxsize=DEPTH)
        self.thread = threading.Thread(target=self._fill, daemon=True)
        self.thread.start()

    def __len__(self) -> int:
        return len(self.loader)

    def __iter__(self) -> Iterator:
        for _ in range(len(self)):
            yield self.batches.get()

    def _fill(self) -> None:
        for batch in self.loader:
            self.batches.put(batch)
