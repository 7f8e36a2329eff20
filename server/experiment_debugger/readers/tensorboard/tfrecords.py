"""The framing of TensorFlow's record files, block by block, with every damaged record passed over and counted.

    length   u64   18 00 00 00 00 00 00 00
    crc      u32   masked CRC-32C of the eight bytes above
    payload  bytes
    crc      u32   masked CRC-32C of the payload

Where a length cannot be right, the next eight bytes that fit their checksum are the next record. Memory is a few
blocks, whatever a length claims.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO

from experiment_debugger.readers.lines import read_block
from experiment_debugger.readers.tensorboard.crc32c import crc32c, headers_in, is_sound, masked

BLOCK = 4 << 20  # bytes
WINDOW = 1 << 18  # bytes that are searched for a header at once
LONGEST = 1 << 31  # bytes; the largest protobuf message
LONGEST_HOLE = (
    1 << 30
)  # bytes without a record, after which the rest is given up: sparse files are as long as they like
HEADER, FRAME = 12, 16  # bytes in front of a payload, and around it
MOST_LENGTHS = 1 << 16  # headers whose checksum is remembered


@dataclass(frozen=True, slots=True)
class Block:
    """Complete records: where their payloads start in `data`; the lengths stand in front of them."""

    data: bytes
    starts: list[int]

    def payload(self, index: int) -> tuple[bytes, int]:
        """The payload of a record and the checksum that stands behind it."""
        start = self.starts[index]
        stop = start + int.from_bytes(self.data[start - HEADER : start - 4], "little")
        return self.data[start:stop], int.from_bytes(self.data[stop : stop + 4], "little")


@dataclass(slots=True)
class RecordFile:
    """One stream of records; its counters hold when `blocks` has ended. `size` in bytes, None where it is unknown."""

    stream: IO[bytes]
    size: int | None = None
    records: int = 0
    damaged: int = 0
    passed_over: int = 0
    """Bytes that belong to no record."""
    cut_off: int = 0
    """Bytes of a last record that is not complete."""
    long: int = 0
    """Records longer than a block (large images, graphs); they are not looked at."""
    bytes_read: int = 0
    problem: str | None = None
    _lengths: dict[bytes, int] = field(default_factory=dict)
    _lost: int | None = None  # bytes since the last record, while the next one is searched
    _torn: bool = False  # whether the search began at a record that is longer than the rest of the file

    def blocks(self) -> Iterator[Block]:
        """All records that are complete and not longer than a block, in order."""
        rest = b""
        while fresh := self._read(BLOCK):
            data = rest + fresh
            block, at = self._frames(data)
            self.records += len(block.starts)
            if block.starts:
                yield block
            rest = self._without_long(data[at:])
            if self._lost is not None and self._lost > LONGEST_HOLE:
                self.problem = f"reading stopped: no record in {LONGEST_HOLE >> 30} GiB"
                break
        self._end(len(rest))

    def _read(self, most: int) -> bytes:
        left = most if self.size is None else self.size - self.bytes_read
        fresh, problem = read_block(self.stream, min(most, left)) if left > 0 else (b"", None)
        self.problem = self.problem or problem
        self.bytes_read += len(fresh)
        return fresh

    def _frames(self, data: bytes) -> tuple[Block, int]:
        """The records in front of the first one that is not complete, and where that one begins."""
        block = Block(data, [])
        known, starts, size, at = self._lengths, block.starts, len(data), 0
        while True:
            if self._lost is not None:
                at = self._found(data, at)
            length = known.get(data[at : at + HEADER])
            while length is not None and (stop := at + FRAME + length) <= size:
                starts.append(at + HEADER)
                at = stop
                length = known.get(data[at : at + HEADER])
            header = data[at : at + HEADER]
            if len(header) < HEADER:
                return block, at
            length = self._length_of(header)
            if length is None or self._is_behind_the_end(at + FRAME + length - size):
                at = self._lose(block, at, torn=length is not None)
            elif at + FRAME + length > size:
                return block, at
            else:
                starts.append(at + HEADER)
                at += FRAME + length

    def _length_of(self, header: bytes) -> int | None:
        """The length that a header gives, None where it does not fit its checksum."""
        length = int.from_bytes(header[:8], "little")
        if length > LONGEST or masked(crc32c(header[:8])) != int.from_bytes(header[8:], "little"):
            return None
        if len(self._lengths) < MOST_LENGTHS:
            self._lengths[header] = length
        return length

    def _is_behind_the_end(self, missing: int) -> bool:
        return self.size is not None and missing > self.size - self.bytes_read

    def _lose(self, block: Block, at: int, *, torn: bool) -> int:
        """Begin a search, and where: a record before that is not sound may be shorter than it says."""
        self._torn = torn
        if block.starts and not torn and not is_sound(*block.payload(-1)):
            at = block.starts.pop() - HEADER
        self._lost = 1
        return at + 1

    def _found(self, data: bytes, at: int) -> int:
        """Where the next record begins, else the last bytes that may be the beginning of its header."""
        begin = at
        while at + HEADER <= len(data):
            for offset in headers_in(data[at : at + WINDOW + HEADER - 1]):
                length = int.from_bytes(data[at + offset : at + offset + 8], "little")
                if length <= LONGEST and not self._is_behind_the_end(at + offset + FRAME + length - len(data)):
                    self._close(at + offset - begin)
                    return at + offset
            at = min(at + WINDOW, len(data) - HEADER + 1)
        self._lost = (self._lost or 0) + at - begin
        return at

    def _close(self, more: int) -> None:
        """The search is over: what it has passed over was one damaged record, or several."""
        self.passed_over += (self._lost or 0) + more
        self.damaged += 1
        self._lost = None

    def _without_long(self, rest: bytes) -> bytes:
        """The beginning of the next record; one that is longer than a block is read and forgotten."""
        length = int.from_bytes(rest[:8], "little")
        if self._lost is not None or len(rest) < HEADER or length <= BLOCK:
            return rest
        missing = length + FRAME - len(rest)
        while missing and (skipped := self._read(min(BLOCK, missing))):
            missing -= len(skipped)
        self.cut_off += length + FRAME - missing if missing else 0
        self.records, self.long = self.records + (not missing), self.long + (not missing)
        return b""

    def _end(self, left: int) -> None:
        if self._lost is None:
            self.cut_off += left
        elif self._torn:
            self.cut_off += self._lost + left
        else:
            self._close(left)
