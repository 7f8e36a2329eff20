"""Weights & Biases runs in a local folder: the record file of an offline run, or the files of a synced one.

    wandb/offline-run-20261130_151118-z6nxraci/run-z6nxraci.wandb     read_wandb: metrics, statistics, config, exit code
    wandb/run-20261130_151118-z6nxraci/files/wandb-summary.json       read where no .wandb file is left

A record is a protobuf message of `wandb_internal.proto`: a number, then history, stats, run, ... Neither wandb nor
protobuf is needed. `_step` counts calls of `run.log`; where most rows carry the optimizer step, points stand at that.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from experiment_debugger.readers.series import Recorded
from experiment_debugger.readers.wandb.fields import message_in, seconds
from experiment_debugger.readers.wandb.records import RecordFile, not_wandb, open_records
from experiment_debugger.readers.wandb.rows import Rows, whole_numbers
from experiment_debugger.readers.wandb.run import RunFacts
from experiment_debugger.readers.wandb.synced import SYNCED_FILES, read_synced

HISTORY, SUMMARY, CONFIG, STATS, RUN, EXIT, HEADER, PREEMPTING, ENVIRONMENT = 2, 3, 5, 7, 17, 18, 21, 23, 26
_KINDS = frozenset({HISTORY, SUMMARY, CONFIG, STATS, RUN, EXIT, HEADER, PREEMPTING, ENVIRONMENT})
_HISTORY_ITEM, _SUMMARY_ITEM, _STATS_ITEM = 0x0A, 0x0A, 0x1A  # tag bytes
OPTIMIZER_STEPS = ("trainer/global_step", "train/global_step", "global_step")  # Lightning, transformers, own loops
LOG_CALLS, TIME = "_step", "_timestamp"
NO_SERIES = (*OPTIMIZER_STEPS, LOG_CALLS, TIME, "_runtime", "_wandb.runtime")


def is_wandb(path: Path) -> bool:
    """Whether `read_wandb` reads the file; what wandb wrote next to a record file says nothing more."""
    if path.suffix == ".wandb":
        return True
    return path.name in SYNCED_FILES and not any(path.parent.parent.glob("run-*.wandb"))


def read_wandb(path: Path) -> Recorded:
    """Everything numeric of one run, its settings and facts; `UnreadableArtifact` where nothing of it can be used."""
    if path.suffix != ".wandb":
        return read_synced(path)
    with open_records(path) as stream:
        file = RecordFile(stream)
        recorded = _Reader(file).read()
    if not file.records and not file.has_header:
        raise not_wandb(path)
    return recorded


class _Reader:
    """One pass over a record file."""

    def __init__(self, file: RecordFile) -> None:
        self._file = file
        self._history, self._stats = Rows(_HISTORY_ITEM), Rows(_STATS_ITEM, "system.")
        self._stats_times = array("d")
        self._summary = b""
        self._facts = RunFacts()
        self._undecodable = 0
        self._take: dict[int, Callable[[bytes], object]] = {
            HISTORY: self._history.take,
            STATS: self._take_stats,
            SUMMARY: self._keep_summary,
            CONFIG: self._facts.take_config,
            RUN: self._facts.take_run,
            EXIT: self._facts.take_exit,
            HEADER: self._facts.take_header,
            PREEMPTING: self._facts.take_preempting,
            ENVIRONMENT: self._facts.take_environment,
        }

    def read(self) -> Recorded:
        """All records, then what they amount to."""
        for record in self._file:
            try:
                kind, message = message_in(record, _KINDS)
                if kind:
                    self._take[kind](message)
            except (ValueError, IndexError):  # fits its checksum and is no message that wandb writes
                self._undecodable += 1
        recorded = Recorded(records=self._file.records, bytes=self._file.size)
        self._add_series(recorded)
        recorded.settings, recorded.facts = self._facts.settings, self._facts.facts
        if "exit_code" not in recorded.facts:
            recorded.facts["state"] = self._open_end()
        recorded.problems = [*self._file.problems(), *self._history.problems(), *self._stats.problems()]
        if self._undecodable:
            recorded.problems.append(f"{self._undecodable} records could not be decoded")
        return recorded

    def _take_stats(self, message: bytes) -> None:
        self._stats_times.append(float("nan"))
        stamp = self._stats.take(message)
        if stamp:
            self._stats_times[-1] = seconds(stamp)

    def _keep_summary(self, message: bytes) -> None:
        self._summary = message

    def _add_series(self, recorded: Recorded) -> None:
        if not self._history.count and self._summary:
            with suppress(ValueError, IndexError):
                self._history.take(self._summary)
        history, stats = self._history, self._stats
        history.into(recorded, _steps_of(history), _times_of(history), "step", NO_SERIES)
        numbers = array("q", range(1, stats.count + 1))
        stats.into(recorded, numbers, self._stats_times, "record", ())

    def _open_end(self) -> str:
        if not self._file.records:
            return "nothing recorded: killed early, or still running (wandb buffers what it writes)"
        if self._file.is_torn:
            return "no exit code, ends in the middle of a record: killed, still running, or copied in part"
        return "no exit code: killed or still running"


def _steps_of(history: Rows) -> array[int]:
    """The step of each row: of the optimizer where at least half of the rows carry it, else the log call.

    Rows between two optimizer steps, of a validation logged on its own, belong to the first of them. A few rows with an
    optimizer step among many without would lump these together; then the log calls tell more.
    """
    columns, count = history.columns, history.count
    for key in OPTIMIZER_STEPS:
        column = columns.get(key)
        if column is not None and 2 * len(column.values) >= count:
            return whole_numbers(column.spread(count, -1, carried=True))
    calls = columns.get(LOG_CALLS)
    return whole_numbers(calls.spread(count, -1)) if calls else array("q", [-1]) * count


def _times_of(history: Rows) -> array[float]:
    unknown = float("nan")
    stamps = history.columns.get(TIME)
    return stamps.spread(history.count, unknown) if stamps else array("d", [unknown]) * history.count
