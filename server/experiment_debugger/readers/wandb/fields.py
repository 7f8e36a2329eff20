"""The few lines of protobuf that `.wandb` records need: fields of a message, without any schema.

    08 07   12 03 61 62 63   ->   (1, 7), (2, b"abc")

What is no protobuf raises `ValueError` or `IndexError`.
"""

from __future__ import annotations

from collections.abc import Iterator

LONGEST_VARINT = 63  # bits in front of the last byte
_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5


def varint(data: bytes, at: int) -> tuple[int, int]:
    """(number, offset behind it) of the varint at an offset."""
    value = data[at]
    if value < 0x80:
        return value, at + 1
    value = shift = 0
    while shift <= LONGEST_VARINT:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise ValueError("a number of more than 64 bits")


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """(field number, value) of every field: numbers as int, texts and messages as bytes."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == _VARINT:
            value, at = varint(data, at)
            yield tag >> 3, value
            continue
        if kind == _LENGTH:
            size, at = varint(data, at)
        elif kind in {_FIXED64, _FIXED32}:
            size = 8 if kind == _FIXED64 else 4
        else:
            raise ValueError(f"wire type {kind}")
        if at + size > len(data):
            raise ValueError("a field that is longer than its message")
        yield tag >> 3, data[at : at + size]
        at += size


def messages(data: bytes, number: int) -> Iterator[bytes]:
    """The texts or messages of one field number."""
    return (value for field, value in fields(data) if field == number and isinstance(value, bytes))


def texts(data: bytes) -> dict[int, str]:
    """The text of every field that is a text or message; of repeated ones the last."""
    return {number: value.decode("utf-8", "replace") for number, value in fields(data) if isinstance(value, bytes)}


def numbers(data: bytes) -> dict[int, int]:
    """The number of every field that is one; negative ones are two's complement of 64 bits."""
    found = {number: value for number, value in fields(data) if isinstance(value, int)}
    return {number: value - (1 << 64) if value >> 63 else value for number, value in found.items()}


def seconds(data: bytes) -> float:
    """Seconds since the epoch of a Timestamp message."""
    stamp = numbers(data)
    return stamp.get(1, 0) + stamp.get(2, 0) / 1e9


def message_in(record: bytes, wanted: frozenset[int]) -> tuple[int, bytes]:
    """The first field of these numbers and its message, (0, b"") without one: which kind a W&B record is of."""
    at, end = 0, len(record)
    while at < end:
        tag = record[at]
        at += 1
        if tag >= 0x80:
            tag, at = varint(record, at - 1)
        if tag & 7 == _LENGTH:
            size, at = varint(record, at)
            if tag >> 3 in wanted:
                return tag >> 3, record[at : at + size]
            at += size
        elif tag & 7 == _VARINT:
            while record[at] >= 0x80:
                at += 1
            at += 1
        else:
            raise ValueError(f"wire type {tag & 7}")
    return 0, b""
