"""What event files hold next to scalars: histograms, hyper-parameters and texts; read with tensorboard's own protos.

histo { min: -3.1 max: 2.9 num: 1000 sum: 4.2 sum_squares: 998.1 bucket_limit: [...] bucket: [...] }
text  "args/text_summary"  {"learning_rate": 5e-05, "max_steps": 20, ...}          (transformers' Trainer)
text  "hyperparameters"    |param|value|\\n|-|-|\\n|seed|1|                           (CleanRL and its like)
hparams "_hparams_/session_start_info"  {lr: 0.1, opt: "adam"}                     (add_hparams of torch, Lightning)
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from experiment_debugger.readers.series import Histogram, Recorded
from experiment_debugger.readers.tensorboard.layout import Layout, time_and_step

if TYPE_CHECKING:
    from tensorboard.compat.proto.summary_pb2 import Summary

HISTOGRAMS_A_TAG = 64
FEWEST = 4
MOST_TAGS = 1000  # of histograms, and of texts
MOST_BYTES = 16 << 20  # of kept histograms; as numbers of Python they are four times as large
LONGEST_TEXT = 1 << 20  # bytes
NAMES_OF_ALL = frozenset({"args", "hyperparameters", "config"})  # texts whose keys are those of the run
DEEPEST = 8
MOST_SETTINGS = 2000


class Kept(NamedTuple):
    """One value as it was written."""

    tag: str
    step: int
    message: bytes


@dataclass(slots=True)
class Thinned:
    """The histograms of a tag: every `stride`-th from the first on, and the last."""

    kept: list[Kept] = field(default_factory=list)
    last: Kept | None = None
    seen: int = 0
    stride: int = 1

    def add(self, value: Kept, most: int) -> None:
        """Take one more."""
        self.last = value
        if self.seen % self.stride == 0:
            self.kept.append(value)
        self.seen += 1
        self.thin(most)

    def thin(self, most: int) -> None:
        """Keep at most so many."""
        while len(self.kept) >= most:
            self.kept = self.kept[::2]
            self.stride *= 2

    def all(self) -> list[Kept]:
        """The kept ones in the order in which they were written."""
        return self.kept if self.last is None or self.last is self.kept[-1] else [*self.kept, self.last]


class DetailReader:
    """Collects what is not a scalar, in bounded memory, and reads it at the end."""

    def __init__(self) -> None:
        self._histograms: dict[str, Thinned] = {}
        self._texts: dict[str, Kept] = {}
        self._most = HISTOGRAMS_A_TAG
        self._bytes = 0
        self._left_out = 0

    def take(self, payload: bytes, layout: Layout) -> None:
        """The parts of one event that are wanted."""
        step = time_and_step(payload, layout)[1]
        for part in layout.parts:
            value = Kept(part.tag, step, payload[part.start : part.stop])
            if part.kind == "histograms":
                self._add(value)
            elif len(value.message) <= LONGEST_TEXT and (value.tag in self._texts or len(self._texts) < MOST_TAGS):
                self._texts[value.tag] = value

    def _add(self, value: Kept) -> None:
        if value.tag not in self._histograms and (len(self._histograms) >= MOST_TAGS or self._bytes > MOST_BYTES):
            self._left_out += 1
            return
        self._histograms.setdefault(value.tag, Thinned()).add(value, self._most)
        self._bytes += len(value.message)
        if self._bytes > MOST_BYTES:
            self._make_room()

    def _make_room(self) -> None:
        while self._count_bytes() > MOST_BYTES // 2 and self._most > FEWEST:
            self._most //= 2
            for thinned in self._histograms.values():
                thinned.thin(self._most)

    def _count_bytes(self) -> int:
        self._bytes = sum(len(value.message) for thinned in self._histograms.values() for value in thinned.all())
        return self._bytes

    def finish(self, recorded: Recorded) -> None:
        """Histograms and settings of everything that was taken."""
        broken = 0
        for value in (value for thinned in self._histograms.values() for value in thinned.all()):
            histogram = _histogram(value)
            if histogram is not None:
                recorded.histograms.append(histogram)
            broken += histogram is None
        for value in self._texts.values():
            for key, setting in _settings(value):
                if len(recorded.settings) < MOST_SETTINGS:
                    recorded.settings[key] = setting
        if broken:
            recorded.problems.append(f"{broken} histograms cannot be read")
        if self._left_out:
            recorded.problems.append(f"{self._left_out} histograms of more than {MOST_TAGS} tags were left out")


def _message(value: Kept) -> Summary.Value | None:
    from google.protobuf.message import DecodeError
    from tensorboard.compat.proto.summary_pb2 import Summary

    try:
        return Summary.Value.FromString(value.message)
    except DecodeError:
        return None


def _histogram(value: Kept) -> Histogram | None:
    message = _message(value)
    if message is None:
        return None
    if not message.HasField("histo"):
        return _of_buckets(value, message)
    histo = message.histo
    return Histogram(
        value.tag,
        value.step,
        histo.min,
        histo.max,
        histo.num,
        histo.sum,
        histo.sum_squares,
        tuple(histo.bucket_limit),
        tuple(histo.bucket),
    )


def _of_buckets(value: Kept, message: Summary.Value) -> Histogram | None:
    """TensorFlow 2 writes a matrix with a row (left edge, right edge, count) a bucket; sums are not known."""
    import numpy as np

    tensor = message.tensor
    content = np.frombuffer(tensor.tensor_content, "<f8" if tensor.dtype == 2 else "<f4") if _fits(tensor) else None
    numbers = np.array(tensor.double_val or tensor.float_val) if content is None or not len(content) else content
    if len(numbers) % 3:
        return None
    buckets = numbers.reshape(-1, 3).astype(float)
    lowest, highest = (buckets[0, 0], buckets[-1, 1]) if len(buckets) else (math.nan, math.nan)
    edges, counts = tuple(buckets[:, 1].tolist()), tuple(buckets[:, 2].tolist())
    return Histogram(
        value.tag, value.step, float(lowest), float(highest), sum(counts), math.nan, math.nan, edges, counts
    )


def _fits(tensor: Any) -> bool:
    return tensor.dtype in {1, 2} and len(tensor.tensor_content) % (4 * tensor.dtype) == 0


def _settings(value: Kept) -> Iterator[tuple[str, Any]]:
    message = _message(value)
    if message is None:
        return
    if message.metadata.plugin_data.plugin_name == "hparams":
        yield from _hyper_parameters(message.metadata.plugin_data.content)
        return
    name = value.tag.removesuffix("/text_summary")
    prefix = "" if name in NAMES_OF_ALL else name
    for raw in message.tensor.string_val[:1]:
        text = raw.decode("utf-8", "replace").strip()
        table = _table(text) if text.startswith("|") else _json(text)
        yield from _dotted(table, prefix) if isinstance(table, dict) else ()


def _hyper_parameters(content: bytes) -> Iterator[tuple[str, Any]]:
    from google.protobuf.message import DecodeError
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

    try:
        data = HParamsPluginData.FromString(content)
    except DecodeError:
        return
    for key, value in sorted(data.session_start_info.hparams.items()):
        kind = value.WhichOneof("kind")
        if kind in {"number_value", "string_value", "bool_value"}:
            yield key, _whole(getattr(value, kind))


def _whole(value: Any) -> Any:
    """The plugin writes all numbers as floats; a batch size of 32.0 is 32."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 1 << 53 else value


def _table(text: str) -> Any:
    """A Markdown table of two columns, `|seed|1|`, as many scripts write their arguments."""
    rows = [line.strip().strip("|").split("|", 1) for line in text.splitlines()]
    if not rows or [cell.strip() for cell in rows[0]] != ["param", "value"]:
        return None
    return {row[0].strip(): _plain(row[1].strip()) for row in rows[2:] if len(row) == 2}


def _plain(text: str) -> Any:
    try:
        return json.loads({"True": "true", "False": "false", "None": "null"}.get(text, text))
    except (ValueError, RecursionError):
        return text


def _json(text: str) -> Any:
    try:
        return json.loads(text) if text.startswith("{") else None
    except (ValueError, RecursionError):
        return None


def _dotted(value: Any, prefix: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and depth < DEEPEST:
        for key, child in value.items():
            yield from _dotted(child, f"{prefix}.{key}" if prefix else str(key), depth + 1)
    elif prefix:
        yield prefix, value
