"""Where the numbers of one TensorBoard event stand: a walk over its wire format that skips what it does not know.

    09 <wall_time f64>  10 <step varint>  2a 12 { 0a 10 { 0a 09 "train/loss"  15 <simple_value f32> } }
    ... { 0a .. tag  42 .. { 08 01  12 00  2a 04 <float_val> }  4a .. { 0a .. { 0a 07 "scalars" } } }     TensorFlow 2

Fields (tensorboard/compat/proto): Event 1 wall_time, 2 step, 5 summary; Summary 1 value; Value 1 tag, 2 simple_value,
5 histo, 8 tensor, 9 metadata; TensorProto 1 dtype, 4 tensor_content, 5 float_val, 6 double_val, 7 int_val,
10 int64_val. Nothing recurses, so nesting costs nothing.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from typing import Literal, NamedTuple

Form = Literal["<f4", "<f8", "<i4", "<i8", "varint"]
Detail = Literal["histograms", "text", "hparams"]
LONGEST_TAG = 1000  # characters
MOST_PLUGINS = 20_000  # tags whose plugin is remembered: TensorFlow writes it with the first value only
MOST_VALUES = 10_000  # values of one summary
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_CONTENT: dict[int, Form] = {
    1: "<f4",
    2: "<f8",
    3: "<i4",
    9: "<i8",
}  # by dtype: DT_FLOAT, DT_DOUBLE, DT_INT32, DT_INT64
_FORMAT = {"<f4": "<f", "<f8": "<d", "<i4": "<i", "<i8": "<q"}  # numpy's names, struct's names
_WIDTH = {"<f4": 4, "<f8": 8, "<i4": 4, "<i8": 8}
_TYPED: dict[tuple[int, int], Form] = {
    (5, _BYTES): "<f4", (5, _FIXED32): "<f4", (6, _BYTES): "<f8", (6, _FIXED64): "<f8",
    (7, _BYTES): "varint", (7, _VARINT): "varint", (10, _BYTES): "varint", (10, _VARINT): "varint",
}  # fmt: skip


class Number(NamedTuple):
    """One number of a payload: its first byte, the byte behind it, and how it is written."""

    start: int
    stop: int
    form: Form


class Part(NamedTuple):
    """A value that is no scalar: the bytes of its message."""

    kind: Detail
    tag: str
    start: int
    stop: int


class Layout(NamedTuple):
    """What one event holds and where; `unread` counts scalars of a type that is not known here."""

    time: Number | None
    step: Number | None
    tags: tuple[str, ...]
    numbers: tuple[Number, ...]
    parts: tuple[Part, ...]
    unread: int


class _Field(NamedTuple):
    number: int
    wire: int
    start: int
    stop: int


def layout_of(payload: bytes, plugins: dict[str, str]) -> Layout:
    """Raises ValueError where the bytes are no event. `plugins` keeps what earlier events said about tags."""
    time = step = None
    tags, numbers, parts, unread = [], [], list[Part](), 0
    for field in _fields(payload, 0, len(payload)):
        if field.number == 1 and field.wire == _FIXED64:
            time = Number(field.start, field.stop, "<f8")
        elif field.number == 2 and field.wire == _VARINT:
            step = Number(field.start, field.stop, "varint")
        elif field.number == 5 and field.wire == _BYTES:
            for value in _values(payload, field):
                found = _value(payload, value, plugins)
                if isinstance(found, Part):
                    parts.append(found)
                elif found is not None:
                    tag, number = found
                    unread += number is None
                    if number is not None:
                        tags.append(tag)
                        numbers.append(number)
    return Layout(time, step, tuple(tags), tuple(numbers), tuple(parts), unread)


def read_number(payload: bytes, number: Number) -> float:
    """The value of one number; integers stay integers."""
    if number.form == "varint":
        value = _varint(payload, number.start)[0]
        return value - (1 << 64) if value >= 1 << 63 else value
    found: float = struct.unpack_from(_FORMAT[number.form], payload, number.start)[0]
    return found


def time_and_step(payload: bytes, layout: Layout) -> tuple[float, int]:
    """Seconds since the epoch (NaN where none is written) and the step (0 is not written)."""
    time = read_number(payload, layout.time) if layout.time else math.nan
    return time, int(read_number(payload, layout.step)) if layout.step else 0


def _values(payload: bytes, summary: _Field) -> Iterator[_Field]:
    for count, field in enumerate(_fields(payload, summary.start, summary.stop)):
        if count > MOST_VALUES:
            raise ValueError("too many values in one summary")
        if field.number == 1 and field.wire == _BYTES:
            yield field


def _value(payload: bytes, value: _Field, plugins: dict[str, str]) -> Part | tuple[str, Number | None] | None:
    tag, plugin, content, simple = "", None, None, None
    for field in _fields(payload, value.start, value.stop):
        if field.number == 1 and field.wire == _BYTES:
            tag = payload[field.start : field.stop].decode("utf-8", "replace")
        elif field.number == 2 and field.wire == _FIXED32:
            simple = Number(field.start, field.stop, "<f4")
        elif field.number in {5, 8} and field.wire == _BYTES:
            content = field
        elif field.number == 9 and field.wire == _BYTES:
            plugin = _plugin(payload, field)
    if simple is not None:
        return tag, simple
    if plugin is not None and len(plugins) < MOST_PLUGINS and len(tag) <= LONGEST_TAG:
        plugins[tag] = plugin
    if content is not None and content.number == 5:
        return Part("histograms", tag, value.start, value.stop)
    return _plugged(payload, Part("text", tag, value.start, value.stop), plugin or plugins.get(tag, ""), content)


def _plugged(
    payload: bytes, value: Part, plugin: str, content: _Field | None
) -> Part | tuple[str, Number | None] | None:
    """What a value is by the plugin that draws it; a tensor of rank 0 that names none is taken for a scalar."""
    if plugin == "hparams":
        return value._replace(kind="hparams")
    if content is None:
        return None
    if plugin in {"histograms", "text"}:
        return value._replace(kind=plugin)  # type: ignore[arg-type]
    if plugin not in {"scalars", ""}:
        return None
    number = _scalar(payload, content)
    return (value.tag, number) if number is not None or plugin else None


def _plugin(payload: bytes, metadata: _Field) -> str | None:
    for field in _fields(payload, metadata.start, metadata.stop):
        if field.number == 1 and field.wire == _BYTES:
            for inner in _fields(payload, field.start, field.stop):
                if inner.number == 1 and inner.wire == _BYTES:
                    return payload[inner.start : inner.stop].decode("utf-8", "replace")
    return None


def _scalar(payload: bytes, tensor: _Field) -> Number | None:
    """The only number of a tensor, None where it holds none, several, or one of another type."""
    dtype, found = 0, list[Number]()
    for field in _fields(payload, tensor.start, tensor.stop):
        if field.number == 1 and field.wire == _VARINT:
            dtype = _varint(payload, field.start)[0]
        form = _CONTENT.get(dtype) if field[:2] == (4, _BYTES) else _TYPED.get(field[:2])
        if form is not None:
            found.append(Number(field.start, field.stop, form))
    return found[0] if len(found) == 1 and _is_one(payload, found[0]) else None


def _is_one(payload: bytes, number: Number) -> bool:
    width = number.stop - number.start
    if number.form == "varint":
        return width > 0 and _varint(payload, number.start)[1] == number.stop
    return width == _WIDTH[number.form]


def _fields(payload: bytes, at: int, end: int) -> Iterator[_Field]:
    while at < end:
        key, start = _varint(payload, at)
        wire = key & 7
        if wire == _BYTES:
            length, start = _varint(payload, start)
            stop = start + length
        elif wire == _VARINT:
            stop = _varint(payload, start)[1]
        elif wire in {_FIXED32, _FIXED64}:
            stop = start + (4 if wire == _FIXED32 else 8)
        else:
            raise ValueError(f"wire type {wire}")
        if stop > end:
            raise ValueError("a field is longer than its message")
        yield _Field(key >> 3, wire, start, stop)
        at = stop


def _varint(payload: bytes, at: int) -> tuple[int, int]:
    """An unsigned number of 64 bits and the offset behind it."""
    value = 0
    for shift, byte in enumerate(payload[at : at + 10]):
        value |= (byte & 0x7F) << 7 * shift
        if byte < 0x80:
            return value & (1 << 64) - 1, at + shift + 1
    raise ValueError("a number that does not end")
