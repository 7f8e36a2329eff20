"""W&B runs in a local folder: record files as wandb leaves them, damaged ones, and made to hurt."""

from __future__ import annotations

import json
import math
import os
import shutil
import tracemalloc
from collections.abc import Iterable
from pathlib import Path
from struct import pack
from zlib import crc32

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from experiment_debugger.errors import UnreadableArtifact
from experiment_debugger.readers.files import open_artifact, sniff
from experiment_debugger.readers.numbers import has_numbers, read_numbers
from experiment_debugger.readers.series import Recorded, Series
from experiment_debugger.readers.wandb.reader import read_wandb
from experiment_debugger.readers.wandb.records import BLOCK, LONGEST_RECORD, RecordFile
from experiment_debugger.readers.wandb.rows import MOST_KEYS, Rows

FILES = Path(__file__).parent / "files" / "wandb"
EXIT_3, KILLED, SYNCED = FILES / "exit-3.wandb", FILES / "killed.wandb", FILES / "synced" / "files"
CRASH = Path(__file__).parents[1] / "artifacts" / "projects" / "wandb-offline-crash"
CRASHED = next(CRASH.rglob("*.wandb"))
HEADER = b":W&B\xe1\xbe\x00"


def records_of(path: Path) -> list[bytes]:
    with path.open("rb") as stream:
        return list(RecordFile(stream))


def framed(records: Iterable[bytes]) -> bytes:
    """A record file in LevelDB's log format."""
    content = bytearray(HEADER)
    for record in records:
        rest, is_first = record, True
        while is_first or rest:
            room = BLOCK - len(content) % BLOCK - 7
            if room < 0:
                content += bytes(room + 7)
                continue
            part, rest = rest[:room], rest[room:]
            kind = bytes([(2 if rest else 1) if is_first else (3 if rest else 4)])
            content += pack("<IH", crc32(kind + part), len(part)) + kind + part
            is_first = False
    return bytes(content)


def number(value: int) -> bytes:
    low = value & 0x7F
    return bytes([low]) if value < 0x80 else bytes([low | 0x80]) + number(value >> 7)


def part(field: int, value: bytes) -> bytes:
    return number(field << 3 | 2) + number(len(value)) + value


def history(*cells: tuple[str, str]) -> bytes:
    """A record with one row."""
    items = (part(1, part(2, key.encode()) + part(16, value.encode())) for key, value in cells)
    return part(2, b"".join(items))


def read(folder: Path, content: bytes) -> Recorded:
    path = folder / "run-ab12cd.wandb"
    path.write_bytes(content)
    return read_wandb(path)


def series(recorded: Recorded, key: str) -> Series:
    return next(one for one in recorded if one.key == key)


def console(path: Path) -> bytes:
    with open_artifact(path) as stream:
        return stream.read()


# What wandb wrote


@pytest.mark.parametrize(("path", "rows"), [(EXIT_3, 6), (KILLED, 69)], ids=["0.31", "0.16"])
def test_history_is_what_the_program_logged(path: Path, rows: int) -> None:
    """Nested metrics are one item a leaf since 0.18 and JSON before; both read the same."""
    recorded = read_wandb(path)
    loss = series(recorded, "train.loss")
    assert list(loss.values)[:4] == [1, 1 / 2, 1 / 3, 1 / 4]
    assert all(math.isnan(value) for value in loss.values[4:])
    assert list(loss.steps) == [10 * (i + 1) for i in range(rows)]
    assert (loss.role, loss.axis, loss.evaluation) == ("loss", "step", False)
    assert list(series(recorded, "train.deep.kl").values) == list(range(rows))
    assert list(series(recorded, "up").values) == [math.inf] * rows
    assert list(series(recorded, "down").values) == [-math.inf] * rows
    assert list(series(recorded, "big").values) == [2.0**70] * rows
    logged = {"train.loss", "train.deep.kl", "lr", "a.b", "big", "up", "down", "val/loss"}
    assert {one.key for one in recorded if not one.key.startswith("system.")} == logged
    assert recorded.problems == []


@pytest.mark.parametrize("path", [EXIT_3, KILLED, CRASHED], ids=["0.31", "0.16", "crash"])
def test_points_have_the_time_of_their_row(path: Path) -> None:
    for one in read_wandb(path):
        assert len(one.times) == len(one.steps) == len(one.lines) == len(one.values)
        assert all(1.79e9 < time < 1.8e9 for time in one.times)
        assert list(one.times) == sorted(one.times)


def test_a_row_without_the_optimizer_step_stands_at_the_last_one() -> None:
    assert list(series(read_wandb(EXIT_3), "val/loss").steps) == [30]


def test_log_calls_are_the_steps_where_nothing_else_is_logged() -> None:
    recorded = read_wandb(CRASHED)
    assert list(series(recorded, "train/loss").steps) == list(range(1, 61))
    assert series(recorded, "train/grad_norm").role == "grad-norm"


def test_a_rare_optimizer_step_does_not_lump_the_other_rows_together(tmp_path: Path) -> None:
    rows = [history(("loss", "1"), ("_step", str(i))) for i in range(9)]
    rows.append(history(("global_step", "500"), ("acc", "0.5"), ("_step", "9")))
    recorded = read(tmp_path, framed(rows))
    assert list(series(recorded, "loss").steps) == list(range(9))
    assert list(series(recorded, "acc").steps) == [9]


def test_rows_in_front_of_the_first_optimizer_step_have_none(tmp_path: Path) -> None:
    rows = [history(("acc", "0.1"), ("_step", "0"))]
    rows += [history(("train/global_step", str(100 * i)), ("loss", "1"), ("_step", str(i))) for i in (1, 2)]
    recorded = read(tmp_path, framed(rows))
    assert list(series(recorded, "acc").steps) == [-1]
    assert list(series(recorded, "loss").steps) == [100, 200]


def test_system_statistics_have_the_names_that_wandb_shows() -> None:
    recorded = read_wandb(CRASHED)
    memory = series(recorded, "system.proc.memory.rssMB")
    assert (list(memory.values), memory.role, memory.axis) == ([299.921875], "host-memory", "record")
    assert list(memory.times) == pytest.approx([1796051478.996735])


def test_config_is_dotted_and_without_what_wandb_keeps_there() -> None:
    expected = {"optimizer.lr": 0.1, "optimizer.betas": [0.9, 0.99], "batch_size": 8}
    assert read_wandb(EXIT_3).settings == read_wandb(KILLED).settings == expected


def test_a_config_item_is_replaced_and_removed(tmp_path: Path) -> None:
    def item(key: bytes, value: bytes) -> bytes:
        return part(1, key) + part(16, value)

    changes = part(5, part(1, item(b"optimizer", b'{"lr": 0.2}')) + part(2, item(b"batch_size", b"")))
    assert read(tmp_path, framed([*records_of(EXIT_3), changes])).settings == {"optimizer.lr": 0.2}


def test_facts_of_a_run_that_failed() -> None:
    facts = read_wandb(EXIT_3).facts
    assert (facts["exit_code"], facts["state"]) == ("3", "failed")
    assert facts["command"] == "python /workspace/proj/train.py 6 3"
    assert (facts["python"], facts["wandb"], facts["name"]) == ("3.11.7", "0.31.0", "cnn")
    assert "host" not in facts


def test_exit_code_0_is_not_written_out(tmp_path: Path) -> None:
    facts = read(tmp_path, framed([part(18, b"\x18\x01")])).facts
    assert (facts["exit_code"], facts["state"]) == ("0", "finished")


def test_a_negative_exit_code_is_read_as_such(tmp_path: Path) -> None:
    minus_9 = b"\x08" + number((1 << 64) - 9)
    assert read(tmp_path, framed([part(18, minus_9)])).facts["exit_code"] == "-9"


def test_a_killed_run_has_no_exit_code_and_its_end_is_no_problem() -> None:
    recorded = read_wandb(KILLED)
    assert "exit_code" not in recorded.facts
    assert recorded.facts["state"].startswith("no exit code, ends in the middle of a record: killed")
    assert recorded.problems == []


def test_without_history_the_last_summary_gives_one_point_a_key(tmp_path: Path) -> None:
    records = [record for record in records_of(CRASHED) if not record[2:].startswith(b"\x12")]
    without_rows = [record for record in records if b"\x12" not in record[:4]]
    recorded = read(tmp_path, framed(without_rows))
    loss = series(recorded, "train/loss")
    assert (list(loss.steps), list(loss.values)) == ([60], [0.06359152495861053])


# The console


def test_the_console_of_a_crash_is_its_output_log() -> None:
    assert console(CRASHED) == (CRASHED.parent / "files" / "output.log").read_bytes()


def test_progress_bars_stay_one_line_and_pieces_are_joined() -> None:
    lines = console(EXIT_3).decode().split("\n")
    assert lines[0] == "start of training, 100 µs a step"
    assert lines[1:7] == ["\r1/3 it\r2/3 it\r3/3 it"] * 6
    assert lines[7].startswith("half a linewandb: WARNING Tried to log to step 2 that is less than the current step 7.")


def test_the_console_can_be_read_in_small_pieces() -> None:
    with open_artifact(CRASHED) as stream:
        pieces = list(iter(lambda: stream.read(7), b""))
    assert b"".join(pieces) == console(CRASHED)
    assert max(map(len, pieces)) == 7
    assert sniff(CRASHED) == console(CRASHED)


def test_a_long_console_costs_little_memory(tmp_path: Path) -> None:
    line = part(13, part(3, b"x" * 1000 + b"\n"))
    path = tmp_path / "run-ab12cd.wandb"
    path.write_bytes(framed([line] * 20_000))
    tracemalloc.start()
    with open_artifact(path) as stream:
        size = sum(map(len, iter(lambda: stream.read(1 << 16), b"")))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert size == 20_000 * 1001
    assert peak < 6 << 20


# The files of a synced run


def test_metadata_gives_command_and_commit() -> None:
    facts = read_wandb(SYNCED / "wandb-metadata.json").facts
    assert facts["command"] == "python /workspace/proj/train.py 6 0"
    assert facts["commit"] == "fa423be6caebdce5ea58bd37d1cfa77d4beb36e7"
    assert facts["python"] == "3.11.7"
    assert not {"host", "state", "exit_code"} & set(facts)


def test_config_yaml_gives_the_settings() -> None:
    expected = {"optimizer.lr": 0.1, "optimizer.betas": [0.9, 0.99], "batch_size": 8}
    assert read_wandb(SYNCED / "config.yaml").settings == expected


def test_a_summary_is_one_point_a_key(tmp_path: Path) -> None:
    summary = {"_step": 7, "_timestamp": 5.0, "loss": "NaN", "val": {"acc": 0.5}, "h": {"_type": "histogram", "n": 1}}
    path = tmp_path / "wandb-summary.json"
    path.write_text(json.dumps(summary), encoding="utf-8")
    recorded = read_wandb(path)
    assert [one.key for one in recorded] == ["loss", "val.acc"]
    assert math.isnan(series(recorded, "loss").values[0])
    accuracy = series(recorded, "val.acc")
    assert (accuracy.steps[0], accuracy.values[0], accuracy.times[0]) == (7, 0.5, 5.0)


@pytest.mark.parametrize("text", ["", "[1]", "{", "[" * 100_000, "\x00"])
def test_a_broken_summary_is_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "wandb-summary.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UnreadableArtifact, match="expected"):
        read_wandb(path)


def test_files_count_only_where_no_record_file_is_left(tmp_path: Path) -> None:
    folder = tmp_path / "run-20261130_151118-z6nxraci"
    shutil.copytree(SYNCED, folder / "files")
    metadata, run = folder / "files" / "wandb-metadata.json", folder / "run-z6nxraci.wandb"
    assert has_numbers(metadata, "wandb")
    shutil.copy(EXIT_3, run)
    assert not has_numbers(metadata, "wandb")
    assert has_numbers(run, "wandb")
    assert not has_numbers(folder / "logs" / "debug.log", "wandb")
    assert read_numbers([run], "wandb").facts["exit_code"] == "3"


# Damage


def several_blocks() -> bytes:
    """A sound file of more than three blocks."""
    return framed(records_of(CRASHED) * 5)


def test_records_over_block_ends_are_joined(tmp_path: Path) -> None:
    recorded = read(tmp_path, several_blocks())
    assert recorded.problems == []
    assert recorded.bytes > 3 * BLOCK
    assert len(series(recorded, "train/loss")) == 300


@pytest.mark.parametrize("at", [0, 3, 7, 9, 11, 13, 40, BLOCK - 1, BLOCK, BLOCK + 5, 2 * BLOCK + 1000])
def test_a_flipped_byte_costs_one_block_at_most(tmp_path: Path, at: int) -> None:
    sound = several_blocks()
    damaged = bytearray(sound)
    damaged[at] ^= 0x55
    recorded = read(tmp_path, bytes(damaged))
    lost = 300 - len(series(recorded, "train/loss"))
    assert lost <= 1.1 * 300 * BLOCK / len(sound)  # with the record that ends in the block
    assert len(recorded.problems) == (at >= 7)
    assert all(line.startswith("1 damaged place (") for line in recorded.problems)


@pytest.mark.parametrize("size", [100, 9000, BLOCK, 70_000])
def test_a_hole_of_zeros_costs_what_stood_there(tmp_path: Path, size: int) -> None:
    sound = several_blocks()
    recorded = read(tmp_path, sound[:20_000] + bytes(size) + sound[20_000 + size :])
    assert len(recorded.problems) == 1
    assert "1 damaged place (" in recorded.problems[0]
    kept = len(series(recorded, "train/loss"))
    assert 300 * (1 - (size + 2 * BLOCK) / len(sound)) <= kept < 300


@pytest.mark.parametrize("cut", [1, 100, 5000, 30_000])
def test_a_file_cut_in_a_record_keeps_all_in_front(tmp_path: Path, cut: int) -> None:
    recorded = read(tmp_path, several_blocks()[:-cut])
    assert recorded.problems == []
    assert "ends in the middle of a record" in recorded.facts.get("state", "") or "exit_code" in recorded.facts
    assert len(series(recorded, "train/loss")) >= 300 - cut / 100


def test_garbage_behind_the_records_loses_none(tmp_path: Path) -> None:
    recorded = read(tmp_path, EXIT_3.read_bytes() + bytes(range(8, 256)) * 300)
    assert len(series(recorded, "train.loss")) == 6
    assert recorded.facts["exit_code"] == "3"
    assert [line.split(" (")[0] for line in recorded.problems] == ["1 damaged place"]


@pytest.mark.parametrize("content", [b"", HEADER[:3], HEADER], ids=["empty", "half a header", "header"])
def test_a_run_that_wrote_nothing_yet(tmp_path: Path, content: bytes) -> None:
    """What wandb 0.31 leaves of a run that is killed in its first second is the header."""
    path = tmp_path / "run-ab12cd.wandb"
    path.write_bytes(content)
    recorded = read_wandb(path)
    assert (list(recorded), recorded.problems) == ([], [])
    assert recorded.facts["state"].startswith("nothing recorded")
    assert console(path) == b""


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run-ab12cd.wandb"
    path.write_bytes(b"PK\x03\x04" + bytes(100_000))
    for reader in (read_wandb, console):
        with pytest.raises(UnreadableArtifact, match="expected the records of a W&B run, found other data"):
            reader(path)


def test_what_is_no_regular_file_is_not_opened(tmp_path: Path) -> None:
    path = tmp_path / "run-ab12cd.wandb"
    os.mkfifo(path)
    with pytest.raises(UnreadableArtifact, match="regular file"):
        read_wandb(path)
    with pytest.raises(UnreadableArtifact, match="found"):
        read_wandb(tmp_path / "run-missing.wandb")


# Made to hurt


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=2000))
def test_random_bytes_raise_nothing_else(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    folder = tmp_path_factory.mktemp("random")
    recorded = read(folder, HEADER + content)
    assert recorded.facts["state"]
    assert isinstance(console(folder / "run-ab12cd.wandb"), bytes)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from([2, 3, 4, 5, 7, 13, 17, 18, 21, 23, 26]), st.binary(max_size=60)), max_size=8)
)
def test_sound_records_of_random_bytes_raise_nothing(
    tmp_path_factory: pytest.TempPathFactory, messages: list[tuple[int, bytes]]
) -> None:
    folder = tmp_path_factory.mktemp("random")
    recorded = read(folder, framed(part(field, message) for field, message in messages))
    assert recorded.records == len(messages)
    console(folder / "run-ab12cd.wandb")


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=300), st.floats(), st.text(max_size=300))
def test_every_key_and_number_is_read_back(key: str, value: float, text: str) -> None:
    """Key lengths around 130 among them: that length is encoded like the tag of the value."""
    assume(not key.endswith("._type"))  # marks media
    rows = Rows(0x0A)
    cells = ((key, json.dumps(value)), (f"{key}!", json.dumps(text)))
    for _ in range(3):
        rows.take(history(*cells)[2 if len(history(*cells)) < 130 else 3 :])
    assert json.dumps(list(rows.columns[key].values)) == json.dumps([value] * 3)


@pytest.mark.parametrize("length", [127, 128, 129, 130, 131, 255, 256])
def test_long_keys(tmp_path: Path, length: int) -> None:
    rows = [history(("k" * length, str(i)), ("loss", "1")) for i in range(5)]
    assert list(series(read(tmp_path, framed(rows)), "k" * length).values) == [0, 1, 2, 3, 4]


def test_too_many_keys_are_capped_and_said_so(tmp_path: Path) -> None:
    rows = [history(*((f"k{i}", "1") for i in range(low, low + 1000))) for low in range(0, 100_000, 1000)]
    recorded = read(tmp_path, framed(rows))
    assert len(recorded.series) == MOST_KEYS
    assert recorded.problems == [f"more than {MOST_KEYS} keys; further ones were passed over"]


@pytest.mark.parametrize("value", ['{"a": "' + "x" * 10_000_000 + '"}', "9" * 10_000_000, '"' + "x" * 10_000_000 + '"'])
def test_a_value_of_10_megabytes_costs_its_own_point_only(tmp_path: Path, value: str) -> None:
    rows = [history(("loss", "1")), history(("big", value), ("loss", "2")), history(("loss", "3"))]
    recorded = read(tmp_path, framed(rows))
    assert list(series(recorded, "loss").values) == [1, 2, 3]
    assert recorded.problems == ["1 nested values over 1 MiB passed over"] * value.startswith("{")


def test_deep_nesting_is_no_number(tmp_path: Path) -> None:
    deep = '{"a":' * 100_000 + "1" + "}" * 100_000
    recorded = read(tmp_path, framed([history(("deep", deep), ("loss", "1"))] * 3))
    assert [one.key for one in recorded] == ["loss"]


def test_an_endless_record_is_passed_over(tmp_path: Path) -> None:
    content = bytearray(framed([history(("loss", "1"))]))
    content += bytes(BLOCK - len(content))
    full = b"\x00" * (BLOCK - 7)
    for kind in (b"\2", *[b"\3"] * (LONGEST_RECORD // BLOCK + 2), b"\4"):
        content += pack("<IH", crc32(kind + full), len(full)) + kind + full
    recorded = read(tmp_path, bytes(content) + framed([history(("loss", "2"))])[7:])
    assert list(series(recorded, "loss").values) == [1, 2]
    assert f"1 records over {LONGEST_RECORD >> 20} MiB passed over" in recorded.problems


def test_a_sparse_file_is_given_up(tmp_path: Path) -> None:
    path = tmp_path / "run-ab12cd.wandb"
    shutil.copy(EXIT_3, path)
    os.truncate(path, 1 << 40)
    recorded = read_wandb(path)
    assert len(series(recorded, "train.loss")) == 6
    assert recorded.problems[-1] == "reading stopped: no record in 256 MiB"
