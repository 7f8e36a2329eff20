"""Values per CPU second of our reader of `.wandb` files against wandb's own protobuf behind the same framing.

    /opt/venv/bin/python tests/benchmarks/wandb_files.py     # an interpreter that has wandb

The file holds, like one that wandb 0.31 writes, two summaries and one row of history for each call of `run.log`.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from array import array
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from struct import pack
from typing import Any, TypeAlias
from zlib import crc32

sys.path.insert(0, str(Path(__file__).parents[2] / "server"))

from experiment_debugger.readers.wandb.reader import read_wandb
from experiment_debugger.readers.wandb.records import BLOCK, HEADER, RecordFile

CALLS, KEYS, REPEATS = 20_000, 8, 5
Values: TypeAlias = "dict[str, array[float]]"


def write_run(path: Path, internal: Any) -> None:
    """A record file of one long run."""
    content = bytearray(b":W&B\xe1\xbe\x00")
    for step in range(CALLS):
        row = {f"train/metric_{key}": 1 / (step + key + 1) for key in range(KEYS)}
        row |= {"_timestamp": 1.796e9 + step, "_runtime": step / 7, "_step": step}
        for kind, items in (("summary", {"_runtime": step // 7}), ("summary", row), ("history", row)):
            record = internal.Record(num=step)
            message = getattr(record, kind)
            for key, value in items.items():
                item = message.item.add() if kind == "history" else message.update.add()
                item.nested_key.append(key)
                item.value_json = json.dumps(value)
            add_record(content, record.SerializeToString())
    path.write_bytes(content)


def add_record(content: bytearray, data: bytes) -> None:
    """One record in LevelDB's log format, cut at the ends of blocks."""
    is_first = True
    while is_first or data:
        room = BLOCK - len(content) % BLOCK - HEADER
        if room < 0:
            content += bytes(room + HEADER)
            room = BLOCK - HEADER
        part, data = data[:room], data[room:]
        kind = bytes([(1 if is_first else 4) if not data else (2 if is_first else 3)])
        content += pack("<IH", crc32(kind + part), len(part)) + kind + part
        is_first = False


def read_with_wandb(path: Path, internal: Any) -> Values:
    """The numbers of the history, decoded by the classes that wandb generates."""
    values: Values = {}
    record = internal.Record()
    with path.open("rb") as stream:
        for data in RecordFile(stream):
            record.ParseFromString(data)
            for item in record.history.item:
                values.setdefault(item.key or ".".join(item.nested_key), array("d")).append(float(item.value_json))
    return values


def read_with_ours(path: Path) -> Values:
    """The same with our reader."""
    return {series.key: series.values for series in read_wandb(path)}


def cheapest(read: Callable[[], Values]) -> float:
    """CPU seconds of the cheapest of a few runs."""
    costs = []
    for _ in range(REPEATS):
        before = time.process_time()
        read()
        costs.append(time.process_time() - before)
    return min(costs)


def main() -> None:
    """Print both rates and their ratio."""
    try:
        internal = import_module("wandb.proto.wandb_internal_pb2")
    except ImportError:
        print("wandb is not installed in this interpreter: nothing to compare with")
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "run-bench.wandb")
        write_run(path, internal)
        ours, theirs = read_with_ours(path), read_with_wandb(path, internal)
        assert all(theirs[key] == values for key, values in ours.items()), "the readers differ"
        assert len(ours) == KEYS
        count = sum(map(len, theirs.values()))  # both read all of them; ours makes times and steps of three keys
        own, other = cheapest(lambda: read_with_ours(path)), cheapest(lambda: read_with_wandb(path, internal))
    print(f"ours    {count / own:12,.0f} values/s")
    print(f"wandb   {count / other:12,.0f} values/s")
    print(f"ratio   {other / own:12.2f}")


if __name__ == "__main__":
    main()
