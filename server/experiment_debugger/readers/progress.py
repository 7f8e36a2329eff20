"""Training progress of one log as columns of (line, step, value), and what it says about the plan.

Step is the optimizer step where the text says so; where it gives an epoch and a position within it, the global step
is computed from them. Counts of samples are not steps: Keras' "Train on N samples" gives the batch size, without it the
step stays unknown.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Sequence
from contextlib import suppress

from experiment_debugger.readers.dialects import Report, read_bar, split_bars
from experiment_debugger.readers.lines import Consumer, Line
from experiment_debugger.readers.own import OwnDialect
from experiment_debugger.readers.prefixes import split_prefix
from experiment_debugger.readers.roles import role_of
from experiment_debugger.readers.series import Series
from experiment_debugger.readers.templates import ReportReader

_KERAS_SAMPLES = re.compile(r"^Train on (\d+) samples")
_EPOCH_HEADER = re.compile(r"(?:^|[\s:\]])Epoch (\d+)(?:/(\d+))?\s*$")
_BATCH_HEADER = re.compile(r"^\s*\[batch=(\d+)/(\d+)\]:$")
_HF_TOTAL = re.compile(r"Total optimization steps = ([\d,]+)")
_HF_EPOCHS = re.compile(r"Num Epochs = ([\d,]+)")
MOST_BAR_LINES = 100_000  # lines with a bar of one total
LONGEST_REPORT = 4000  # characters
MOST_STEPS = 1 << 62
MOST_IN_EPOCH = 1 << 31
_LIMITS = {"step": MOST_STEPS, "total": MOST_STEPS, "at": MOST_IN_EPOCH, "size": MOST_IN_EPOCH, "epochs": MOST_IN_EPOCH}
"""Larger counts are ids, hashes or garbage; within these, products still fit into the columns."""


_WORDS = (
    "loss Loss LOSS entropy grad_norm gnorm it/s s/it /step step: step= steps Steps iteration Iter iter: Epoch epoch"
)
_SPACED = ("step ", "Step ", "iter ", " it  ", " ep ", " avg", "[batch=", "Train on ", "Num Epochs = ", "G   ")
TELLING_WORDS = (*_WORDS.split(), *_SPACED, "auc", "rmse", "logloss", "s l1: ", "s l2: ")
"""A progress line holds at least one of them."""
NO_DIALECT = OwnDialect()


class ProgressReader(Consumer):
    """Collects the progress of one file: parallel arrays, one entry a report (unknown: step and rank -1, time NaN)."""

    literals = tuple(word.encode() for word in TELLING_WORDS)

    def __init__(self, own: OwnDialect = NO_DIALECT) -> None:
        self.literals = (*self.literals, *own.literals)
        self._own = own
        self.series: dict[tuple[str, int | None, bool], Series] = {}
        self.lines: array[int] = array("q")
        self.steps: array[int] = array("q")
        self.times: array[float] = array("d")
        self.ranks: array[int] = array("q")
        self.evaluation: array[int] = array("b")
        self.epochs: int | None = None
        self._reports = ReportReader()
        self.last_epoch: float | None = None
        self._total: int | None = None
        self._etas: tuple[float, float] | None = None
        self._planned_by_eta: int | None = None
        self._size = 0
        self._first_epoch: int | None = None
        self._bars: dict[int, int] = {}
        self._bar_lines: dict[int, dict[int, int]] = {}
        self._last_total: int | None = None
        self._training_total: int | None = None
        self._samples: int | None = None
        self._epoch_header: tuple[int, int] | None = None
        self._batch_header: tuple[int, int] | None = None
        self._farthest: dict[int, int] = {}
        self._hf_total: int | None = None
        self._hf_epochs: int | None = None
        self._batch: int | None = None

    def candidate(self, line: Line, hits: Sequence[tuple[int, int]]) -> None:
        """A line that may report progress."""
        for segment in line.segments():
            for part in split_bars(segment[:LONGEST_REPORT] if len(segment) < 2 * LONGEST_REPORT else segment):
                with suppress(ValueError, OverflowError):  # digits that are no number of anything: no report
                    self._segment(line, part[:LONGEST_REPORT])

    def _segment(self, line: Line, text: str) -> None:
        _, rank, rest = split_prefix(text)
        bar = read_bar(rest) if "it/s" in rest or "s/it" in rest else None
        if bar:
            done, self._last_total = bar
            self._bars[self._last_total] = done
            self._keep_bar(line.number, done, self._last_total)
        report = self._own.read(rest) or self._reports.read(rest)
        if report is None or not (report.is_placed or self._epoch_header or self._batch_header):
            self._note_plan(rest)
            return
        self.add_report(line.number, line.time, report, rank)

    def _keep_bar(self, line: int, done: int, total: int) -> None:
        """The farthest a bar came on each line."""
        kept = self._bar_lines.setdefault(total, {})
        if len(kept) < MOST_BAR_LINES or line in kept:
            kept[line] = done

    def bar_before(self, line: int, total: int | None) -> int | None:
        """How far the bar over all planned steps had come at a line; it may be all that a file of errors reports."""
        kept = self._bar_lines.get(total or 0, {})
        return max((done for at, done in kept.items() if at <= line), default=None)

    def add_report(self, line: int, time: float | None, report: Report, rank: int | None = None) -> None:
        """Take one report in, wherever it comes from; `time` is seconds or None."""
        for name, most in _LIMITS.items():
            if abs(getattr(report, name) or 0) > most:
                setattr(report, name, None)
        self._under_header(report)
        step = self._step(report)
        self._plan(report, step)
        self._add(line, time, step, rank, report)

    def _note_plan(self, text: str) -> None:
        """What Keras, Composer and HF Trainer print on lines of their own, before the reports."""
        if found := _EPOCH_HEADER.search(text):
            self._epoch_header = int(found.group(1)), int(found.group(2) or 0)
        if found := _BATCH_HEADER.match(text):
            self._batch_header = int(found.group(1)), int(found.group(2))
        if found := _KERAS_SAMPLES.match(text):
            self._samples = int(found.group(1))
        if found := _HF_TOTAL.search(text):
            self._hf_total = int(found.group(1).replace(",", ""))
        if found := _HF_EPOCHS.search(text):
            self._hf_epochs = int(found.group(1).replace(",", ""))

    def _under_header(self, report: Report) -> None:
        """A bar, or a line without a position, below `Epoch 2/30` or `[batch=40/1200]:` belongs there."""
        if self._batch_header is not None and not report.is_placed:
            report.step, report.total = self._batch_header
        if self._epoch_header is None or report.epoch is not None or (report.is_placed and not report.is_bar):
            return
        epoch, epochs = self._epoch_header
        report.epoch, report.epochs = float(epoch), epochs or None
        if report.is_bar:
            report.at, report.size = report.step, report.total or None
            report.step = report.total = None

    def _step(self, report: Report) -> int | None:
        if report.at is not None and report.size is not None and report.epoch is not None:
            at, size = self._in_batches(report.at, report.size)
            return self._global(int(report.epoch), at, size)
        if report.at is not None:
            return self._beyond_known(int(report.epoch or 0), report.at)
        if report.step is not None and report.total is not None and report.total == self._samples:
            return self._in_batches(report.step, report.total)[0]
        if report.step is not None or not report.is_dict:
            return report.step
        if not report.evaluation and "learning_rate" in report.values:
            self._training_total = self._last_total
        total = self._training_total or self._last_total
        if total is not None and (self._hf_total is None or total == self._hf_total):
            return self._bars.get(total)
        if self._hf_total and self._hf_epochs and report.epoch is not None:
            return round(report.epoch * self._hf_total / self._hf_epochs)
        return None

    def _beyond_known(self, epoch: int, at: int) -> int:
        """The global step where the log counts batches within an epoch but never says how many there are."""
        self._farthest[epoch] = max(self._farthest.get(epoch, 0), at)
        size = max((far for other, far in self._farthest.items() if other != epoch), default=0)
        first = min(self._farthest)
        return (epoch - first) * size + at

    def _in_batches(self, at: int, size: int) -> tuple[int, int]:
        """Samples turned into batches where the log counts samples."""
        if size != self._samples:
            return at, size
        self._batch = self._batch or max(at, 1)
        return math.ceil(at / self._batch), math.ceil(size / self._batch)

    def _global(self, epoch: int, at: int, size: int) -> int:
        if self._first_epoch is None:
            self._first_epoch = 1 if epoch == 1 else 0
        self._size = max(self._size, size)
        return max(0, epoch - self._first_epoch) * size + at

    def _plan(self, report: Report, step: int | None) -> None:
        if report.epochs:
            self.epochs = report.epochs
        if report.epoch is not None and not report.evaluation:
            self.last_epoch = report.epoch
        if report.total and not report.evaluation and report.total >= (self._total or 0):
            self._total = report.total
        if report.eta is not None and not report.evaluation:
            self._etas = (self._etas[1] if self._etas else report.eta, report.eta)
            pace = next((value for key, value in report.values.items() if role_of(key) == "step-time"), 0.0)
            if step is not None and pace > 0:
                self._planned_by_eta = step + round(report.eta / pace)

    @property
    def total_steps(self) -> int | None:
        """Planned optimizer steps, where the log says so."""
        if self.epochs and self._size:
            return self.epochs * self._size
        return self._hf_total or self._total or self._planned_by_eta

    @property
    def reached_plan(self) -> bool:
        """Whether the last training report stands at the planned end."""
        if self._etas is not None:
            before, now = self._etas
            return now <= before - now
        total, last = self.total_steps, max(self.steps, default=-1)
        if total and last >= 0:
            return last >= 0.98 * total
        return bool(self.epochs and self.last_epoch is not None and self.last_epoch >= self.epochs - 1)

    def _add(self, line: int, time: float | None, step: int | None, rank: int | None, report: Report) -> None:
        number = -1 if step is None or abs(step) > MOST_STEPS else step
        if not report.only_memory:
            self.lines.append(line)
            self.steps.append(number)
            self.times.append(math.nan if time is None else time)
            self.ranks.append(-1 if rank is None else rank)
            self.evaluation.append(report.evaluation)
        for key, value in report.values.items():
            series = self.series.get((key, rank, report.evaluation))
            if series is None:
                series = Series(key, self._own.role_of(key), rank, report.evaluation)
                self.series[key, rank, report.evaluation] = series
            series.add(number, value, math.nan if time is None else time, line)
