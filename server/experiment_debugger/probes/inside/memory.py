"""GPU memory at its highest, about once a second and at the end.

{"kind": "memory", "step": 20, "peak_bytes": 8053063680, "total_bytes": 85899345920, "device": "cuda:0"}
"""

from __future__ import annotations

import time
from typing import Any

from .agent import Agent

EVERY_S = 1.0


def attach(agent: Agent, torch: Any) -> None:
    """Look after every step, and write about once a second."""
    memory = Memory(agent, torch)
    agent.after_step.append(agent.safely(memory.sample))
    agent.at_exit(memory.record)
    agent.after_fork(memory.forget)


class Memory:
    """The peak of each CUDA device that this process uses, as torch's allocator counts it."""

    def __init__(self, agent: Agent, torch: Any) -> None:
        self._agent = agent
        self._torch = torch
        self.forget()

    def forget(self) -> None:
        """Begin anew, as a forked child does."""
        self._sampled_at = time.monotonic()
        self._peaks: dict[int, int] = {}

    def sample(self, _optimizer: Any) -> None:
        """Record if the last time is long enough ago."""
        if time.monotonic() - self._sampled_at >= EVERY_S:
            self._sampled_at = time.monotonic()
            self.record()

    def record(self) -> None:
        """One row for each device whose peak has grown. Asking never makes CUDA start."""
        cuda = self._torch.cuda
        if not cuda.is_initialized():
            return
        for index in range(cuda.device_count()):
            peak = cuda.max_memory_allocated(index)
            if peak > self._peaks.get(index, 0):
                self._peaks[index] = peak
                self._agent.record(
                    "memory",
                    step=self._agent.step,
                    peak_bytes=peak,
                    total_bytes=cuda.get_device_properties(index).total_memory,
                    device=f"cuda:{index}",
                )
