"""TensorBoard event files of run 42 whose points are made by arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter

Points = Sequence[tuple[int, float]]


def write_events(folder: Path, key: str, points: Points, *, begin: float, pace: float = 1.0) -> None:
    """One event file of a run that began at a time and needed so many seconds a step."""
    writer = EventFileWriter(str(folder))
    for order, (step, value) in enumerate(points):
        summary = Summary(value=[Summary.Value(tag=key, simple_value=value)])
        writer.add_event(Event(wall_time=begin + pace * order, step=step, summary=summary))
    writer.close()


def files_of(folder: Path, key: str, *parts: Points) -> Path:
    """A project whose run has one event file for each part, hours apart."""
    for number, points in enumerate(parts):
        write_events(folder / "runs" / "run-42", key, points, begin=1.7e9 + 10_000 * number)
    return folder


def numbered(values: Sequence[float], first: int = 0) -> list[tuple[int, float]]:
    """Values with consecutive steps."""
    return [(first + i, value) for i, value in enumerate(values)]
