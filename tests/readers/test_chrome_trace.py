"""Traces of torch.profiler; the stored one is of torch 2.13 on a CPU, five steps with a DataLoader."""

from __future__ import annotations

import gzip
import io
import json
import re
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiment_debugger.errors import UnreadableArtifact
from experiment_debugger.readers import chrome_trace
from experiment_debugger.readers.chrome_trace import read_trace
from experiment_debugger.readers.numbers import has_numbers, read_numbers
from experiment_debugger.readers.series import Recorded

(TRACE,) = (Path(__file__).parent / "files").glob("*.pt.trace.json.gz")
TEXT = gzip.decompress(TRACE.read_bytes())


def values(recorded: Recorded, key: str) -> list[tuple[int, float]]:
    (series,) = [one for one in recorded if one.key == key]
    return [(step, round(value, 3)) for step, value in zip(series.steps, series.values, strict=True)]


def events(name: str) -> list[dict[str, float]]:
    return [
        event for event in json.loads(TEXT)["traceEvents"] if event.get("ph") == "X" and re.match(name, event["name"])
    ]


def test_steps_and_waiting_for_data() -> None:
    assert has_numbers(TRACE, "metrics")
    recorded = read_numbers([TRACE], "metrics")
    steps, data = events("ProfilerStep#"), events(r"enumerate\(DataLoader\)")
    assert values(recorded, "profiler/step_ms") == [
        (number, round(event["dur"] / 1000, 3)) for number, event in enumerate(steps, 2)
    ]
    assert [value for _, value in values(recorded, "profiler/data_ms")] == [round(one["dur"] / 1000, 3) for one in data]
    assert [series.role for series in recorded] == ["step-time", "data-time"]
    assert recorded.problems == []


def test_blocks_cut_no_event(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = values(read_trace(io.BytesIO(TEXT)), "profiler/step_ms")
    monkeypatch.setattr(chrome_trace, "BLOCK_BYTES", 1000)
    assert values(read_trace(io.BytesIO(TEXT)), "profiler/step_ms") == whole


def kernel(start: float, length: float, *, name: str = "sgemm", category: str = "kernel") -> str:
    event = {"ph": "X", "cat": category, "name": name, "pid": 0, "tid": 7, "ts": start, "dur": length, "args": {}}
    return json.dumps(event, indent=2)


def test_kernels_of_several_streams_count_once() -> None:
    """Events in the layout of kineto's output_json.cpp; there is no GPU here."""
    step = {
        "ph": "X",
        "cat": "user_annotation",
        "name": "ProfilerStep#3",
        "pid": 9,
        "tid": 9,
        "ts": 100.0,
        "dur": 100.0,
    }
    again = kernel(0, 500, name="ProfilerStep#3", category="gpu_user_annotation")
    kernels = [kernel(90, 20), kernel(120, 20), kernel(130, 20), kernel(190, 50, category="gpu_memcpy")]
    text = (
        ",\n".join([json.dumps(step, indent=2), again, *kernels]) + '"distributedInfo": {"backend": "nccl", "rank": 3, '
    )
    recorded = read_trace(io.BytesIO(text.encode()))
    assert values(recorded, "profiler/step_ms") == [(3, 0.1)]
    assert values(recorded, "profiler/device_busy_percent") == [(3, 50.0)]
    assert {series.rank for series in recorded} == {3}


def test_a_trace_without_steps_says_so() -> None:
    recorded = read_trace(io.BytesIO(kernel(1, 2).encode()))
    assert list(recorded) == []
    assert "no ProfilerStep" in recorded.problems[0]


def test_a_torn_trace_gives_its_beginning() -> None:
    assert values(read_trace(io.BytesIO(TEXT[: len(TEXT) // 2])), "profiler/step_ms")[0][0] == 2


def test_no_more_than_the_cap_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chrome_trace, "MOST_BYTES", 1 << 20)
    recorded = read_trace(io.BytesIO(TEXT + b" " * (3 << 20)))
    assert recorded.bytes <= 2 << 20
    assert recorded.problems == ["only the first 1 MB are read"]


@pytest.mark.parametrize("text", [b"", b"{}", b'"ph": "X", "cat": "' * 200_000, b'"ph": "X",' + b" " * 10_000_000])
def test_what_is_no_trace_is_named(text: bytes) -> None:
    with pytest.raises(UnreadableArtifact):
        read_trace(io.BytesIO(text))


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=100), st.integers(0, len(TEXT)))
def test_never_raises_anything_else(noise: bytes, at: int) -> None:
    with suppress(UnreadableArtifact):
        read_trace(io.BytesIO(TEXT[:at] + noise + TEXT[at + len(noise) :]))
