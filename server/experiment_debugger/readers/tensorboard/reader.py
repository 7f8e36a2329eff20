"""TensorBoard event files: all files of one folder as one source.

    runs/exp-8/events.out.tfevents.1796051497.node01.12649.0      <- time.host.process.counter of the writer
    runs/exp-8/events.out.tfevents.1796055032.node01.13101.0      <- written after a restart

Files come in order of their first wall time, points as they were written: steps that go backwards stay visible. Scalars
have a reader of their own (`points`), 30 times as fast as tensorboard's `EventAccumulator`.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from experiment_debugger.errors import UnreadableArtifact
from experiment_debugger.readers.files import open_artifact
from experiment_debugger.readers.roles import is_evaluation, role_of
from experiment_debugger.readers.series import Recorded, Segment, Series
from experiment_debugger.readers.tensorboard.details import DetailReader
from experiment_debugger.readers.tensorboard.layout import layout_of, time_and_step
from experiment_debugger.readers.tensorboard.points import MOST_TAGS, TOO_MANY, PointReader, Points, in_order
from experiment_debugger.readers.tensorboard.tfrecords import BLOCK, HEADER, Block, RecordFile

MOST_POINTS = 50_000_000  # of one file
HEAD = 4096  # bytes that hold the first event, which names the format's version
_WRITTEN_AT = re.compile(r"tfevents\.(\d{9,11})(?:\.|$)")
_ONLY_IN_TRAINING = frozenset({"learning-rate", "grad-norm", "loss-scale"})
_TRIED_OUT = re.compile(r"(?:test|dev)[_. -]", re.IGNORECASE)  # `test_run_3` is training that someone tries out
_PACKED = frozenset({".gz", ".xz", ".zst"})


@dataclass(slots=True)
class Span:
    """What one file covers: times in seconds, steps of its first and its furthest point."""

    first_time: float = math.nan
    last_time: float = math.nan
    first_step: int = -1
    last_step: int = -1
    points: int = 0

    def extend(self, points: Points) -> None:
        """The points of one more block."""
        import numpy as np

        if not self.points:
            self.first_step = int(points.steps[points.records.argmin()])
        self.points += len(points.values)
        self.last_step = max(self.last_step, int(points.steps.max()))
        self.first_time = float(np.fmin.reduce(points.times, initial=self.first_time))
        self.last_time = float(np.fmax.reduce(points.times, initial=self.last_time))

    def named(self, name: str) -> Segment:
        """As it is handed on."""
        return Segment(name, self.first_time, self.last_time, self.first_step, self.last_step, self.points)


class EventReader:
    """Reads the files of one folder, one after the other."""

    def __init__(self) -> None:
        self.recorded = Recorded()
        self._points = PointReader()
        self._details = DetailReader()
        self._series: dict[int, Series] = {}
        self._left_out: Counter[str] = Counter()

    def file(self, path: Path, prefix: str) -> None:
        """Everything of one file; what is lost of it becomes a problem that begins with `prefix`."""
        with open_artifact(path) as stream:
            records = RecordFile(stream, _size(path))
            span, damaged = Span(), 0
            for block in records.blocks():
                damaged += self._block(block, span)
                if span.points >= MOST_POINTS:
                    records.problem = f"reading stopped after {span.points:,} points"
                    break
        self.recorded.segments.append(span.named(path.name))
        self.recorded.records += records.records
        self.recorded.bytes += records.bytes_read
        self.recorded.problems += [prefix + problem for problem in _problems(records, damaged)]

    def _block(self, block: Block, span: Span) -> int:
        found = self._points.read(block)
        for record, layout in found.others:
            self._details.take(block.payload(record)[0], layout)
        self._left_out["scalars of a type that is not known here"] += found.unread
        points = in_order(found)
        if points is not None:
            span.extend(points)
            self._append(points)
        return found.damaged

    def _append(self, points: Points) -> None:
        """Hand the points of a block, sorted by tag, to their series."""
        import numpy as np

        begins = np.flatnonzero(np.diff(points.tags, prepend=-3))
        ends = np.append(begins[1:], len(points.tags))
        for at in np.argsort(points.records[begins], kind="stable").tolist():
            tag, part = int(points.tags[begins[at]]), slice(begins[at], ends[at])
            if tag < 0:
                reason = f"points of more than {MOST_TAGS:,} tags" if tag == TOO_MANY else "points of very long tags"
                self._left_out[reason] += int(ends[at] - begins[at])
                continue
            series = self._series.setdefault(tag, Series(self._points.tags.names[tag], None))
            series.steps.frombytes(points.steps[part].tobytes())
            series.values.frombytes(points.values[part].tobytes())
            series.times.frombytes(points.times[part].tobytes())
            series.lines.frombytes(bytes(points.steps[part].nbytes))

    def finish(self, folder: str) -> Recorded:
        """The numbers of the folder, by key; its name may say that they are of an evaluation."""
        recorded = self.recorded
        named = is_evaluation(folder) and not _TRIED_OUT.match(folder)
        evaluated = named and not any(_is_of_training(series.key) for series in self._series.values())
        for series in self._series.values():
            series.evaluation = evaluated or is_evaluation(series.key)
            series.role = role_of(series.key, evaluation=series.evaluation)
            recorded.series[series.key, None, series.evaluation] = series
        self._details.finish(recorded)
        recorded.problems += [f"{count:,} {what} were left out" for what, count in self._left_out.items() if count]
        recorded.planned_steps = _positive(recorded.settings.get("max_steps"))
        if recorded.planned_steps is None:  # transformers' Trainer heeds epochs only where it is given no steps
            recorded.planned_epochs = _positive(recorded.settings.get("num_train_epochs"))
        return recorded


def read_events(paths: Sequence[Path]) -> Recorded:
    """All event files of one folder; raises `UnreadableArtifact` where none of them holds a record."""
    reader, unreadable = EventReader(), list[str]()
    for path in sorted(paths, key=written_at):
        prefix = f"{path.name}: " if len(paths) > 1 else ""
        try:
            reader.file(path, prefix)
        except UnreadableArtifact as problem:
            unreadable.append(str(problem))
    recorded = reader.recorded
    if len(unreadable) == len(paths):
        raise UnreadableArtifact(unreadable[0] if unreadable else "expected event files, found none")
    if recorded.bytes and not recorded.records:
        raise UnreadableArtifact(
            f"{paths[0].name}: expected TensorBoard records, found none in {recorded.bytes:,} bytes"
        )
    recorded.problems += unreadable
    return reader.finish(paths[0].absolute().parent.name)


def written_at(path: Path) -> tuple[float, str]:
    """When a file was begun: the time of its first event, else the one in its name; then by name."""
    named = _WRITTEN_AT.search(path.name)
    return _first_time(path) or (float(named[1]) if named else 0.0), path.name


def _first_time(path: Path) -> float | None:
    try:
        with open_artifact(path) as stream:
            head = stream.read(HEAD)
    except (UnreadableArtifact, OSError):
        return None
    payload = head[HEADER : HEADER + int.from_bytes(head[:8], "little")]
    try:
        time = time_and_step(payload, layout_of(payload, {}))[0]
    except ValueError:
        return None
    return time if math.isfinite(time) else None


def _size(path: Path) -> int | None:
    """Bytes of the stream, None where that is not known."""
    try:
        return None if path.suffix in _PACKED else path.stat().st_size
    except OSError:
        return None


def _problems(records: RecordFile, damaged: int) -> list[str]:
    """What was lost of one file, a line each."""
    lost, long = records.damaged + damaged, records.long
    passed = f", {records.passed_over:,} bytes passed over" if records.passed_over else ""
    return [
        *(["the file is empty"] if not records.bytes_read and records.problem is None else []),
        *([f"{_count(lost, 'damaged record')}{passed}"] if lost else []),
        *([f"the last record is cut off ({records.cut_off:,} bytes)"] if records.cut_off else []),
        *([f"{_count(long, 'record')} longer than {BLOCK >> 20} MiB: not looked at"] if long else []),
        *([records.problem] if records.problem else []),
    ]


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' if number > 1 else ''}"


def _is_of_training(key: str) -> bool:
    """An evaluation has no learning rate: a folder `test_run` that holds one is a run."""
    return role_of(key) in _ONLY_IN_TRAINING or key.startswith("train")


def _positive(value: object) -> int | None:
    return int(value) if isinstance(value, (int, float)) and math.isfinite(value) and value >= 1 else None
