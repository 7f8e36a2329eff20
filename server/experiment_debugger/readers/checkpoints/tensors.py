"""Tensors of a checkpoint as they stand on disk: name, shape, dtype, and where their numbers are.

Tensor("head.weight", (10, 512), "float32", Place(path, entry="archive/data/7", offset=0, bytes=20480))
"""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CHUNK = 8 << 20  # bytes read at once
SIZES = {
    "float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "float8_e4m3fn": 1, "float8_e5m2": 1, "int64": 8,
    "int32": 4, "int16": 2, "int8": 1, "uint8": 1, "uint16": 2, "uint32": 4, "uint64": 8, "bool": 1, "complex64": 8,
}  # fmt: skip
"""Bytes of one element."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the numbers of a tensor are: in a file, or in an entry of a zip file, from `offset` on."""

    path: Path
    entry: str | None
    offset: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor; without `place` its numbers are not to be had (a meta tensor, or a format that spreads them)."""

    key: str
    shape: tuple[int, ...]
    dtype: str
    place: Place | None = None

    @property
    def elements(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True)
class Values:
    """What the numbers of a tensor are: how many are NaN or infinite, whether all are zero, and a digest of them."""

    nan: int
    inf: int
    all_zero: bool
    digest: str


def chunks_of(tensor: Tensor) -> Iterator[bytes]:
    """The raw numbers of a tensor, a chunk at a time; fewer than there should be where the file ends too early."""
    place = tensor.place
    if place is None:
        return
    if place.entry is None:
        with place.path.open("rb") as stream:
            stream.seek(place.offset)
            yield from _chunks(stream.read, place.bytes)
        return
    with zipfile.ZipFile(place.path) as archive, archive.open(place.entry) as stream:
        stream.seek(place.offset)
        yield from _chunks(stream.read, place.bytes)


def _chunks(read: object, left: int) -> Iterator[bytes]:
    while left > 0:
        block = read(min(CHUNK, left))  # type: ignore[operator]
        if not block:
            return
        left -= len(block)
        yield block
