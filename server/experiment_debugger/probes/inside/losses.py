"""The losses of backward passes, each read once, and of a GPU's only when the wait for it is worth it."""

from __future__ import annotations

import math
import weakref
from typing import Any


class Reading:
    """A scalar as it is now. A device's is copied there and read later: reading waits for the device."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self.step: int | None = None
        self.on_device = False
        if hasattr(value, "detach"):
            self._take(value.detach())

    def _take(self, tensor: Any) -> None:
        try:
            self.on_device = tensor.device.type != "cpu"
            self.value = tensor.clone() if self.on_device else tensor.item()
        except Exception:  # a tensor without a value: fake, meta, traced
            self.on_device, self.value = False, None

    def read(self) -> float | None:
        """The number; None where there is none, or where the device has failed."""
        try:
            self.value = None if self.value is None else float(self.value)
        except Exception:
            self.value = None
        self.on_device = False
        number: float | None = self.value
        return number

    def leave(self) -> None:
        """Give up a value that its device has not computed yet."""
        if self.on_device:
            self.on_device, self.value = False, None

    @property
    def is_nonfinite(self) -> bool:
        """Reads it."""
        number = self.read()
        return number is not None and not math.isfinite(number)


class Losses:
    """Readings of losses: first unlabelled, then of a step, then read."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._unlabelled: list[Reading] = []
        self._labelled: list[Reading] = []
        self._scaled: tuple[Any, Any] | None = None

    def scaled(self, loss: Any, scaled: Any) -> None:
        """Remember what a GradScaler was given: the loss that counts is the one before scaling."""
        if isinstance(scaled, self._torch.Tensor):
            self._scaled = (weakref.ref(scaled), loss.detach())

    def backward(self, tensors: Any) -> None:
        """Take the last scalar among the tensors of a backward pass."""
        given = [tensors] if isinstance(tensors, self._torch.Tensor) else list(tensors or ())
        scalars = [tensor for tensor in given if isinstance(tensor, self._torch.Tensor) and tensor.numel() == 1]
        if scalars and not self._is_capturing(scalars[-1]):
            self._unlabelled.append(Reading(self._unscaled(scalars[-1])))

    def label(self, step: int) -> Reading | None:
        """Give the losses since the last step to this one; the last of them stands for it."""
        readings, self._unlabelled = self._unlabelled, []
        for reading in readings:
            reading.step = step
        self._labelled += readings
        return readings[-1] if readings else None

    def read(self) -> list[int]:
        """Read all that have a step; the steps with a non-finite one."""
        readings, self._labelled = self._labelled, []
        return [reading.step for reading in readings if reading.is_nonfinite and reading.step is not None]

    @property
    def unread(self) -> list[Reading]:
        """Those of this step, and of steps before."""
        return self._labelled + self._unlabelled

    @property
    def devices(self) -> set[Any]:
        """Devices that have to be waited for when these are read."""
        return {reading.value.device for reading in self.unread if reading.on_device}

    def _unscaled(self, tensor: Any) -> Any:
        scaled, self._scaled = self._scaled, None
        return scaled[1] if scaled is not None and scaled[0]() is tensor else tensor

    def _is_capturing(self, tensor: Any) -> bool:
        """A CUDA graph that is being recorded would repeat our copy, and must not be read from."""
        return bool(tensor.is_cuda and self._torch.cuda.is_current_stream_capturing())
