"""Traces of torch.profiler, `<worker>.<time>.pt.trace.json[.gz]`: time of a step, wait for data, busy GPU time.

    "ph": "X", "cat": "user_annotation", "name": "ProfilerStep#2", "pid": 19650, "tid": 19650,
    "ts": 5205495215708.372, "dur": 2945.713                                      (microseconds)

The text is searched for events as kineto writes them, never parsed as a whole; at most `MOST_BYTES` unpacked bytes.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO

from experiment_debugger.errors import UnreadableArtifact
from experiment_debugger.readers.lines import read_block
from experiment_debugger.readers.series import Recorded

MOST_BYTES = 64 << 20
BLOCK_BYTES = 1 << 20
LONGEST_EVENT = 1 << 14  # bytes from "ph" to "dur"; names of C++ templates are long
_EVENT = re.compile(
    rb'"ph": ?"X",\s*"cat": ?"(?P<category>\w{1,40})",\s*"name": ?"(?P<name>(?:[^"\\]|\\.){0,8000})",'
    rb'\s*"pid": ?"?(?P<device>[\w. -]{1,80})"?,\s*"tid": ?"?[\w. -]{1,80}"?,'
    rb'\s*"ts": ?(?P<start>\d{1,20}(?:\.\d{1,9})?),\s*"dur": ?(?P<length>\d{1,20}(?:\.\d{1,9})?)'
)
_STEP = re.compile(rb"ProfilerStep#(\d{1,18})$")
_DATA = re.compile(rb"enumerate\(DataLoader\)#\w+\.__next__$")
_DEVICE_WORK = frozenset({b"kernel", b"Kernel", b"gpu_memcpy", b"Memcpy", b"gpu_memset", b"Memset"})
_RANK = re.compile(rb'"distributedInfo": ?\{[^}]{0,2000}"rank": ?(\d{1,6})')


@dataclass(slots=True)
class _Spans:
    """Intervals of one kind, in microseconds."""

    starts: array[float] = field(default_factory=lambda: array("d"))
    ends: array[float] = field(default_factory=lambda: array("d"))

    def add(self, start: float, length: float) -> None:
        self.starts.append(start)
        self.ends.append(start + length)

    def within(self, start: float, end: float) -> float:
        """How much of the window is covered; `merged` spans only."""
        covered = 0.0
        for at in range(bisect_right(self.ends, start), bisect_left(self.starts, end)):
            covered += min(self.ends[at], end) - max(self.starts[at], start)
        return covered

    def merged(self) -> _Spans:
        """The same time as spans in order that do not overlap: kernels of several streams run at once."""
        joined = _Spans()
        for start, end in sorted(zip(self.starts, self.ends, strict=True)):
            if joined.ends and start <= joined.ends[-1]:
                joined.ends[-1] = max(joined.ends[-1], end)
            else:
                joined.starts.append(start)
                joined.ends.append(end)
        return joined


@dataclass(slots=True)
class _Trace:
    """The events that are counted."""

    steps: dict[int, tuple[float, float]] = field(default_factory=dict)
    data: _Spans = field(default_factory=_Spans)
    devices: dict[bytes, _Spans] = field(default_factory=dict)
    rank: int | None = None

    def take(self, event: re.Match[bytes]) -> None:
        category, name = event["category"], event["name"]
        start, length = float(event["start"]), float(event["length"])
        if category in _DEVICE_WORK:
            self.devices.setdefault(event["device"], _Spans()).add(start, length)
        elif category.startswith(b"gpu_"):
            return  # the same annotations once more, on the time line of the GPU
        elif step := _STEP.match(name):
            self.steps[int(step.group(1))] = start, start + length
        elif _DATA.match(name):
            self.data.add(start, length)


def read_trace(stream: IO[bytes]) -> Recorded:
    """One series each of step time, data time and share of busy device time; raises where there is no event."""
    recorded, trace, events = Recorded(), _Trace(), 0
    for text in _texts(stream, recorded):
        if trace.rank is None and (rank := _RANK.search(text)):
            trace.rank = int(rank.group(1))
        for event in _EVENT.finditer(text):
            trace.take(event)
            events += 1
    recorded.records = events
    if not events:
        raise UnreadableArtifact("expected a trace of torch.profiler, found no event of one")
    if not trace.steps:
        recorded.problems.append("no ProfilerStep in the trace: profiler.step() was not called while it recorded")
    _measure(recorded, trace)
    return recorded


def _texts(stream: IO[bytes], recorded: Recorded) -> Iterator[bytes]:
    """Pieces of the text that begin and end between events."""
    rest = b""
    while recorded.bytes < MOST_BYTES:
        block, problem = read_block(stream, BLOCK_BYTES)
        if problem:
            recorded.problems.append(problem)
        if not block:
            break
        recorded.bytes += len(block)
        text = rest + block
        cut = text.rfind(b'"ph":', max(0, len(text) - LONGEST_EVENT))
        cut = cut if cut > 0 else len(text)
        yield text[:cut]
        rest = text[cut:]
    else:
        recorded.problems.append(f"only the first {MOST_BYTES >> 20} MB are read")
    yield rest


def _measure(recorded: Recorded, trace: _Trace) -> None:
    data = trace.data.merged()
    devices = [spans.merged() for spans in trace.devices.values()]
    for step, (start, end) in sorted(trace.steps.items()):
        _add(recorded, trace, "profiler/step_ms", "step-time", step, (end - start) / 1000)
        if data.starts:
            _add(recorded, trace, "profiler/data_ms", "data-time", step, data.within(start, end) / 1000)
        if devices and end > start:
            busy = sum(spans.within(start, end) for spans in devices) / len(devices)
            _add(recorded, trace, "profiler/device_busy_percent", "gpu-utilisation", step, 100 * busy / (end - start))


def _add(recorded: Recorded, trace: _Trace, key: str, role: str, step: int, value: float) -> None:
    series = recorded.of(key, rank=trace.rank, evaluation=False)
    series.role = role
    series.add(step, value)
