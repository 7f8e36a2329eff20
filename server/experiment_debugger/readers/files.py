"""Opening text artifacts as bytes, whatever they are packed in.

    with open_artifact(Path("logs/run-42.log.gz")) as stream:
        stream.read(1 << 20)

`.gz` goes through isal (2.8 times faster than zlib) where it is installed, `.zst` through zstandard, `.xz` through the
standard library. A file that shrinks or ends in the middle of a packed block gives what can be read. UTF-16 with a byte
order mark (what `> train.log` writes in PowerShell) becomes UTF-8.
"""

from __future__ import annotations

import codecs
import gzip
import io
import json
import lzma
import re
import stat
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, cast

from experiment_debugger.errors import UnreadableArtifact

SNIFF_BYTES = 8192
PACKED_BLOCK = 1 << 16
LARGEST_NOTEBOOK = 64 << 20  # bytes
LONGEST_JSON_LINE = 32 << 20  # bytes; a longer one is handed on in pieces
_HOLE = re.compile(rb"\0{8,}")


def open_artifact(path: Path) -> IO[bytes]:
    """The unpacked bytes of a regular file; raises `UnreadableArtifact` with one line that says why not."""
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            raise UnreadableArtifact(f"{path.name}: expected a regular file, found {_kind(mode)}; it was not opened")
        return _open(path)
    except OSError as problem:
        reason = problem.strerror or type(problem).__name__
        raise UnreadableArtifact(f"{path.name}: expected a readable file, found: {reason}") from None


def _open(path: Path) -> IO[bytes]:
    if path.suffix == ".ipynb":
        return _open_notebook(path)
    if path.suffix == ".jsonl":
        return cast("IO[bytes]", _JsonLines(path.open("rb")))
    if path.suffix == ".wandb":
        from experiment_debugger.readers.wandb.console import open_console

        return open_console(path)
    if path.suffix == ".gz":
        with suppress(ImportError):
            from isal import igzip

            opened: Any = igzip.open
            return _packed(opened(path, "rb"))
        return _packed(gzip.open(path, "rb"))
    if path.suffix == ".xz":
        return _packed(lzma.open(path, "rb"))
    if path.suffix == ".zst":
        return _open_zstandard(path)
    stream = path.open("rb")
    head = stream.read(SNIFF_BYTES)
    stream.seek(0)
    return cast("IO[bytes]", _Utf16(stream)) if _is_utf16(head) else stream


def _open_zstandard(path: Path) -> IO[bytes]:
    try:
        import zstandard
    except ImportError:
        raise UnreadableArtifact(f"{path.name}: reading .zst needs the package zstandard; install it") from None
    return _packed(zstandard.ZstdDecompressor().stream_reader(path.open("rb"), closefd=True, read_across_frames=True))


def _packed(stream: Any) -> IO[bytes]:
    return cast("IO[bytes]", _Packed(stream))


class _Packed(io.RawIOBase):
    """An unpacking stream that first gives everything in front of the damage, then raises an `OSError`."""

    def __init__(self, stream: Any) -> None:
        super().__init__()
        self._stream = stream
        self._problem: OSError | None = None

    def read(self, size: int = -1, /) -> bytes:
        """At most `size` bytes (all when negative), none only at the end."""
        parts: list[bytes] = []
        missing = size
        while missing and self._problem is None:
            try:
                block = self._stream.read1(PACKED_BLOCK if size < 0 else min(missing, PACKED_BLOCK))
            except Exception as problem:  # noqa: BLE001 - zstandard, lzma, zlib and isal raise kinds of their own
                self._problem = OSError(f"damaged or cut off ({str(problem) or type(problem).__name__})")
                break
            if not block:
                break
            parts.append(block)
            missing -= len(block)
        if self._problem is not None and not parts:
            raise self._problem
        return b"".join(parts)

    def close(self) -> None:
        """Close the file."""
        self._stream.close()
        super().close()


def _open_notebook(path: Path) -> IO[bytes]:
    """The notebook's JSON with every string line decoded, so that outputs read as a log and line numbers stay."""
    with path.open("rb") as stream:
        lines = stream.read(LARGEST_NOTEBOOK).split(b"\n")
    return io.BytesIO(b"\n".join(_decoded(line) for line in lines))


class _JsonLines(io.RawIOBase):
    """JSON lines as a log: each line as it stands, followed by its many-line texts (tracebacks) as \\r segments."""

    def __init__(self, stream: IO[bytes]) -> None:
        super().__init__()
        self._stream = stream

    def read(self, size: int = -1, /) -> bytes:
        """Whole lines, about `size` bytes of the file."""
        block = self._stream.read(size)
        if block and not block.endswith(b"\n"):
            block += self._stream.readline(LONGEST_JSON_LINE)
        return b"\n".join(line + _long_texts(line) for line in block.split(b"\n"))

    def close(self) -> None:
        """Close the file."""
        self._stream.close()
        super().close()


class _Utf16(io.RawIOBase):
    """UTF-16 as UTF-8."""

    def __init__(self, stream: IO[bytes]) -> None:
        super().__init__()
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-16")("replace")

    def read(self, size: int = -1, /) -> bytes:
        """About `size` bytes, none only at the end."""
        while True:
            block = self._stream.read(size)
            text = self._decoder.decode(block, final=not block)
            if text or not block:
                return text.encode("utf-8", "replace")

    def close(self) -> None:
        """Close the file."""
        self._stream.close()
        super().close()


def _is_utf16(head: bytes) -> bool:
    """A byte order mark alone is also what a torn log may begin with; line ends and ASCII bring NULs."""
    return head[:2] in {codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE} and b"\0" in head


def _long_texts(line: bytes) -> bytes:
    if b"\\n" not in line or not line.lstrip().startswith(b"{"):
        return b""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return b""
    texts = [value for value in row.values() if isinstance(value, str) and "\n" in value]
    return "".join("\r" + text.rstrip("\n").replace("\n", "\r") for text in texts).encode("utf-8", "replace")


def _decoded(line: bytes) -> bytes:
    text = line.strip().rstrip(b",")
    if len(text) < 2 or not (text.startswith(b'"') and text.endswith(b'"')):
        return line
    try:
        value = json.loads(text)
    except ValueError:
        return line
    return str(value).rstrip("\n").replace("\n", "\r").encode("utf-8", "replace")


def _kind(mode: int) -> str:
    names = {
        stat.S_IFDIR: "a folder",
        stat.S_IFIFO: "a FIFO",
        stat.S_IFSOCK: "a socket",
        stat.S_IFCHR: "a device",
        stat.S_IFBLK: "a device",
    }
    return names.get(stat.S_IFMT(mode), "something else")


def is_text(head: bytes) -> bool:
    """Whether the first bytes of a file look like text: few control bytes. Text in any 8-bit code passes.

    Long runs of NULs do not count: a log that was cut while its writer went on, or that a crashed node left, has them.
    """
    head = _HOLE.sub(b"", head)
    if not head.strip(b"\0"):
        return True  # `copytruncate` leaves a hole of NULs where the rotated text was
    if head[:4] in {b"\x7fELF", b"PK\x03\x04", b"\x89PNG", b"\x1f\x8b\x08\x00"}:
        return False
    odd = sum(byte < 32 and byte not in b"\t\n\r\x1b\x08\x0c" for byte in head)
    return odd <= len(head) * 0.05


def sniff(path: Path) -> bytes:
    """The first unpacked bytes of an artifact."""
    with open_artifact(path) as stream:
        try:
            return stream.read(SNIFF_BYTES)
        except (OSError, EOFError) as problem:
            raise UnreadableArtifact(f"{path.name}: {problem}") from None
