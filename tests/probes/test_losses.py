"""Values on a device are copied at once and read late; the devices here are objects that behave like GPU tensors."""

from __future__ import annotations

from types import SimpleNamespace
from typing import NamedTuple

import pytest

from experiment_debugger.probes.inside.losses import Losses, Reading


class Device(NamedTuple):
    type: str


class DeviceTensor:
    """A scalar on a device that counts the waits for it."""

    waits = 0

    def __init__(self, value: float, *, is_broken: bool = False) -> None:
        self.value = value
        self.is_broken = is_broken
        self.device = Device("cuda")
        self.is_cuda = True

    def numel(self) -> int:
        return 1

    def detach(self) -> DeviceTensor:
        return self

    def clone(self) -> DeviceTensor:
        return DeviceTensor(self.value, is_broken=self.is_broken)

    def __float__(self) -> float:
        DeviceTensor.waits += 1
        if self.is_broken:
            raise RuntimeError("CUDA error: device-side assert triggered")
        return self.value


@pytest.fixture
def losses() -> Losses:
    DeviceTensor.waits = 0
    cuda = SimpleNamespace(is_current_stream_capturing=lambda: False)
    return Losses(SimpleNamespace(Tensor=DeviceTensor, cuda=cuda))


def test_nothing_waits_until_the_losses_are_read(losses: Losses) -> None:
    for step, value in enumerate((1.0, float("nan"), 3.0), 1):
        losses.backward(DeviceTensor(value))
        losses.label(step)
    assert (DeviceTensor.waits, len(losses.unread), losses.devices) == (0, 3, {Device("cuda")})
    assert losses.read() == [2]
    assert (DeviceTensor.waits, losses.unread, losses.devices) == (3, [], set())


def test_a_value_that_changes_later_is_read_as_it_was(losses: Losses) -> None:
    loss = DeviceTensor(1.5)
    losses.backward([DeviceTensor(9.0), loss])
    loss.value = 100.0
    reading = losses.label(1)
    assert reading is not None
    assert reading.read() == 1.5


def test_a_failed_device_gives_no_value(losses: Losses) -> None:
    losses.backward(DeviceTensor(1.0, is_broken=True))
    reading = losses.label(1)
    assert losses.read() == []
    assert reading is not None
    assert reading.value is None


def test_a_device_that_hangs_is_not_waited_for() -> None:
    reading = Reading(DeviceTensor(1.0))
    reading.leave()
    assert (reading.on_device, reading.read()) == (False, None)
    known = Reading(0.5)
    known.leave()
    assert known.read() == 0.5


def test_a_graph_that_is_being_recorded_is_left_alone() -> None:
    cuda = SimpleNamespace(is_current_stream_capturing=lambda: True)
    losses = Losses(SimpleNamespace(Tensor=DeviceTensor, cuda=cuda))
    losses.backward(DeviceTensor(1.0))
    assert losses.label(1) is None
