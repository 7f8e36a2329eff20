"""Python tracebacks in logs, also interleaved by rank, chained, boxed by rich, or wrapped by a DataLoader worker.

[rank1]: Traceback (most recent call last):
[rank1]:   File "/proj/train.py", line 41, in <module>
[rank1]:     main()
[rank1]: RuntimeError: received 0 items of ancdata
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from experiment_debugger.readers.lines import Consumer, Line, to_text
from experiment_debugger.readers.prefixes import split_prefix

HEADER = b"Traceback (most recent call last"
_FRAME = re.compile(r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d+)(?:, in (?P<function>.+))?')
_RICH_FRAME = re.compile(r"^\s*[│|]\s*(?P<file>/?[\w./\-]+\.py):(?P<line>\d+) in (?P<function>[\w<>.]+)")
_EXCEPTION = re.compile(
    r"^(?P<type>(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*(?:Error|Exception|Interrupt|Exit|Warning|Timeout|Iteration|Failure|Fault|Abort|Quit|Stop|Died|Crash(?:ed)?|NotFound|Invalid|Denied))"
    r"(?::\s?(?P<message>.*))?$"
)
_ANY_EXCEPTION = re.compile(r"^(?P<type>(?:[a-z_]\w*\.)+[A-Z]\w*)(?::\s?(?P<message>.*))?$")
_LIBRARY = re.compile(r"site-packages|dist-packages|/lib/python\d|\\lib\\|<frozen|^<|/pyenv/|importlib|/usr/lib/")
LONGEST_BLOCK = 1 << 16  # bytes of a line that may hold a whole traceback
MOST_FRAMES = 200
MOST_FOREIGN = 40  # lines of other output inside one traceback before it is given up
MOST_BLOCKS = 400


@dataclass(slots=True)
class Frame:
    """One `File ..., line N, in f` entry; `at` is the line of the log that shows it."""

    at: int
    file: str
    line: int
    function: str


@dataclass(slots=True)
class Traceback:
    """One block from header to exception line.

    `cause` is the block that this one wraps or handles: chained exceptions, the "Original Traceback" of a loader
    worker, the "-- Process 0 terminated with the following error:" of a spawned rank.
    `ignored`: Python itself printed that the exception was ignored, or logging failed: never fatal.
    """

    first: int
    prefix: str
    rank: int | None
    time: float | None
    not_before: float | None
    frames: list[Frame] = field(default_factory=list)
    last: int = 0
    exception: str = ""
    message: str = ""
    text: str = ""
    cause: Traceback | None = None
    wrapped_by: Traceback | None = None
    ignored: bool = False
    open: bool = True
    foreign: int = 0

    @property
    def user_frame(self) -> Frame | None:
        """The deepest frame outside installed libraries, else the deepest."""
        own = [frame for frame in self.frames if not _LIBRARY.search(frame.file)]
        return own[-1] if own else (self.frames[-1] if self.frames else None)

    @property
    def root(self) -> Traceback:
        """The first exception of the chain."""
        block = self
        while block.cause is not None:
            block = block.cause
        return block


class TracebackReader(Consumer):
    """Collects the tracebacks of one file."""

    literals = (HEADER, b"During handling of the above", b"above exception was the direct")

    def __init__(self) -> None:
        self.blocks: list[Traceback] = []
        self._open: dict[str, Traceback] = {}
        self._chained: dict[str, Traceback] = {}
        self._recent: dict[str, Traceback] = {}

    def candidate(self, line: Line, hits: Sequence[tuple[int, int]]) -> None:
        """A header or a chaining sentence."""
        text = to_text(line.raw[-LONGEST_BLOCK:]).rstrip()
        prefix, rank, rest = split_prefix(text)
        if HEADER.decode() in text:
            self._start(line, prefix, rank, rest)
            self._rest_of_line(line, prefix, text)
        elif prefix in self._recent:
            self._chained[prefix] = self._recent[prefix]
        self.following = bool(self._open)

    def _rest_of_line(self, line: Line, prefix: str, text: str) -> None:
        """A JSON line or notebook holds the whole traceback as \\r segments of one line."""
        block = self._open.get(prefix)
        for part in text.split(HEADER.decode(), 1)[1].split("\r")[1:]:
            if block is not None and block.open:
                self._feed(block, line, part.rstrip())

    def _start(self, line: Line, prefix: str, rank: int | None, rest: str) -> None:
        if len(self.blocks) >= MOST_BLOCKS:
            return
        pending = self._open.pop(prefix, None)
        block = Traceback(line.number, prefix, rank, line.time, line.not_before)
        before = next(line.before(1), "")
        head = rest.split("Traceback (most recent", 1)[0]
        block.ignored = "Exception ignored in" in before or "--- Logging error ---" in before
        previous = self._recent.get(prefix)
        quoted = "Original " in head or "terminated with the following error" in before
        if quoted and previous is not None and line.number - previous.last <= 4:
            previous.cause, block.wrapped_by = block, previous
        elif prefix in self._chained:
            block.cause = self._chained.pop(prefix)
            block.cause.wrapped_by = block
        if pending is not None and not pending.text:
            self._close(pending)
        self.blocks.append(block)
        self._open[prefix] = block

    def follow(self, line: Line) -> None:
        """Lines of open blocks."""
        text = to_text(line.raw[:6000]).rstrip("\r\n ")
        prefix, _, rest = split_prefix(text)
        if prefix not in self._open and "" in self._open and prefix:
            prefix, rest = "", text
        block = self._open.get(prefix)
        for part in rest.split("\r") if block is not None else ():
            if block is not None and block.open:
                self._feed(block, line, part.rstrip())
        self.following = bool(self._open)

    def _feed(self, block: Traceback, line: Line, text: str) -> None:
        frame = _FRAME.match(text) or _RICH_FRAME.match(text)
        if frame:
            block.frames.append(
                Frame(line.number, frame["file"], int(frame["line"]), (frame["function"] or "").strip())
            )
            if len(block.frames) > MOST_FRAMES:
                del block.frames[MOST_FRAMES // 2]
            return
        if not text or text[0] in " \t│|╰╭":
            return
        found = _EXCEPTION.match(text) or (_ANY_EXCEPTION.match(text) if block.frames else None)
        if found:
            block.exception, block.message = found["type"], (found["message"] or "").strip()
            block.last, block.text = line.number, text
            self._recent[block.prefix] = block
            self._close(block)
            return
        block.foreign += 1
        if block.foreign > MOST_FOREIGN:
            self._close(block)

    def _close(self, block: Traceback) -> None:
        block.open = False
        if self._open.get(block.prefix) is block:
            del self._open[block.prefix]

    def finish(self) -> None:
        """Forget blocks that never reached an exception line (the process was killed while printing)."""
        self._open.clear()
        self.following = False
        self.blocks = [block for block in self.blocks if block.text]
