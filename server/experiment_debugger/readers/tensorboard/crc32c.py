"""CRC-32C (Castagnoli), one record at a time or a whole block of records at once.

The checksum is linear: of two records of one length, crc(a) ^ crc(b) depends on a ^ b only, and each byte adds what its
value and its distance from the end say. So records that differ in a few columns cost one table look-up a column.
TFRecord files store it rotated by 15 bits plus a constant ("masked").
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Words = NDArray[np.uint32]
    Bytes = NDArray[np.uint8]

POLYNOMIAL = 0x82F63B78  # reflected
MASK_DELTA = 0xA282EAD8
ALL_ONES = 0xFFFFFFFF
LONGEST_ROW = 2048  # bytes; distances that the tables cover
_SHORT = 128  # bytes; below, the loop is faster than numpy


@lru_cache(maxsize=1)
def _table() -> tuple[int, ...]:
    return tuple(_shifted(byte) for byte in range(256))


def _shifted(crc: int) -> int:
    for _ in range(8):
        crc = (crc >> 1) ^ (POLYNOMIAL if crc & 1 else 0)
    return crc


def crc32c(data: bytes) -> int:
    """The checksum of some bytes."""
    if len(data) > _SHORT:
        return _of_long(data)
    table, crc = _table(), ALL_ONES
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ ALL_ONES


def masked(crc: Any) -> Any:
    """As record files store it; takes a number or an array of uint64 and gives the same."""
    return (((crc >> 15) | (crc << 17)) + MASK_DELTA) & ALL_ONES


def is_sound(payload: bytes, stored: int) -> bool:
    """Whether a payload is what was written, by the masked checksum that stands behind it."""
    return bool(masked(crc32c(payload)) == stored)


@lru_cache(maxsize=1)
def contributions() -> Words:
    """What a byte adds to the checksum: one row a distance from the end, one column a value."""
    import numpy as np

    rows = np.empty((LONGEST_ROW, 256), np.uint32)
    rows[0] = first = np.array(_table(), np.uint32)
    for distance in range(1, LONGEST_ROW):
        before = rows[distance - 1]
        rows[distance] = first[before & 0xFF] ^ (before >> 8)
    return rows


def _of_long(data: bytes) -> int:
    """Rows of one length; what stands in the register counts as the four bytes in front of the next row's others."""
    import numpy as np

    table = contributions()
    content = np.zeros(-(-len(data) // LONGEST_ROW) * LONGEST_ROW, np.uint8)
    begin = len(content) - len(data)
    content[begin:] = np.frombuffer(data, np.uint8)
    content[begin : begin + 4] ^= 0xFF
    rows = table[np.arange(LONGEST_ROW - 1, -1, -1), content.reshape(-1, LONGEST_ROW)]
    first, second, third, fourth = _carried()
    crc = 0
    for row in np.bitwise_xor.reduce(rows, axis=1).tolist():
        crc = row ^ first[crc & 0xFF] ^ second[crc >> 8 & 0xFF] ^ third[crc >> 16 & 0xFF] ^ fourth[crc >> 24]
    return crc ^ ALL_ONES


@lru_cache(maxsize=1)
def _carried() -> list[list[int]]:
    carried: list[list[int]] = contributions()[: LONGEST_ROW - 5 : -1].tolist()
    return carried


def differences(rows: Bytes, columns: list[tuple[int, int]], length: int) -> Words:
    """By how much the checksums of rows of one length differ from that of a row whose given bits are all zero.

    `columns` are (column, mask of the bits that may differ).
    """
    import numpy as np

    table, crc = contributions(), np.zeros(len(rows), np.uint32)
    for column, bits in columns:
        crc ^= np.take(table[length - 1 - column], rows[:, column] & bits)
    return crc


def headers_in(window: bytes) -> list[int]:
    """Where a length below 4 GiB stands whose masked checksum follows: likely heads of records."""
    import numpy as np

    data = np.frombuffer(window, np.uint8)
    count = len(data) - 11
    if count <= 0 or not data.any():
        return []
    upper = data[4 : 4 + count] | data[5 : 5 + count] | data[6 : 6 + count] | data[7 : 7 + count]
    places = np.flatnonzero(upper == 0)
    rows = np.lib.stride_tricks.sliding_window_view(data, 12)[places]
    lengths = [(column, 0xFF) for column in range(8)]
    crcs = differences(rows, lengths, 8) ^ np.uint32(crc32c(bytes(8)))
    stored = np.ascontiguousarray(rows[:, 8:]).view("<u4")[:, 0]
    found: list[int] = places[masked(crcs.astype(np.uint64)) == stored].tolist()
    return found
