"""A Markdown file of which some sections are ours: they are rendered anew, everything else stays byte for byte.

    <!-- ed:begin evidence 3f2a9c01 -->
    ## Evidence
    ...
    <!-- ed:end evidence -->
    Lena: I saw the same on node 7.          <- written by a person

The number is a digest of what we wrote. Where it no longer fits, a person has edited our section: then their version
stays as text of theirs, and ours follows below it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from experiment_debugger.errors import DebuggerError

_MARK = re.compile(r"^[ \t]*<!-- ed:(begin|end) ([a-z-]+)(?: ([0-9a-f]{8}))? -->[ \t]*\r?$")


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of the file: text of people (no name), or what stands between the marks of one of our sections."""

    text: str
    name: str | None = None
    digest: str | None = None

    @property
    def is_edited(self) -> bool:
        """Whether somebody has changed the section since it was written."""
        return self.name is not None and self.digest != digest_of(self.text)


@dataclass(frozen=True, slots=True)
class Document:
    """The pieces of a file in their order, and the ending that most of its lines have."""

    pieces: tuple[Piece, ...] = ()
    ending: str = "\n"

    def section(self, name: str) -> str | None:
        """What one of our sections holds, with `\\n` as line ending; None where the file does not have it."""
        found = next((piece.text for piece in self.pieces if piece.name == name), None)
        return None if found is None else _plain(found).strip("\n")

    def rendered(self, sections: Mapping[str, str]) -> str:
        """The file with these sections: known ones in their place, new ones behind their predecessor."""
        pieces = [part for piece in self.pieces for part in self._renewed(piece, sections)]
        for name, body in sections.items():
            if not any(piece.name == name for piece in pieces):
                at = _place_for(name, list(sections), pieces)
                gap = self._gap(pieces[at - 1]) if at else ""
                pieces[at:at] = [Piece(gap), Piece(self._inner(body), name)]
        return "".join(self._block(piece) if piece.name else piece.text for piece in pieces)

    def changed(self, sections: Mapping[str, str]) -> tuple[str, ...]:
        """Names of the sections that are new or not what the file holds."""
        return tuple(name for name, body in sections.items() if self.section(name) != body.strip("\n"))

    def _renewed(self, piece: Piece, sections: Mapping[str, str]) -> Iterator[Piece]:
        """A piece as it stands in the new file; what a person wrote into a section of ours becomes text of theirs."""
        if piece.name is None or piece.name not in sections:
            yield piece
            return
        if piece.is_edited:
            yield Piece(piece.text + self._gap(piece))
        yield Piece(self._inner(sections[piece.name]), piece.name)

    def _gap(self, before: Piece) -> str:
        """What makes a blank line behind a piece."""
        if before.name is not None or before.text.endswith("\n"):
            return "" if before.text.endswith(("\n\n", "\n\r\n")) and before.name is None else self.ending
        return self.ending * 2 if before.text else ""

    def _inner(self, body: str) -> str:
        return _plain(body).strip("\n").replace("\n", self.ending) + self.ending

    def _block(self, piece: Piece) -> str:
        mark = piece.digest or digest_of(piece.text)
        return (
            f"<!-- ed:begin {piece.name} {mark} -->{self.ending}{piece.text}<!-- ed:end {piece.name} -->{self.ending}"
        )


def read_document(text: str, name: str) -> Document:
    """The pieces of a file; `DebuggerError` with the line where marks are damaged."""
    pieces: list[Piece] = []
    open_mark: tuple[str, str | None, int] | None = None
    kept: list[str] = []
    for number, line in enumerate(re.findall(r"[^\n]*\n|[^\n]+", text), 1):
        mark = _MARK.match(line.rstrip("\n"))
        if mark is None:
            kept.append(line)
            continue
        starts, section = mark[1] == "begin", mark[2]
        wrong = open_mark is not None if starts else open_mark is None or open_mark[0] != section
        if wrong or (starts and any(piece.name == section for piece in pieces)):
            raise _damaged(name, number, line)
        if kept or not starts:
            inner = open_mark if not starts else None
            pieces.append(Piece("".join(kept), *((inner[0], inner[1]) if inner else ())))
        kept, open_mark = [], (section, mark[3], number) if starts else None
    if open_mark is not None:
        raise _damaged(name, open_mark[2], f"<!-- ed:begin {open_mark[0]} --> without its end")
    if kept:
        pieces.append(Piece("".join(kept)))
    return Document(tuple(pieces), "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n")


def digest_of(text: str) -> str:
    """What a section is known by; line endings do not count, because git may change them."""
    return hashlib.sha256(_plain(text).strip("\n").encode("utf-8", "surrogateescape")).hexdigest()[:8]


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n")


def _damaged(name: str, line: int, found: str) -> DebuggerError:
    return DebuggerError(
        f"{name}:{line}: expected pairs of <!-- ed:begin NAME --> and <!-- ed:end NAME -->, each once; found "
        f"{found.strip()[:80]}; put the marks right or delete them; nothing was written"
    )


def _place_for(name: str, order: list[str], pieces: list[Piece]) -> int:
    """Behind the nearest section that comes before it; at the end of the file where there is none."""
    for earlier in reversed(order[: order.index(name)]):
        for index, piece in enumerate(pieces):
            if piece.name == earlier:
                return index + 1
    return len(pieces)
