"""The framing of `.wandb` files, LevelDB's log format, block by block; damage is passed over and counted.

    3a 57 26 42 e1 be 00                 header: ":W&B", magic, version
    blocks of 32 768 bytes, the first one with the header; in them records:
    crc   u32   zlib.crc32 of the kind byte and the data (the same in wandb 0.12 to 0.31)
    size  u16
    kind  u8    1 a whole record; 2 the first, 3 a middle, 4 the last part of one
    data

Behind damage the next record of the block that fits its checksum is used, else the next block. wandb buffers what it
writes: a killed run lacks its last seconds, or ends in the middle of a record; a short one leaves the header alone.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from struct import Struct
from typing import IO
from zlib import crc32

from experiment_debugger.errors import UnreadableArtifact
from experiment_debugger.readers.lines import read_block

MAGIC = b":W&B"
HEADER = 7  # bytes in front of the first block's records
BLOCK = 1 << 15  # bytes
READ_AT_ONCE = 32 * BLOCK
LONGEST_RECORD = 64 << 20  # bytes; a longer one is passed over
LONGEST_HOLE = 256 << 20  # bytes without a record, after which the rest is given up: sparse files cost nothing to make
MOST_MISFITS = 64  # records of one block that do not fit their checksum, after which the rest of it is passed over
_FRAME = Struct("<IHB")
_SEEDS = tuple(crc32(bytes([kind])) for kind in range(5))
_WHOLE, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4


@dataclass(slots=True)
class RecordFile:
    """The records of one file, in order; the counters hold when the iteration has ended."""

    stream: IO[bytes]
    records: int = 0
    size: int = 0
    damaged: int = 0
    """Places without a readable record, each between two readable ones."""
    passed_over: int = 0
    """Bytes in them."""
    long: int = 0
    is_torn: bool = False
    """Whether the file ends in the middle of a record, as it does while it is being written."""
    has_header: bool = False
    """Whether it begins like a record file, as far as it goes: an empty file does, too."""
    problem: str | None = None
    _hole: int = 0
    _parts: list[bytes] | None = field(default=None)

    def __iter__(self) -> Iterator[bytes]:
        """Every record that is complete and fits its checksum."""
        while chunk := self._read():
            for start in range(0, len(chunk), BLOCK):
                first = HEADER if self.size == len(chunk) and not start else start
                yield from self._block(chunk, first, start + BLOCK)
        self.is_torn = self.is_torn or self._parts is not None

    def _read(self) -> bytes:
        if self._hole > LONGEST_HOLE:
            self.problem = f"reading stopped: no record in {LONGEST_HOLE >> 20} MiB"
            return b""
        chunk, self.problem = read_block(self.stream, READ_AT_ONCE)
        if not self.size:
            self.has_header = MAGIC.startswith(chunk[: len(MAGIC)])
        self.size += len(chunk)
        return chunk

    def _block(self, chunk: bytes, at: int, limit: int) -> Iterator[bytes]:
        """The records that end in one block, which ends at `limit`, earlier at the end of the file."""
        end, misfits = min(limit, len(chunk)), 0
        while end - at >= _FRAME.size and misfits < MOST_MISFITS:
            checksum, size, kind = _FRAME.unpack_from(chunk, at)
            stop = at + _FRAME.size + size
            if stop > end or not (checksum or size or kind):
                break
            data = chunk[at + _FRAME.size : stop]
            if 0 < kind <= _LAST and crc32(data, _SEEDS[kind]) == checksum:
                self._hole = 0
                record = data if kind == _WHOLE and self._parts is None else self._joined(kind, data)
                if record is not None:
                    self.records += 1
                    yield record
            else:
                misfits += 1
                self._lose(stop - at)
            at = stop
        self._leave(chunk[at:end], limit - at)

    def _leave(self, rest: bytes, room: int) -> None:
        """What stands behind the last record of a block: zeros fill it up, and a torn record ends the file."""
        at_end = len(rest) < room
        is_frame = len(rest) >= _FRAME.size
        if at_end and rest and (not is_frame or 0 < rest[6] <= _LAST):
            needed = _FRAME.size + int.from_bytes(rest[4:6], "little")
            self.is_torn = not is_frame or len(rest) < needed <= room
            if self.is_torn:
                return
        if is_frame:
            self._lose(len(rest))

    def _joined(self, kind: int, data: bytes) -> bytes | None:
        """The record that this part completes."""
        parts, self._parts = self._parts, None
        if parts is not None and kind in {_WHOLE, _FIRST}:
            self._lose(sum(map(len, parts)))
            self._hole = 0
        if kind == _WHOLE:
            return data
        if kind == _FIRST:
            self._parts = [data]
        elif parts is not None and len(parts) * BLOCK > LONGEST_RECORD:
            self.long += 1
        elif parts is not None:
            parts.append(data)
            if kind == _LAST:
                return b"".join(parts)
            self._parts = parts
        return None

    def _lose(self, size: int) -> None:
        self.damaged += not self._hole
        self._hole += size
        self.passed_over += size
        self._parts = None

    def problems(self) -> list[str]:
        """What was lost, a line each."""
        lines = []
        if self.damaged:
            size = f"{self.passed_over / 1000:.0f} kB" if self.passed_over >= 1000 else f"{self.passed_over} bytes"
            plural = "s" if self.damaged > 1 else ""
            lines.append(f"{self.damaged} damaged place{plural} ({size}) passed over; records are missing there")
        if self.long:
            lines.append(f"{self.long} records over {LONGEST_RECORD >> 20} MiB passed over")
        return [*lines, self.problem] if self.problem else lines


def open_records(path: Path) -> IO[bytes]:
    """The bytes of a regular file; raises `UnreadableArtifact` with one line that says why not."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise UnreadableArtifact(f"{path.name}: expected a regular file, found something else; it was not opened")
        return path.open("rb")
    except OSError as problem:
        reason = problem.strerror or type(problem).__name__
        raise UnreadableArtifact(f"{path.name}: expected a readable file, found: {reason}") from None


def not_wandb(path: Path) -> UnreadableArtifact:
    """The error for a file without the header in which no record was found either."""
    return UnreadableArtifact(f"{path.name}: expected the records of a W&B run, found other data")
