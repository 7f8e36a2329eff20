"""Event files: values as tensorboard reads them, order, restarts, damage, histograms, settings, hostile input."""

from __future__ import annotations

import io
import math
import struct
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import masked_crc32c
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData, SessionStartInfo
from tensorboard.summary.writer.event_file_writer import EventFileWriter
from tensorboard.summary.writer.record_writer import RecordWriter
from tensorboard.util.tensor_util import make_ndarray

from experiment_debugger.errors import UnreadableArtifact
from experiment_debugger.readers.numbers import has_numbers, read_numbers
from experiment_debugger.readers.series import Recorded
from experiment_debugger.readers.tensorboard import points, reader, tfrecords
from experiment_debugger.readers.tensorboard.crc32c import crc32c, masked
from experiment_debugger.readers.tensorboard.reader import read_events

ARTIFACTS = Path(__file__).parents[1] / "artifacts"
STORED = sorted({path.parent for path in ARTIFACTS.rglob("events.out.tfevents.*")})
NAME = "events.out.tfevents.1796051497.node01.1.0"
START = 1_796_051_497.0
Value = Summary.Value


def event(step: int, *values: Any, time: float | None = None) -> Any:
    return Event(wall_time=START + step if time is None else time, step=step, summary=Summary(value=values))


def scalar(tag: str, value: float) -> Any:
    return Value(tag=tag, simple_value=value)


def tensor(tag: str, value: float, plugin: str = "scalars", dtype: int = 1) -> Any:
    """As `tf.summary.scalar` and torch's `new_style` write it."""
    field: str = {1: "float_val", 2: "double_val", 9: "int64_val"}[dtype]
    content = TensorProto(dtype=dtype, tensor_shape=TensorShapeProto())
    getattr(content, field).append(int(value) if dtype == 9 else value)
    metadata = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name=plugin))
    return Value(tag=tag, tensor=content, metadata=metadata)


def records(events: Iterable[Any]) -> bytes:
    stream = io.BytesIO()
    writer = RecordWriter(stream)
    for one in events:
        writer.write(one.SerializeToString())
    return stream.getvalue()


def frame(payload: bytes, length: int | None = None) -> bytes:
    head = struct.pack("<Q", len(payload) if length is None else length)
    return head + struct.pack("<I", masked_crc32c(head)) + payload + struct.pack("<I", masked_crc32c(payload))


def file(folder: Path, content: bytes, name: str = NAME) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(content)
    return path


def losses(count: int = 100) -> list[Any]:
    return [event(step, scalar("train/loss", 2 / (step + 1))) for step in range(count)]


def points_of(recorded: Recorded) -> int:
    return sum(map(len, recorded))


def columns(recorded: Recorded) -> dict[str, list[tuple[int, float, str]]]:
    """Steps, times and values by key; values as text, because NaN equals nothing."""
    return {
        series.key: list(zip(series.steps, series.times, map(repr, series.values), strict=True)) for series in recorded
    }


def accumulated(folder: Path) -> dict[str, list[tuple[int, float, str]]]:
    """The same with tensorboard's own reader, which is told not to purge what overlaps."""
    accumulator = EventAccumulator(
        str(folder), size_guidance={"scalars": 0, "tensors": 0}, purge_orphaned_data=False
    ).Reload()
    found = {
        tag: [(one.step, one.wall_time, repr(one.value)) for one in accumulator.Scalars(tag)]
        for tag in accumulator.Tags()["scalars"]
    }
    for tag in accumulator.Tags()["tensors"]:
        if accumulator.SummaryMetadata(tag).plugin_data.plugin_name == "scalars":
            tensors = accumulator.Tensors(tag)
            found[tag] = [
                (one.step, one.wall_time, repr(float(make_ndarray(one.tensor_proto).item()))) for one in tensors
            ]
    return found


@pytest.mark.parametrize("folder", STORED, ids=lambda folder: str(folder.relative_to(ARTIFACTS)))
def test_real_files_read_as_tensorboard_reads_them(folder: Path) -> None:
    recorded = read_events([path for path in folder.iterdir() if "tfevents" in path.name])
    assert columns(recorded) == accumulated(folder)
    assert recorded.problems == []


def test_every_way_to_write_a_scalar(tmp_path: Path) -> None:
    writer = EventFileWriter(str(tmp_path))
    for step in [*range(300), 7, 2**40, 2**62]:
        value = {100: math.nan, 101: math.inf, 102: -math.inf}.get(step, 1 / (step + 1))
        writer.add_event(event(step, scalar("loss", value)))
        writer.add_event(event(step, tensor("float", value), time=START + 0.25))
        writer.add_event(event(step, tensor("double", value, dtype=2)))
        writer.add_event(event(step, scalar("a", value), scalar("b", -value), scalar("a", 3.0)))
        writer.add_event(event(-1 - step, tensor("integer", step, dtype=9)))
        writer.add_event(event(step, tensor("drawn by another plugin", value, "pr_curves")))
        writer.add_event(event(step, *(scalar(f"many/{number}", value) for number in range(90))))
    writer.close()
    recorded = read_events(list(tmp_path.iterdir()))
    assert columns(recorded) == accumulated(tmp_path)
    assert (recorded.problems, recorded.records) == ([], 7 * 303 + 1)


def test_a_tensor_whose_plugin_only_its_first_event_names(tmp_path: Path) -> None:
    first, *others = [tensor("loss", float(step)) for step in range(50)]
    for other in others:
        other.ClearField("metadata")
    recorded = read_events([file(tmp_path, records(event(step, one) for step, one in enumerate([first, *others])))])
    assert list(recorded.of("loss").values) == [float(step) for step in range(50)]


def test_blocks_and_records_meet_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = file(tmp_path, records(losses()))
    whole = columns(read_events([path]))
    for size in (RECORD, RECORD + 1, 1000, 1001):
        monkeypatch.setattr(tfrecords, "BLOCK", size)
        assert columns(read_events([path])) == whole


def test_series_come_in_order_of_their_first_point(tmp_path: Path) -> None:
    names = ["a-much-longer-name", "z", "middling", "b"]
    events = [event(step, scalar(name, 1.0)) for step in range(40) for name in names]
    assert [series.key for series in read_events([file(tmp_path, records(events))])] == names


def test_files_come_in_order_of_time_and_steps_may_go_backwards(tmp_path: Path) -> None:
    first = file(tmp_path, records(losses(60)), "events.out.tfevents.9999999999.node02.2.0")
    again = [event(step, scalar("train/loss", 9.0), time=START + 1000 + step) for step in range(40, 70)]
    second = file(tmp_path, records(again), "events.out.tfevents.1111111111.node01.1.0")
    recorded = read_events([second, first])
    (series,) = recorded
    assert list(series.steps) == [*range(60), *range(40, 70)]
    assert [(one.name, one.first_step, one.last_step, one.points) for one in recorded.segments] == [
        (first.name, 0, 59, 60),
        (second.name, 40, 69, 30),
    ]
    assert (recorded.segments[1].first_time, recorded.segments[1].last_time) == (START + 1040, START + 1069)


@pytest.mark.parametrize(
    ("folder", "key", "evaluation"),
    [
        ("validation", "epoch_loss", True),
        ("train", "epoch_loss", False),
        ("loss_val", "loss", True),
        ("exp-8", "val/loss", True),
        ("exp-8", "loss", False),
        ("test_run_3", "loss", False),
    ],
)
def test_the_folder_or_the_key_says_whether_it_is_an_evaluation(
    tmp_path: Path, folder: str, key: str, *, evaluation: bool
) -> None:
    (series,) = read_events([file(tmp_path / folder, records([event(1, scalar(key, 1.0))]))])
    assert (series.evaluation, series.role) == (evaluation, "eval-loss" if evaluation else "loss")


def test_a_run_that_is_called_test_and_has_a_learning_rate_is_a_run(tmp_path: Path) -> None:
    path = file(tmp_path / "test", records([event(1, scalar("loss", 1.0)), event(1, scalar("lr", 0.1))]))
    assert [(series.key, series.evaluation) for series in read_events([path])] == [("loss", False), ("lr", False)]


WHOLE = records(losses())
RECORD = len(records(losses()[50:51]))
MIDDLE = WHOLE.index(records(losses()[50:51]))


@pytest.mark.parametrize(
    ("content", "points", "problem"),
    [
        (WHOLE[: MIDDLE + 5], 50, "the last record is cut off (5 bytes)"),
        (WHOLE[: MIDDLE + 30], 50, "the last record is cut off (30 bytes)"),
        (WHOLE + bytes(4096), 100, "1 damaged record, 4,096 bytes passed over"),
        (WHOLE + b"\xa5" * 999, 100, "1 damaged record, 999 bytes passed over"),
        (b"\xa5" * 999 + WHOLE, 100, "1 damaged record, 999 bytes passed over"),
        (WHOLE[:MIDDLE] + bytes(3 * RECORD) + WHOLE[MIDDLE + 3 * RECORD :], 97, f"1 damaged record, {3 * RECORD}"),
        (WHOLE[:MIDDLE] + WHOLE[MIDDLE + 9 :], 99, f"1 damaged record, {RECORD - 9} bytes passed over"),
        (WHOLE[: MIDDLE + 20] + WHOLE[MIDDLE + 29 :], 99, f"1 damaged record, {RECORD - 9} bytes passed over"),
        (WHOLE[: MIDDLE + 20] + b"xyz" + WHOLE[MIDDLE + 20 :], 99, f"1 damaged record, {RECORD + 3} bytes passed over"),
        (WHOLE[:MIDDLE] + frame(b"")[:12] + WHOLE[MIDDLE:], 100, "1 damaged record, 12 bytes passed over"),
        (WHOLE[:MIDDLE] + frame(b"", 1 << 60) + WHOLE[MIDDLE:], 100, "1 damaged record, 16 bytes passed over"),
        (WHOLE[:MIDDLE] + frame(b"", 1 << 25) + WHOLE[MIDDLE:], 100, "1 damaged record, 16 bytes passed over"),
        (b"", 0, "the file is empty"),
    ],
)
def test_damage_costs_what_is_damaged_and_is_reported(
    tmp_path: Path, content: bytes, points: int, problem: str
) -> None:
    recorded = read_events([file(tmp_path, content)])
    assert points_of(recorded) == points
    assert len(recorded.problems) == 1
    assert problem in recorded.problems[0]


@pytest.mark.parametrize("count", [3, 100])
def test_no_flipped_bit_goes_unnoticed(tmp_path: Path, count: int) -> None:
    """Of the second record, each bit; with three records they are walked, with a hundred they are compared in bulk."""
    content = records(losses(count))
    begin = len(records(losses(1)))
    expected = columns(read_events([file(tmp_path, content)]))["train/loss"]
    for bit in range(8 * begin, 8 * (begin + RECORD)):
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << bit % 8
        recorded = read_events([file(tmp_path, bytes(damaged))])
        assert columns(recorded)["train/loss"] == expected[:1] + expected[2:]
        assert recorded.problems[0].startswith("1 damaged record")


def test_problems_of_several_files_name_theirs(tmp_path: Path) -> None:
    paths = [
        file(tmp_path, WHOLE[:-3]),
        file(tmp_path, b"", "events.out.tfevents.2.b"),
        tmp_path / "events.out.tfevents.3.c",
    ]
    assert read_events(paths).problems == [
        "events.out.tfevents.2.b: the file is empty",
        f"{NAME}: the last record is cut off ({RECORD - 3} bytes)",
        "events.out.tfevents.3.c: expected a readable file, found: No such file or directory",
    ]


@pytest.mark.parametrize("content", [b"step 1 loss 2.0\n" * 1000, bytes(100_000)])
def test_what_holds_no_record_is_unreadable(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(UnreadableArtifact, match="expected TensorBoard records, found none"):
        read_events([file(tmp_path, content)])
    with pytest.raises(UnreadableArtifact):
        read_events([tmp_path / "gone"])


def test_histograms_are_thinned_evenly(tmp_path: Path) -> None:
    histo = HistogramProto(min=-1, max=2, num=7, sum=3, sum_squares=5, bucket_limit=[0.0, 2.0], bucket=[3.0, 4.0])
    events = [event(step, Value(tag="weights", histo=histo), scalar("loss", 1.0)) for step in range(1000)]
    recorded = read_events([file(tmp_path, records([event(0, Value(tag="rare", histo=histo)), *events]))])
    rare, *many = recorded.histograms
    assert rare.edges == (0.0, 2.0)
    assert rare.counts == (3.0, 4.0)
    assert (rare.minimum, rare.maximum, rare.count, rare.total, rare.total_of_squares) == (-1, 2, 7, 3, 5)
    assert 32 <= len(many) <= 64
    assert (many[0].step, many[-1].step) == (0, 999)
    assert {after.step - before.step for before, after in pairwise(many[:-1])} == {16}
    assert points_of(recorded) == 1000


def test_a_histogram_of_tensorflow_2(tmp_path: Path) -> None:
    shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=2), TensorShapeProto.Dim(size=3)])
    buckets = struct.pack("<6d", -1, 0, 3, 0, 2, 4)
    metadata = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="histograms"))
    value = Value(tag="w", tensor=TensorProto(dtype=2, tensor_shape=shape, tensor_content=buckets), metadata=metadata)
    (histogram,) = read_events([file(tmp_path, records([event(3, value)]))]).histograms
    assert (histogram.key, histogram.step, histogram.minimum, histogram.maximum, histogram.count) == ("w", 3, -1, 2, 7)
    assert (histogram.edges, histogram.counts) == ((0.0, 2.0), (3.0, 4.0))


def test_hyper_parameters_of_lightning() -> None:
    folder = ARTIFACTS / "healthy/projects/lightning-tensorboard/lightning_logs/version_0"
    recorded = read_events(sorted(folder.glob("events.*")))
    assert recorded.settings == {"classes": 4, "lr": 0.01, "slow": 0}
    assert len(recorded.segments) == 2


def test_hyper_parameters_of_tensorboards_own_plugin(tmp_path: Path) -> None:
    info = SessionStartInfo()
    info.hparams["lr"].number_value = 0.1
    info.hparams["batch"].number_value = 32
    info.hparams["opt"].string_value = "adam"
    info.hparams["amp"].bool_value = True
    data = HParamsPluginData(session_start_info=info).SerializeToString()
    plugin = SummaryMetadata.PluginData(plugin_name="hparams", content=data)
    value = Value(tag="_hparams_/session_start_info", metadata=SummaryMetadata(plugin_data=plugin))
    recorded = read_events([file(tmp_path, records([event(0, value)]))])
    assert recorded.settings == {"lr": 0.1, "opt": "adam", "amp": True, "batch": 32}


def test_arguments_of_the_trainer_of_transformers() -> None:
    (path,) = (ARTIFACTS / "numbers/projects/zero-loss-hf-tensorboard").rglob("events.*")
    recorded = read_events([path])
    assert recorded.settings["learning_rate"] == 0.003
    assert (recorded.planned_steps, recorded.planned_epochs) == (120, None)


def test_arguments_in_a_table_of_markdown(tmp_path: Path) -> None:
    text = "|param|value|\n|-|-|\n|seed|1|\n|cuda|True|\n|env_id|CartPole-v1|"
    metadata = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="text"))
    content = TensorProto(dtype=7, string_val=[text.encode()])
    value = Value(tag="hyperparameters/text_summary", tensor=content, metadata=metadata)
    note = Value(tag="note/text_summary", tensor=TensorProto(dtype=7, string_val=[b"hello"]), metadata=metadata)
    recorded = read_events([file(tmp_path, records([event(0, value), event(0, note)]))])
    assert recorded.settings == {"seed": 1, "cuda": True, "env_id": "CartPole-v1"}


def test_more_tags_than_anyone_logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(points, "MOST_TAGS", 10)
    recorded = read_events([file(tmp_path, records(event(1, scalar(f"tag-{i}", 1.0)) for i in range(300)))])
    assert len(list(recorded)) == 10
    assert recorded.problems == ["290 points of more than 5,000 tags were left out"]


def test_tags_and_records_as_long_as_books(tmp_path: Path) -> None:
    content = records([event(1, scalar("x" * size, 1.0)) for size in (10_000, 10_000_000)])
    recorded = read_events([file(tmp_path, content + WHOLE)])
    assert points_of(recorded) == 100
    assert recorded.problems == [
        "1 record longer than 4 MiB: not looked at",
        "1 points of very long tags were left out",
    ]


def test_a_file_of_too_many_points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "MOST_POINTS", 50)
    monkeypatch.setattr(tfrecords, "BLOCK", 1000)
    recorded = read_events([file(tmp_path, WHOLE)])
    assert 50 <= points_of(recorded) < 100
    assert recorded.problems == [f"reading stopped after {points_of(recorded)} points"]


def test_a_hole_that_does_not_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = file(tmp_path, WHOLE)
    monkeypatch.setattr(tfrecords, "LONGEST_HOLE", 64 << 20)
    with path.open("r+b") as stream:
        stream.truncate(1 << 40)
    recorded = read_events([path])
    assert points_of(recorded) == 100
    assert "reading stopped" in recorded.problems[-1]


def test_nesting_without_end(tmp_path: Path) -> None:
    nested = b""
    for _ in range(60):
        nested = b"\x0a" + bytes([len(nested)]) + nested if len(nested) < 126 else nested
    payload = b"\x2a" + bytes([len(nested)]) + nested
    assert points_of(read_events([file(tmp_path, frame(payload) * 50 + WHOLE)])) == 100


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    payloads=st.lists(st.binary(max_size=60), max_size=30),
    tail=st.binary(max_size=100),
    cuts=st.lists(st.tuples(st.integers(0, len(WHOLE)), st.binary(max_size=20)), max_size=5),
)
def test_any_bytes_are_read_or_unreadable(
    tmp_path: Path, payloads: list[bytes], tail: bytes, cuts: list[tuple[int, bytes]]
) -> None:
    content = WHOLE
    for at, patch in cuts:
        content = content[:at] + patch + content[at + len(patch) :]
    for data in (tail, content + tail, b"".join(map(frame, payloads)) + tail):
        try:
            recorded = read_events([file(tmp_path, data)])
        except UnreadableArtifact:
            continue
        assert all(len(series.steps) == len(series.times) == len(series.lines) == len(series) for series in recorded)


@given(st.binary(max_size=9000))
def test_checksums_are_those_of_tensorboard(data: bytes) -> None:
    assert masked(crc32c(data)) == masked_crc32c(data)


def test_the_registry_of_sources_knows_event_files() -> None:
    (path,) = (ARTIFACTS / "projects/tensorboard-nan/runs").rglob("events.*")
    assert has_numbers(path, "tensorboard")
    recorded = read_numbers([path], "tensorboard")
    loss = recorded.of("train/loss")
    first = loss.nonfinite_from()
    assert first is not None
    assert (loss.role, loss.axis, math.isnan(loss.values[-1])) == ("loss", "step", True)
    assert recorded.bytes == path.stat().st_size
