"""Cost of reading a folder of TensorBoard events, as a ratio of two readers in the same process.

    python tests/benchmarks/event_files.py [POINTS]          200,000 by default; 2,000,000 takes two minutes

One file, 20 tags that are logged at mixed rates, one event a point as torch writes them, with histograms and images
between them. CPU seconds of tensorboard's `EventAccumulator` (everything kept), of the reader of the project, and how
much its memory has grown.
"""

from __future__ import annotations

import io
import math
import resource
import sys
import tempfile
import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

POINTS = 200_000
Values = TypeVar("Values")
TAGS = [f"train/{name}" for name in ("loss", "lr", "grad_norm", "acc", "time", "data", "mem", "aux", "kl", "recon")]
TAGS += [f"layer_{number:02}/weight_norm" for number in range(10)]
NAME = "events.out.tfevents.1796051497.node01.1.0"


def write_events(folder: Path, points: int) -> Path:
    """A folder with one event file, written by tensorboard's protos and record writer."""
    from tensorboard.summary.writer.record_writer import RecordWriter

    path = folder / NAME
    with path.open("wb", buffering=1 << 20) as file:
        writer = RecordWriter(_Unflushed(file))
        for event in events(points):
            writer.write(event.SerializeToString())
    return path


class _Unflushed(io.RawIOBase):
    """The record writer flushes each event; a benchmark need not wait for that."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__()
        self._file = file

    def write(self, data: Any, /) -> int:
        return self._file.write(data)


def events(points: int) -> Iterator[Any]:
    """Tags 0 to 9 each step, the others each fourth step."""
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary

    yield Event(wall_time=1.7e9, file_version="brain.Event:2")
    written = step = 0
    while written < points:
        for tag in TAGS if step % 4 == 0 else TAGS[:10]:
            value = math.nan if step % 5000 == 4999 else 2 / (step + 1)
            summary = Summary(value=[Summary.Value(tag=tag, simple_value=value)])
            yield Event(wall_time=1.7e9 + written / 100, step=step, summary=summary)
            written += 1
        if step % 1000 == 0:
            histo = HistogramProto(min=-1, max=1, num=60, sum=1, bucket_limit=range(60), bucket=[1.0] * 60)
            image = Summary.Image(height=64, width=64, colorspace=3, encoded_image_string=bytes(range(256)) * 40)
            values = [Summary.Value(tag="weights", histo=histo), Summary.Value(tag="samples", image=image)]
            for value in values:
                yield Event(wall_time=1.7e9 + written / 100, step=step, summary=Summary(value=[value]))
        step += 1


def accumulate(folder: Path) -> dict[str, list[float]]:
    """Values by tag with tensorboard's own reader."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    kept = dict.fromkeys(("scalars", "histograms", "images"), 0)
    accumulator = EventAccumulator(str(folder), size_guidance=kept).Reload()
    return {tag: [event.value for event in accumulator.Scalars(tag)] for tag in accumulator.Tags()["scalars"]}


def read(folder: Path) -> dict[str, array[float]]:
    """Values by tag with the reader of the project."""
    from experiment_debugger.readers.tensorboard.reader import read_events

    return {series.key: series.values for series in read_events(list(folder.iterdir()))}


def same(first: Sequence[float], second: Sequence[float]) -> bool:
    """Whether two series are equal, NaNs included."""
    return array("d", first).tobytes() == array("d", second).tobytes()


def cpu(reader: Callable[[Path], Values], folder: Path) -> tuple[float, Values]:
    """CPU seconds of one reading, without imports."""
    before = time.process_time()
    result = reader(folder)
    return time.process_time() - before, result


def main() -> None:
    """Measure and print."""
    points = int(sys.argv[1]) if len(sys.argv) > 1 else POINTS
    with tempfile.TemporaryDirectory() as name:
        small, large = Path(name) / "small", Path(name) / "large"
        small.mkdir()
        large.mkdir()
        write_events(small, 1000)
        size = write_events(large, points).stat().st_size
        read(small), accumulate(small)  # imports
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        own, found = cpu(read, large)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        theirs, expected = cpu(accumulate, large)
    assert found.keys() == expected.keys()
    assert all(same(found[tag], expected[tag]) for tag in found)
    count = sum(map(len, found.values()))
    print(
        f"event file, {size / 1e6:.0f} MB, {count:,} points: {own:.2f} s CPU, {grown >> 10} MB more memory; "
        f"EventAccumulator: {theirs:.2f} s; ratio 1/{theirs / own:.0f}"
    )


if __name__ == "__main__":
    main()
