"""The scalars of event files, millions of points at a time.

One logger writes records that differ in a few places only: time, step and value. The walk of `layout` is made
once for each kind of record (tag, length of the step); all others are recognised by the bits that stay the same, in
numpy, and their numbers and checksums are read by column.

    fixed   09 ........ 10 80 00 2a 12 0a 10 0a 09 "train/loss" 15 ....     80, 00: only the top bits of the step
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from experiment_debugger.readers.tensorboard.crc32c import LONGEST_ROW, crc32c, differences, is_sound, masked
from experiment_debugger.readers.tensorboard.layout import (
    LONGEST_TAG,
    Layout,
    Number,
    layout_of,
    read_number,
    time_and_step,
)
from experiment_debugger.readers.tensorboard.tfrecords import HEADER, Block

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Rows = NDArray[np.uint8]
    Words = NDArray[np.uint64]
    Indices = NDArray[np.intp]
    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

MOST_TAGS = 5_000
TOO_MANY, TOO_LONG = -1, -2  # numbers of tags that are left out
MOST_KINDS = 20_000  # kinds of records that are remembered
MOST_SHAPES = 12  # places where numbers stand, for each length of a record
CHECKED = 4096  # bytes; longer records are checked where something of them is used, images and graphs are not
SPREAD = 0x9E3779B97F4A7C15  # odd, bits well mixed: makes the weights of the hash that finds a kind
FIRST_BATCH = 16  # records that are walked before the others of their length are compared with them


class Points(NamedTuple):
    """Parallel columns; `records` are positions in the block, `tags` indices into `Tags.names`."""

    records: Integers
    tags: Integers
    times: Floats
    steps: Integers
    values: Floats


@dataclass(slots=True)
class Tags:
    """Names by number."""

    names: list[str] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)

    def number(self, name: str) -> int:
        """The number of a tag, given on first use."""
        if len(name) > LONGEST_TAG:
            return TOO_LONG
        number = self.numbers.get(name)
        if number is None:
            if len(self.names) >= MOST_TAGS:
                return TOO_MANY
            number = self.numbers[name] = len(self.names)
            self.names.append(name)
        return number


@dataclass(slots=True)
class Found:
    """What one block gave: scalars in bulk and one by one, records with other parts, and how many are damaged."""

    points: list[Points] = field(default_factory=list)
    single: list[tuple[int, int, float, int, float]] = field(default_factory=list)
    others: list[tuple[int, Layout]] = field(default_factory=list)
    damaged: int = 0
    unread: int = 0


class Shape(NamedTuple):
    """Where the numbers of records of one length stand."""

    length: int
    time: Number | None
    step: Number | None
    numbers: tuple[Number, ...]

    def mask(self, width: int) -> bytes:
        """The bits that records of this kind share, padded with zeros."""
        bits = bytearray(b"\xff" * self.length + bytes(width - self.length))
        for number in (self.time, self.step, *self.numbers):
            if number is not None:
                fixed = b"\x80" if number.form == "varint" else b"\0"
                bits[number.start : number.stop] = fixed * (number.stop - number.start)
        return bytes(bits)


class Family:
    """All kinds of records of one shape: those of different tags."""

    def __init__(self, shape: Shape, width: int) -> None:
        import numpy as np

        mask = shape.mask(width)
        self.shape = shape
        self._words = np.frombuffer(mask, "<u8")
        self._columns = [(at, 0xFF ^ bits) for at, bits in enumerate(mask[: shape.length]) if bits != 0xFF]
        self._weights = np.arange(1, len(self._words) + 1, dtype=np.uint64) * np.uint64(SPREAD) | np.uint64(1)
        self._kinds: dict[int, tuple[bytes, int, tuple[int, ...]]] = {}
        self._sorted: tuple[Words, Words, Words, Integers] | None = None

    def learn(self, payload: bytes, tags: tuple[int, ...]) -> None:
        """Remember the fixed bits of one record."""
        import numpy as np

        row = np.frombuffer(payload + bytes(8 * len(self._words) - len(payload)), "<u8") & self._words
        key = row.tobytes()
        self._kinds[int(row @ self._weights)] = (key, crc32c(key[: len(payload)]), tags)
        self._sorted = None

    def _table(self) -> tuple[Words, Words, Words, Integers]:
        """Sorted hashes with their fixed bits, checksums and tags."""
        import numpy as np

        if self._sorted is None:
            hashes = sorted(self._kinds)
            kinds = [self._kinds[number] for number in hashes]
            keys = np.frombuffer(b"".join(kind[0] for kind in kinds), "<u8").reshape(len(kinds), -1)
            crcs = np.array([kind[1] for kind in kinds], np.uint64)
            tags = np.array([kind[2] for kind in kinds], np.int64).reshape(len(kinds), -1)
            self._sorted = np.array(hashes, np.uint64), keys, crcs, tags
        return self._sorted

    def match(self, rows: Rows, found: Found, records: Indices) -> Indices:
        """Read the rows that are of a known kind, and give the places of the others."""
        import numpy as np

        hashes, keys, crcs, tags = self._table()
        fixed = rows.view("<u8") & self._words
        own = fixed @ self._weights
        kinds = np.minimum(np.searchsorted(hashes, own), len(hashes) - 1)
        differing = np.flatnonzero(keys.take(kinds, axis=0) != fixed) // len(self._words)
        known = np.ones(len(rows), np.bool_)
        known[differing] = False
        places = np.flatnonzero(known)
        here, kinds = rows.take(places, axis=0), kinds[places]
        sound = np.flatnonzero(self._sound(here, crcs[kinds]))
        found.damaged += len(here) - len(sound)
        if len(sound):
            found.points.append(
                self._points(here.take(sound, axis=0), tags.take(kinds[sound], axis=0), records[places[sound]])
            )
        return np.flatnonzero(~known)

    def _sound(self, rows: Rows, crcs: Words) -> NDArray[np.bool_]:
        import numpy as np

        length = self.shape.length
        stored = np.ascontiguousarray(rows[:, length : length + 4]).view("<u4")[:, 0]
        sound: NDArray[np.bool_] = masked(crcs ^ differences(rows, self._columns, length)) == stored
        return sound

    def _points(self, rows: Rows, tags: Integers, records: Indices) -> Points:
        import numpy as np

        count, each = tags.shape
        times = _column(rows, self.shape.time).astype(np.float64) if self.shape.time else np.full(count, np.nan)
        steps = _column(rows, self.shape.step).astype(np.int64) if self.shape.step else np.zeros(count, np.int64)
        values = np.stack([_column(rows, number).astype(np.float64) for number in self.shape.numbers], axis=1)
        return Points(
            np.repeat(records, each), tags.ravel(), np.repeat(times, each), np.repeat(steps, each), values.ravel()
        )


def _column(rows: Rows, number: Number) -> NDArray[np.generic]:
    import numpy as np

    if number.form != "varint":
        return np.ascontiguousarray(rows[:, number.start : number.stop]).view(number.form)[:, 0]
    value = np.zeros(len(rows), np.uint64)
    for at in range(number.start, number.stop):
        value |= (rows[:, at] & 0x7F).astype(np.uint64) << np.uint64(7 * (at - number.start))
    return value.view(np.int64)


class PointReader:
    """Reads the records of blocks; what it learns of one block serves the next."""

    def __init__(self) -> None:
        self.tags = Tags()
        self._plugins: dict[str, str] = {}
        self._families: dict[int, dict[Shape, Family]] = {}
        self._kinds = 0

    def read(self, block: Block) -> Found:
        """All scalars of a block, and what else is in it."""
        import numpy as np

        found, starts = Found(), np.array(block.starts)
        data = np.frombuffer(block.data + bytes(8), np.uint8)
        lengths = _windows(data, 4)[starts - HEADER].view("<u4")
        for length in np.unique(lengths).tolist():
            records = np.flatnonzero(lengths == length)
            if length > LONGEST_ROW or len(records) < FIRST_BATCH:
                for record in records.tolist():
                    self._walk(block, record, found, learn=False)
                continue
            width = -(-(length + 4) // 8) * 8
            rows = _windows(data, width)[starts[records]].view(np.uint8).reshape(-1, width)
            self._alike(block, length, rows, records, found)
        return found

    def _alike(self, block: Block, length: int, rows: Rows, records: Indices, found: Found) -> None:
        """Records of one length: walk some, compare the others with them, and again with twice as many."""
        families = self._families.setdefault(length, {})
        batch = FIRST_BATCH
        while len(records):
            for family in families.values():
                others = family.match(rows, found, records)
                rows, records = rows[others], records[others]
            for record in records[:batch].tolist():
                self._walk(block, record, found, learn=True)
            rows, records, batch = rows[batch:], records[batch:], 2 * batch

    def _walk(self, block: Block, record: int, found: Found, *, learn: bool) -> None:
        payload, stored = block.payload(record)
        try:
            layout = layout_of(payload, self._plugins)
        except ValueError:
            found.damaged += 1
            return
        if (layout.numbers or layout.parts or len(payload) <= CHECKED) and not is_sound(payload, stored):
            found.damaged += 1
            return
        found.unread += layout.unread
        if layout.parts:
            found.others.append((record, layout))
        if layout.numbers:
            tags = tuple(self.tags.number(tag) for tag in layout.tags)
            time, step = time_and_step(payload, layout)
            for tag, number in zip(tags, layout.numbers, strict=True):
                found.single.append((record, tag, time, step, float(read_number(payload, number))))
            if learn and not layout.parts:
                self._learn(payload, layout, tags)

    def _learn(self, payload: bytes, layout: Layout, tags: tuple[int, ...]) -> None:
        families = self._families[len(payload)]
        shape = Shape(len(payload), layout.time, layout.step, layout.numbers)
        if self._kinds >= MOST_KINDS or (shape not in families and len(families) >= MOST_SHAPES):
            return
        if shape not in families:
            families[shape] = Family(shape, -(-(len(payload) + 4) // 8) * 8)
        families[shape].learn(payload, tags)
        self._kinds += 1


def _windows(data: Rows, width: int) -> NDArray[np.void]:
    """The bytes from every offset on, as items: rows that numpy copies whole, ten times faster than byte by byte."""
    import numpy as np

    return np.ndarray((len(data) - width + 1,), f"V{width}", data, strides=(1,))


def in_order(found: Found) -> Points | None:
    """The points of a block by tag, each tag's as they were written; None where there are none."""
    import numpy as np

    if found.single:
        records, tags, times, steps, values = (np.array(column) for column in zip(*found.single, strict=True))
        found.points.append(Points(records, tags, times, steps, values))
    if not found.points:
        return None
    columns = [np.concatenate(parts) for parts in zip(*found.points, strict=True)]
    order = np.lexsort((columns[0], columns[1]))
    return Points(*(column[order] for column in columns))
