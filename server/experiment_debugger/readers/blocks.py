"""The lines of a table, many at a time, in bounded memory whatever the file holds.

Lines end at \\n only, so that their numbers are those that evidence is read back by. NUL bytes (holes that a crash or a
rotation left) go; a line longer than a row can be is passed over and counted.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import IO

from experiment_debugger.readers.lines import read_block
from experiment_debugger.readers.series import Recorded

BLOCK_BYTES = 1 << 20
LONGEST_ROW = 1 << 20  # bytes
LARGEST_DOCUMENT = 64 << 20  # bytes of one JSON document


class Blocks:
    """Iterates over (number of the first line, lines without \\n), and tells `recorded` what was read and lost."""

    def __init__(self, stream: IO[bytes], recorded: Recorded) -> None:
        self._stream, self._recorded = stream, recorded
        self._rest, self._is_overlong, self._overlong = b"", False, 0

    def __iter__(self) -> Iterator[tuple[int, list[bytes]]]:
        number, problem = 1, None
        while True:
            block, problem = read_block(self._stream, BLOCK_BYTES)
            if not block:
                break
            lines = self._lines(block if self._recorded.bytes else block.removeprefix(codecs.BOM_UTF8))
            self._recorded.bytes += len(block)
            yield number, lines
            number += len(lines)
        if self._rest:
            yield number, [self._rest]
        self._recorded.records = number - 1 + bool(self._rest)
        self._overlong += self._is_overlong
        self._tell(problem)

    def _lines(self, block: bytes) -> list[bytes]:
        """The lines that end in this block; an overlong one is blank."""
        lines = (self._rest + block.replace(b"\0", b"")).split(b"\n")
        self._rest = lines.pop()
        if self._is_overlong and lines:
            lines[0], self._is_overlong = b"", False
            self._overlong += 1
        elif lines and len(lines[0]) > LONGEST_ROW:
            lines[0] = b""
            self._overlong += 1
        if len(self._rest) > LONGEST_ROW or self._is_overlong:
            self._rest, self._is_overlong = b"", True
        return lines

    def _tell(self, problem: str | None) -> None:
        if self._overlong:
            self._recorded.problems.append(f"{self._overlong} lines longer than {LONGEST_ROW >> 20} MB passed over")
        if problem:
            self._recorded.problems.append(f"{problem} after line {self._recorded.records}")


def read_document(stream: IO[bytes], recorded: Recorded) -> bytes:
    """The whole of a JSON document, at most `LARGEST_DOCUMENT` bytes of it."""
    parts: list[bytes] = []
    while recorded.bytes <= LARGEST_DOCUMENT:
        block, problem = read_block(stream, BLOCK_BYTES)
        if problem:
            recorded.problems.append(problem)
        if not block:
            break
        parts.append(block)
        recorded.bytes += len(block)
    else:
        recorded.problems.append(f"only the first {LARGEST_DOCUMENT >> 20} MB are read")
    text = b"".join(parts).removeprefix(codecs.BOM_UTF8).replace(b"\0", b"")[:LARGEST_DOCUMENT]
    recorded.records = text.count(b"\n") + (not text.endswith(b"\n") and bool(text))
    return text
