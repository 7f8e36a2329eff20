"""What Keras, Composer and HF Trainer print on lines of their own, before the reports that it concerns.

Train on 1829 samples, validate on 204 samples        Num Epochs = 3        Total optimization steps = 1,200
Epoch 2/30                                            [batch=40/1200]:
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_KERAS_SAMPLES = re.compile(r"^Train on (\d+) samples")
_EPOCH_HEADER = re.compile(r"(?:^|[\s:\]])Epoch (\d+)(?:/(\d+))?\s*$")
_BATCH_HEADER = re.compile(r"^\s*\[batch=(\d+)/(\d+)\]:$")
_HF_TOTAL = re.compile(r"Total optimization steps = ([\d,]+)")
_HF_EPOCHS = re.compile(r"Num Epochs = ([\d,]+)")


@dataclass(slots=True)
class Announced:
    """The last announcement of each kind; `epoch` and `batch` are (number, of how many; 0: not said)."""

    samples: int | None = None
    steps: int | None = None
    epochs: int | None = None
    epoch: tuple[int, int] | None = None
    batch: tuple[int, int] | None = None

    @property
    def is_header(self) -> bool:
        """Whether reports without a position stand below a line that says it for them."""
        return self.epoch is not None or self.batch is not None

    def note(self, text: str) -> None:
        """Take in a line that is no report."""
        if found := _EPOCH_HEADER.search(text):
            self.epoch = int(found.group(1)), int(found.group(2) or 0)
        if found := _BATCH_HEADER.match(text):
            self.batch = int(found.group(1)), int(found.group(2))
        if found := _KERAS_SAMPLES.match(text):
            self.samples = int(found.group(1))
        if found := _HF_TOTAL.search(text):
            self.steps = int(found.group(1).replace(",", ""))
        if found := _HF_EPOCHS.search(text):
            self.epochs = int(found.group(1).replace(",", ""))
