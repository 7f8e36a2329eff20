"""Counts optimizer steps and records each with its loss and learning rate.

{"kind": "step", "step": 20, "time": 1796074001.5, "loss": 1.93, "lr": 0.001, "rank": 0}
{"kind": "nonfinite", "step": 21, "what": "loss"}

The step is the largest count of any single optimizer: a GAN has two; one that is made later, for a second phase or the
next fold, goes on where the others are. The loss is that of the last backward pass before the step.
"""

from __future__ import annotations

import os
import time
import weakref
from collections import deque
from typing import Any

from .agent import Agent
from .hooks import after_scaling, before_backward
from .losses import Losses, Reading
from .records import number

READ_AT_ONCE = 20
"""So many first steps are read at once, even where that waits for a GPU."""
READ_EVERY_S = 0.2
MOST_UNREAD = 256
MOST_NONFINITE = 100
DEVICE_WAIT_S = 1.0
"""How long the end of the program waits for losses that a GPU, which may hang, has not computed."""


def attach(agent: Agent, torch: Any) -> None:
    """Listen to backward passes and optimizer steps."""
    steps = Steps(agent, torch)
    agent.after_step.append(agent.safely(steps.count))
    agent.at_exit(steps.finish)
    agent.after_fork(steps.forget)
    before_backward(torch, agent.safely(steps.backward))
    after_scaling(torch, agent.safely(steps.scaled))


class Steps:
    """The steps of one process, held back until their losses are read."""

    def __init__(self, agent: Agent, torch: Any) -> None:
        self._agent = agent
        self._torch = torch
        self.forget()

    def forget(self) -> None:
        """Begin anew, as a forked child does."""
        self.losses = Losses(self._torch)
        self._counts: Any = weakref.WeakKeyDictionary()
        self._rows: list[Row] = []
        self._thinning = Thinning()
        self._nonfinite = 0
        self._settled_at = time.monotonic()
        self._rank: int | None = None

    def scaled(self, loss: Any, scaled: Any) -> None:
        """A GradScaler has scaled a loss."""
        self.losses.scaled(loss, scaled)

    def backward(self, tensors: Any) -> None:
        """A backward pass begins."""
        self.losses.backward(tensors)
        if len(self.losses.unread) > MOST_UNREAD:  # accumulation, or a GradScaler that skips every step
            self.losses.label(self._agent.step + 1)
            self.settle()

    def count(self, optimizer: Any) -> None:
        """An optimizer has made a step."""
        count = self._counts.get(optimizer, max(0, self._agent.step - 1)) + 1
        self._counts[optimizer] = count
        loss = self.losses.label(count)
        if count <= self._agent.step:
            return
        self._agent.step = count
        self._rows.append(Row(count, loss, Reading(optimizer.param_groups[0].get("lr")), self.rank))
        if self._is_due:
            self.settle()

    def settle(self) -> None:
        """Read what is unread and write the rows."""
        rows, self._rows = self._rows, []
        nonfinite = self.losses.read()
        written = [fields for row in rows for fields in self._thinning.kept(row)]
        if nonfinite:
            written += self._thinning.latest()
            written += [{"kind": "nonfinite", "step": step, "what": "loss"} for step in self._worth_a_row(nonfinite)]
        if written:
            self._agent.record_all(written)
        self._settled_at = time.monotonic()

    def finish(self) -> None:
        """Write all that is held back; a GPU that does not answer keeps its losses."""
        self.losses.label(self._agent.step + 1)
        if not self._devices_are_done():
            self._leave_the_devices()
        self.settle()
        self._agent.record_all(self._thinning.latest())

    @property
    def rank(self) -> int | None:
        """From torchrun's environment, else of the process group, which is made before the first steps."""
        if self._rank is None and self._agent.step <= READ_AT_ONCE:
            self._rank = _rank(self._torch)
        return self._rank

    @property
    def _is_due(self) -> bool:
        return (
            self._agent.step <= READ_AT_ONCE
            or time.monotonic() - self._settled_at > READ_EVERY_S
            or len(self.losses.unread) > MOST_UNREAD
            or not self.losses.devices
        )

    def _worth_a_row(self, steps: list[int]) -> list[int]:
        """Those of the steps that are worth a row: the first ones, of a run that may stay at NaN for good."""
        kept = sorted(set(steps))[: MOST_NONFINITE - self._nonfinite]
        self._nonfinite += len(kept)
        return kept

    def _devices_are_done(self) -> bool:
        """Whether reading does not block, as it would for ever behind a collective whose peer is gone."""
        until = time.monotonic() + DEVICE_WAIT_S
        while not all(self._is_idle(device) for device in self.losses.devices):
            if time.monotonic() > until:
                return False
            time.sleep(0.01)
        return True

    def _leave_the_devices(self) -> None:
        for reading in [*self.losses.unread, *(row.lr for row in self._rows)]:
            reading.leave()

    def _is_idle(self, device: Any) -> bool:
        return device.type != "cuda" or bool(self._torch.cuda.current_stream(device).query())


class Row:
    """One step; the numbers may still be on a device."""

    def __init__(self, step: int, loss: Reading | None, lr: Reading, rank: int | None) -> None:
        self.step = step
        self.time = time.time()
        self.loss = loss
        self.lr = lr
        self.rank = rank

    def fields(self) -> dict[str, Any]:
        """As it is recorded; waits for the device."""
        return {
            "kind": "step",
            "step": self.step,
            "time": self.time,
            "loss": number(self.loss.read()) if self.loss is not None else None,
            "lr": number(self.lr.read()),
            "rank": self.rank,
        }


class Thinning:
    """Keeps every step at first, then every 2nd, 4th, ...: half a million steps make about 5,000 rows."""

    ROWS_A_PACE = 500

    def __init__(self) -> None:
        self._every = 1
        self._kept = 0
        self._skipped: deque[Row] = deque(maxlen=20)

    def kept(self, row: Row) -> list[dict[str, Any]]:
        """The row, or nothing."""
        if row.step % self._every:
            self._skipped.append(row)
            return []
        self._kept += 1
        if self._kept % self.ROWS_A_PACE == 0:
            self._every *= 2
        self._skipped.clear()
        return [row.fields()]

    def latest(self) -> list[dict[str, Any]]:
        """What was skipped since the last row that was kept; asked for when these steps turn out to matter."""
        rows = [row.fields() for row in self._skipped]
        self._skipped.clear()
        return rows


def _rank(torch: Any) -> int | None:
    if os.environ.get("RANK", "").isdigit():
        return int(os.environ["RANK"])
    distributed = getattr(torch, "distributed", None)
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    rank: int = distributed.get_rank()
    return rank
