"""How far a command has come while it runs: steps of the probes, steps and loss of its log, and when it last moved.

watch.look()  ->  Seen(step=12, logged_step=120, loss=0.53, quiet=0.4)
"""

from __future__ import annotations

import io
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from experiment_debugger.readers.lines import Scan
from experiment_debugger.readers.own import OwnDialect
from experiment_debugger.readers.progress import NO_DIALECT, ProgressReader
from experiment_debugger.readers.timestamps import Clock
from experiment_debugger.smoke.records import Records, rows_of

MOST_AT_ONCE = 4 << 20  # bytes of new output that are read at one look; what lies before is passed over
LEAST_SILENCE, PATIENCE = 8.0, 3
"""A command stalls when nothing came for so many seconds, and for so many times its longest pause before."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One look: the optimizer step, the step that the log names, the last loss, and seconds without any sign of life.

    `longest_pause` is the longest time between two signs of life before the present silence, in seconds.
    """

    step: int = 0
    logged_step: int | None = None
    loss: float | str | None = None
    quiet: float = 0.0
    longest_pause: float = 0.0

    @property
    def stalled(self) -> bool:
        """Whether the silence is long, also against every pause before it."""
        return self.quiet >= max(LEAST_SILENCE, PATIENCE * self.longest_pause)

    @property
    def message(self) -> str:
        """What a person wants to see: "step 12, loss 0.53"."""
        step = self.logged_step if self.logged_step is not None else self.step or None
        loss = f"{self.loss:.4g}" if isinstance(self.loss, float) else self.loss
        parts = [f"step {step}"] if step is not None else ["no step yet"]
        return ", ".join([*parts, f"loss {loss}"] if loss is not None else parts)


@dataclass
class Watch:
    """Follows the records of a test that is running.

    `most_output` bytes of the console are kept: at half of them it stands still, and the command may go on printing.
    """

    records: Records
    most_output: int
    own: OwnDialect = NO_DIALECT
    _offsets: dict[Path, int] = field(default_factory=dict)
    _rest: bytes = b""
    _step: int = 0
    _loss: float | str | None = None
    _moved: float = field(default_factory=time.monotonic)
    _pause: float = 0.0

    def __post_init__(self) -> None:
        self._progress = ProgressReader(self.own)
        self._scan = Scan([self._progress.literals])

    def look(self) -> Seen:
        """Take in what is new."""
        output = self._new(self.records.console)
        moved = bool(output) or self._offsets.get(self.records.console, 0) >= self.most_output // 2
        if output:
            self._read_log(output)
        for path in self.records.folder.glob("probe-*.jsonl"):
            moved |= sum(self._take(row) for row in rows_of(self._new(path))) > 0
        now = time.monotonic()
        if moved:
            self._pause, self._moved = max(self._pause, now - self._moved), now
        steps = self._progress.steps
        logged = max((step for step in steps if step >= 0), default=None)
        return Seen(self._step, logged, self._last_loss(), now - self._moved, self._pause)

    def _new(self, path: Path) -> bytes:
        try:
            with path.open("rb") as stream:
                end = stream.seek(0, 2)
                start = max(self._offsets.get(path, 0), end - MOST_AT_ONCE)
                stream.seek(start)
                fresh = stream.read(end - start)
        except OSError:
            return b""
        whole = fresh if path == self.records.console else fresh[: fresh.rfind(b"\n") + 1]
        self._offsets[path] = start + len(whole)
        return whole

    def _read_log(self, output: bytes) -> None:
        """Whole lines only; a bar without an end of line is looked at when the line ends."""
        output = self._rest + output
        cut = output.rfind(b"\n") + 1
        self._rest = output[cut:][-MOST_AT_ONCE:]
        if cut:
            self._scan.run_stream(io.BytesIO(output[:cut]), [self._progress], Clock(None))

    def _take(self, row: dict[str, Any]) -> bool:
        if row.get("kind") != "step" or not isinstance(row.get("step"), int):
            return row.get("kind") == "loaded"
        self._step = max(self._step, row["step"])
        self._loss = row.get("loss", self._loss)
        return True

    def _last_loss(self) -> float | str | None:
        if self._loss is not None:
            return self._loss
        losses = [series for series in self._progress.series.values() if series.role == "loss" and series.values]
        return losses[0].values[-1] if losses else None
