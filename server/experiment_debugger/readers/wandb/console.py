r"""The console text that a `.wandb` file carries, as a log.

    output_raw { output_type: STDOUT, line: "step 20 loss 2.29" }  { line: "\n" }  { line: "\r 3/9 it" }

Pieces of stdout and stderr stand in the order in which they were written; \r stays, as in a terminal's log. Lines are
counted in this text.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, cast

from experiment_debugger.readers.wandb.fields import message_in, messages
from experiment_debugger.readers.wandb.records import RecordFile, not_wandb, open_records

OUTPUT_KINDS = frozenset({4, 13})  # Record.output and Record.output_raw; a run writes one of them
_LINE = 3


def open_console(path: Path) -> IO[bytes]:
    """The console text of a run as UTF-8; raises `UnreadableArtifact` where the file holds no W&B records."""
    console = _Console(open_records(path))
    if not console.has_records():
        console.close()
        raise not_wandb(path)
    return cast("IO[bytes]", console)


class _Console(io.RawIOBase):
    """The texts of all output records, one behind the other; memory is one record and what was asked for."""

    def __init__(self, stream: IO[bytes]) -> None:
        super().__init__()
        self._stream = stream
        self._file = RecordFile(stream)
        self._pieces = self._texts()
        self._rest = next(self._pieces, b"")

    def has_records(self) -> bool:
        """Whether this is a W&B file, be it an empty one."""
        return self._file.has_header or self._file.records > 0

    def _texts(self) -> Iterator[bytes]:
        for record in self._file:
            with suppress(ValueError, IndexError):
                yield b"".join(messages(message_in(record, OUTPUT_KINDS)[1], _LINE))

    def readable(self) -> bool:
        """Always."""
        return True

    def read(self, size: int = -1, /) -> bytes:
        """At most `size` bytes (all when negative), none only at the end."""
        parts, length = [self._rest], len(self._rest)
        while size < 0 or length < size:
            piece = next(self._pieces, None)
            if piece is None:
                break
            parts.append(piece)
            length += len(piece)
        text = b"".join(parts)
        cut = len(text) if size < 0 else size
        self._rest = text[cut:]
        return text[:cut]

    def close(self) -> None:
        """Close the file."""
        self._stream.close()
        super().close()
