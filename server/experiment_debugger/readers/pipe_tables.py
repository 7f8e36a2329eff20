"""Pipe tables of Markdown (GFM) as people edit them: cells, escapes, and where the tables of a text stand.

| ID | Summary |
|:---|---------|
| RSK-007 | a \\| b |
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_DELIMITER = re.compile(r"^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_SPECIAL = re.compile(r"[\\|`*\[\]<]|~~|(?<!\w)_|_(?!\w)")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")


@dataclass(frozen=True, slots=True)
class Table:
    """One table: the 0-based line of its head and of what follows its rows; `delimited`: dashes are below the head."""

    head: int
    end: int
    delimited: bool = True


def spans_of(line: str) -> list[tuple[int, int]]:
    """Start and end of the text between the unescaped pipes of a line, outer pipes and the line ending aside."""
    content = line.rstrip("\r\n")
    end = len(content.rstrip(" \t"))
    pipes = [found.start() for found in re.finditer(r"(?:\\.)|(\|)", content[:end]) if found[1]]
    start = len(content) - len(content.lstrip(" \t"))
    if pipes and pipes[0] == start:
        start, pipes = pipes[0] + 1, pipes[1:]
    if pipes and pipes[-1] == end - 1:
        end, pipes = pipes[-1], pipes[:-1]
    return list(zip([start, *(at + 1 for at in pipes)], [*pipes, max(end, start)], strict=True))


def cells_of(line: str) -> list[str]:
    """The raw texts of the cells of a line."""
    return [line[start:end] for start, end in spans_of(line)]


def escaped(text: str) -> str:
    """A cell that shows exactly this text: one line, nothing in it is markup."""
    flat = " ".join("".join(mark if mark.isprintable() else " " for mark in text).split())
    return _SPECIAL.sub(lambda found: "".join(f"\\{mark}" for mark in found[0]), flat)


def unescaped(cell: str) -> str:
    """The text that a cell shows."""
    return _ESCAPED.sub(r"\1", cell.strip())


def is_delimiter(line: str) -> bool:
    """Whether a line is the row of dashes under a head."""
    return "-" in line and bool(_DELIMITER.match(line.rstrip("\r\n")))


def tables_in(lines: list[str]) -> Iterator[Table]:
    """The tables of a text, outside fenced code and comments; also heads whose delimiter is missing or wrong."""
    index, hidden = 0, _hidden(lines)
    while index < len(lines):
        if index in hidden or "|" not in lines[index]:
            index += 1
            continue
        end = index
        while end < len(lines) and end not in hidden and "|" in lines[end]:
            end += 1
        dashes = next((at for at in range(index + 1, end) if is_delimiter(lines[at])), None)
        head = index if dashes is None else dashes - 1  # a sentence with a pipe may stand directly above
        yield Table(head, end, dashes is not None)
        index = end


def _hidden(lines: list[str]) -> set[int]:
    """Lines inside fenced code, and inside comments that go over several lines."""
    hidden: set[int] = set()
    fence, comment = "", False
    for index, line in enumerate(lines):
        mark = _FENCE.match(line)
        if comment or fence:
            hidden.add(index)
            comment = comment and "-->" not in line
            if mark and fence and mark[1].startswith(fence) and not line[mark.end() :].strip():
                fence = ""
        elif mark:
            hidden.add(index)
            fence = mark[1]
        elif "<!--" in line and "-->" not in line.rpartition("<!--")[2]:
            comment = True
    return hidden
