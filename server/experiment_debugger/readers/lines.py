r"""One pass over a text log: chunks cut at \n, candidate lines handed to consumers.

A consumer names literals; every line that holds one comes to `candidate`, and while the consumer is `following`, so
does every next line. The scan keeps one chunk in memory, whatever the size of the file. Lines end at \n only: the
segments of a progress bar, separated by \r, are one line.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from experiment_debugger.readers.files import open_artifact
from experiment_debugger.readers.literals import LiteralIndex, index_of
from experiment_debugger.readers.timestamps import Clock

CHUNK_BYTES = 4 << 20
LONGEST_LINE = 32 << 20  # bytes; a longer line is handed on in pieces that keep its number
TAIL_LINES = 12
WINDOW = 2000  # characters on either side of a hit that a rule may look at
ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")


def to_text(raw: bytes) -> str:
    """Bytes of a log as text: undecodable bytes become U+FFFD, escape sequences go."""
    text = raw.decode("utf-8", "replace")
    return ANSI.sub("", text) if "\x1b" in text else text


class Line:
    """One physical line of the scanned file; everything is computed on demand."""

    __slots__ = ("_chunk", "_clock", "_stamp", "end", "number", "start")

    def __init__(self, number: int, chunk: bytes, start: int, end: int, clock: Clock) -> None:
        self.number, self._chunk, self.start, self.end, self._clock = number, chunk, start, end, clock
        self._stamp: float | bool | None = False

    @property
    def raw(self) -> bytes:
        """The bytes of the line, without its \\n."""
        return self._chunk[self.start : self.end]

    def segments(self) -> Iterator[str]:
        """The non-empty \\r segments as text."""
        for part in self.raw.split(b"\r"):
            if part:
                yield to_text(part)

    def around(self, hit_end: int) -> str:
        """The \\r segment that holds the hit (offset in the chunk), at most WINDOW bytes on either side."""
        low, high = max(self.start, hit_end - WINDOW), min(self.end, hit_end + WINDOW)
        left = self._chunk.rfind(b"\r", low, max(low, hit_end - 1)) + 1 or low
        right = self._chunk.find(b"\r", hit_end, high)
        return to_text(self._chunk[left : high if right < 0 else right])

    def before(self, count: int) -> Iterator[str]:
        """The previous lines in this chunk, nearest first."""
        end = self.start - 1
        for _ in range(count):
            if end < 0:
                return
            start = self._chunk.rfind(b"\n", 0, end) + 1
            yield to_text(self._chunk[start:end][-WINDOW:])
            end = start - 1

    @property
    def time(self) -> float | None:
        """The stamp that the line itself carries."""
        if self._stamp is False:
            head = to_text(self._chunk[self.start : min(self.end, self.start + 200)])
            self._stamp = self._clock.read(head)
        return self._stamp if isinstance(self._stamp, float) else None

    @property
    def not_before(self) -> float | None:
        """The stamp of this line, else of the nearest earlier line that has one: a lower bound."""
        if self.time is not None:
            return self.time
        earlier = (self._clock.read(text) for text in self.before(40))
        return next((stamp for stamp in earlier if stamp is not None), self._clock.last)


class Consumer:
    """What the scan calls. `literals` are fixed before the scan; indices in `hits` refer to them."""

    literals: tuple[bytes, ...] = ()
    following: bool = False

    def candidate(self, line: Line, hits: Sequence[tuple[int, int]]) -> None:
        """A line that holds at least one literal; `hits` are (literal index, offset behind it in the chunk)."""

    def follow(self, line: Line) -> None:
        """A line behind a candidate, while `following` is true."""

    def finish(self) -> None:
        """The file has ended."""


@dataclass(frozen=True, slots=True)
class ScanStats:
    """What one pass has seen; `tail` holds (1-based number, text) of the last lines that are not blank."""

    lines: int
    bytes: int
    tail: tuple[tuple[int, str], ...]
    problem: str | None = None
    torn: bool = False
    """Whether the last line has no end: a process was killed while it wrote, or the text was pasted."""

    @property
    def last_line(self) -> int:
        """Number of the last line that is not blank, 0 in an empty file."""
        return self.tail[-1][0] if self.tail else 0

    @property
    def last_text(self) -> str:
        """The last state of that line."""
        return self.tail[-1][1].rsplit("\r", 1)[-1] if self.tail else ""


class Scan:
    """A compiled set of consumers' literals; the index can be used for many files."""

    def __init__(self, literals_of: Sequence[tuple[bytes, ...]], *, force_plain: bool = False) -> None:
        owners: dict[bytes, list[tuple[int, int]]] = defaultdict(list)
        for consumer, literals in enumerate(literals_of):
            for number, literal in enumerate(literals):
                owners[literal].append((consumer, number))
        self._owners = list(owners.values())
        self.index: LiteralIndex = index_of(list(owners), force_plain=force_plain)

    def run(self, path: Path, consumers: Sequence[Consumer], clock: Clock) -> ScanStats:
        """One pass over one file. Trouble in the middle ends the pass and stands in `problem`; nothing is lost."""
        with open_artifact(path) as stream:
            return self.run_stream(stream, consumers, clock)

    def run_stream(self, stream: IO[bytes], consumers: Sequence[Consumer], clock: Clock) -> ScanStats:
        """As `run`, over an open stream."""
        total = 0
        number = 1
        last = b""
        chunks = _Chunks(stream)
        for chunk in chunks:
            self._chunk(chunk, number, consumers, clock)
            number += chunk.count(b"\n")
            total += len(chunk)
            last = (last + chunk)[-8192:] if len(chunk) < 8192 else chunk[-8192:]
        for consumer in consumers:
            consumer.finish()
        ended = last.endswith(b"\n") or not last
        lines = number - 1 if ended else number
        return ScanStats(lines, total, _tail(last, lines), chunks.problem, not ended)

    def _chunk(self, chunk: bytes, first: int, consumers: Sequence[Consumer], clock: Clock) -> None:
        position, number = 0, first
        for start, end, hits in self._hit_lines(chunk):
            number, position = self._walk(chunk, number, position, start, consumers, clock)
            number += chunk.count(b"\n", position, start)
            position = start
            line = Line(number, chunk, start, end, clock)
            for index, consumer in enumerate(consumers):
                if index in hits:
                    consumer.candidate(line, hits[index])
                elif consumer.following:
                    consumer.follow(line)
            position, number = min(end + 1, len(chunk)), number + (end < len(chunk))
        self._walk(chunk, number, position, len(chunk), consumers, clock)

    def _walk(
        self, chunk: bytes, number: int, position: int, stop: int, consumers: Sequence[Consumer], clock: Clock
    ) -> tuple[int, int]:
        """Hand the lines between two candidates to consumers that follow; stops early when nobody does."""
        while position < stop and any(consumer.following for consumer in consumers):
            end = chunk.find(b"\n", position, stop)
            end = stop if end < 0 else end
            line = Line(number, chunk, position, end, clock)
            for consumer in consumers:
                if consumer.following:
                    consumer.follow(line)
            if end >= len(chunk):
                return number, end
            position, number = end + 1, number + 1
        return number, position

    def _hit_lines(self, chunk: bytes) -> Iterator[tuple[int, int, dict[int, list[tuple[int, int]]]]]:
        """(start, end, {consumer: [(literal, offset)]}) of every line with a hit, in order."""
        start = end = -1
        hits: dict[int, list[tuple[int, int]]] = {}
        for offset, literal in self.index.find(chunk):
            if offset > end:
                if hits:
                    yield start, end, hits
                start = chunk.rfind(b"\n", 0, offset) + 1
                end = chunk.find(b"\n", offset)
                end = len(chunk) if end < 0 else end
                hits = {}
            for consumer, local in self._owners[literal]:
                hits.setdefault(consumer, []).append((local, offset))
        if hits:
            yield start, end, hits


class _Chunks:
    """Chunks of a stream, each cut behind a \\n unless one line is longer than LONGEST_LINE."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.problem: str | None = None

    def __iter__(self) -> Iterator[bytes]:
        rest = b""
        while True:
            block = self._read()
            if not block:
                break
            data = rest + block if rest else block
            cut = data.rfind(b"\n") + 1
            if cut == 0 and len(data) >= LONGEST_LINE:
                cut = len(data)
            if cut:
                yield data[:cut]
            rest = data[cut:]
        if rest:
            yield rest

    def _read(self) -> bytes:
        block, self.problem = read_block(self._stream, CHUNK_BYTES)
        return block


def pick_lines(stream: IO[bytes], numbers: Collection[int]) -> dict[int, bytes]:
    """The lines of these 1-based numbers, without their \\n; a line in pieces gives its last piece."""
    picked: dict[int, bytes] = {}
    first = 1
    for chunk in _Chunks(stream):
        after = first + chunk.count(b"\n")
        if any(first <= number <= after for number in numbers):
            lines = chunk.split(b"\n")
            picked |= {number: lines[number - first] for number in numbers if first <= number < first + len(lines)}
        first = after
        if first > max(numbers, default=0):
            break
    return picked


def read_block(stream: IO[bytes], size: int) -> tuple[bytes, str | None]:
    """The next bytes, and what is wrong where damaged data ends the file early."""
    try:
        return stream.read(size), None
    except (OSError, EOFError) as problem:
        return b"", f"reading stopped: {problem}"
    except Exception as problem:  # noqa: BLE001 - zstandard, lzma and isal raise kinds of their own for damaged data
        return b"", f"reading stopped: {type(problem).__name__}"


def _tail(last: bytes, lines: int) -> tuple[tuple[int, str], ...]:
    """(number, text) of the last few lines that are not blank."""
    number = lines + 1 if last.endswith(b"\n") else lines
    kept: list[tuple[int, str]] = []
    for part in reversed(last.split(b"\n")):
        text = to_text(part[-WINDOW:]).strip()
        if text:
            kept.append((number, text))
        number -= 1
        if len(kept) >= TAIL_LINES:
            break
    return tuple(reversed(kept))
