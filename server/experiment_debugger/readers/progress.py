"""Training progress of one log as columns of (line, step, value), and what it says about the plan.

Step is the optimizer step where the text says so; where it gives an epoch and a position within it, the global step
is computed from them. Counts of samples are not steps: Keras' "Train on N samples" gives the batch size, without it the
step stays unknown.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from contextlib import suppress

from experiment_debugger.readers.announced import Announced
from experiment_debugger.readers.candidates import TELLING_WORDS, Labels, Patience, may_report
from experiment_debugger.readers.columns import position
from experiment_debugger.readers.console_tables import ConsoleTables
from experiment_debugger.readers.dialects import Report, read_bar, split_bars
from experiment_debugger.readers.last_report import LOOKED_AT, NEARLY, Loop, stands_at_step
from experiment_debugger.readers.lines import Consumer, Line
from experiment_debugger.readers.own import OwnDialect
from experiment_debugger.readers.prefixes import split_prefix
from experiment_debugger.readers.roles import role_of
from experiment_debugger.readers.series import Series
from experiment_debugger.readers.templates import ReportReader

MOST_BAR_LINES = 100_000  # lines with a bar of one total
LONGEST_REPORT = 4000  # characters
MOST_STEPS = 1 << 62
MOST_IN_EPOCH = 1 << 31
_LIMITS = {"step": MOST_STEPS, "total": MOST_STEPS, "at": MOST_IN_EPOCH, "size": MOST_IN_EPOCH, "epochs": MOST_IN_EPOCH}
"""Larger counts are ids, hashes or garbage; within these, products still fit into the columns."""
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
        self._announced = Announced()
        self.following = True
        self._patience = Patience()
        self._labels = Labels()
        self._tables = ConsoleTables()
        self._reports = ReportReader()
        self.loop = Loop()
        self._total: int | None = None
        self._etas: tuple[float, float] | None = None
        self._planned_by_eta: int | None = None
        self._size = 0
        self._first_epoch: int | None = None
        self._bars: dict[int, int] = {}
        self._bar_lines: dict[int, dict[int, int]] = {}
        self._last_total: int | None = None
        self._training_total: int | None = None
        self._farthest: dict[int, int] = {}
        self._batch: int | None = None

    def candidate(self, line: Line, hits: Sequence[tuple[int, int]]) -> None:
        """A line that may report progress."""
        for segment in line.segments():
            for part in split_bars(segment[:LONGEST_REPORT] if len(segment) < 2 * LONGEST_REPORT else segment):
                with suppress(ValueError, OverflowError):  # digits that are no number of anything: no report
                    self._segment(line, part[:LONGEST_REPORT])
        self.following |= self._tables.is_open

    def follow(self, line: Line) -> None:
        """A line without a telling word, at the begin of a file or near others of its kind."""
        before = len(self.lines)
        if self._tables.is_open or may_report(line):
            self.candidate(line, ())
        self.following = self._patience.spend(on_report=len(self.lines) > before) or self._tables.is_open

    def _segment(self, line: Line, text: str) -> None:
        prefix, rank, rest = split_prefix(text)
        bar = read_bar(rest) if "it/s" in rest or "s/it" in rest else None
        if bar:
            done, self._last_total = bar
            self._bars[self._last_total] = done
            self._keep_bar(line.number, done, self._last_total)
        report = self._own.read(rest) or self._tables.read(rest, line.number) or self._reports.read(rest)
        if report is not None and not report.is_placed and not self._announced.is_header:
            rank = self._place_by_lines_before(report, prefix, rank)
        if report is None or not (report.is_placed or self._announced.is_header):
            self._announced.note(rest)
            return
        self.add_report(line.number, line.time, report, rank)

    def _place_by_lines_before(self, report: Report, prefix: str, rank: int | None) -> int | None:
        """The rank; a label that only grows is the step, and an evaluation without a position follows training."""
        if self._labels.is_count(prefix):
            report.step, rank = rank, None
        elif report.evaluation and self.steps:
            report.step = self.steps[-1] if self.steps[-1] >= 0 else None
            report.epoch = self.last_epoch
        return rank

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

    def _under_header(self, report: Report) -> None:
        """A bar, or a line without a position, below `Epoch 2/30` or `[batch=40/1200]:` belongs there."""
        if self._announced.batch is not None and not report.is_placed:
            report.step, report.total = self._announced.batch
        if self._announced.epoch is None or report.epoch is not None or (report.is_placed and not report.is_bar):
            return
        epoch, epochs = self._announced.epoch
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
        if report.step is not None and report.total is not None and report.total == self._announced.samples:
            return self._in_batches(report.step, report.total)[0]
        if report.step is not None or not report.is_dict:
            return report.step
        if not report.evaluation and "learning_rate" in report.values:
            self._training_total = self._last_total
        total = self._training_total or self._last_total
        if total is not None and (self._announced.steps is None or total == self._announced.steps):
            return self._bars.get(total)
        if self._announced.steps and self._announced.epochs and report.epoch is not None:
            return round(report.epoch * self._announced.steps / self._announced.epochs)
        return None

    def _beyond_known(self, epoch: int, at: int) -> int:
        """The global step where the log counts batches within an epoch but never says how many there are."""
        self._farthest[epoch] = max(self._farthest.get(epoch, 0), at)
        size = max((far for other, far in self._farthest.items() if other != epoch), default=0)
        first = min(self._farthest)
        return (epoch - first) * size + at

    def _in_batches(self, at: int, size: int) -> tuple[int, int]:
        """Samples turned into batches where the log counts samples."""
        if size != self._announced.samples:
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
            self.loop.count_epoch(report.epoch, self.epochs or 0)
        if report.total and not report.evaluation and report.total >= (self._total or 0):
            self._total = self.loop.count_step(report.step or 0, report.total)
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
        return self._announced.steps or self._total or self._planned_by_eta

    @property
    def last_epoch(self) -> float | None:
        """The epoch of the last training report that names one."""
        return self.loop.last_epoch

    @property
    def reached_plan(self) -> bool:
        """Whether the last training report stands at the planned end, of a log that tells of one loop only."""
        total = self.total_steps
        return not self.loop.ended_before and (self.stands_at_total or bool(total and self.stands_at_step(total)))

    @property
    def stands_at_total(self) -> bool:
        """Whether the reports came to all planned steps or epochs, or to nearly all of them."""
        if self._etas is not None:
            before, now = self._etas
            return now <= before - now
        total, last = self.total_steps, max(self.steps, default=-1)
        if total and last >= 0:
            return last >= NEARLY * total
        return self.loop.stands_at_epoch(self.epochs or 0)

    def stands_at_step(self, planned: int) -> bool:
        """Whether no report is due any more before so many steps."""
        known = [
            step for step, evaluation in zip(self.steps, self.evaluation, strict=True) if step >= 0 and not evaluation
        ]
        first = min(known, default=-1)
        return first >= 0 and stands_at_step(first, known[-LOOKED_AT:], planned)

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
            series.add(_place_in(series, number, report.epoch), value, math.nan if time is None else time, line)


def _place_in(series: Series, step: int, epoch: float | None) -> int:
    """The position of a point: its step, or its epoch in a series that has no steps."""
    if not len(series) and step < 0 and epoch is not None:
        series.axis = "epoch"
    if series.axis == "epoch" and step >= 0:
        series.axis, series.steps = "step", array("q", [-1]) * len(series)
    return position(epoch) if series.axis == "epoch" else step
