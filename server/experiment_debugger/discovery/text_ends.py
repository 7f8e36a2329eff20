"""The first and last 64 kB of a text artifact: enough to see what it names, however long it is."""

from __future__ import annotations

import lzma
import os
import zlib
from functools import lru_cache

from experiment_debugger.discovery.inventory import read_head

END_BYTES = 65_536
MAX_YAML_BYTES = 1_000_000


@lru_cache(maxsize=1024)
def _ends(path: str, size: int, _mtime: float, limit: int) -> str:
    """Cached by size and time, because a run that is being written changes."""
    head = read_head(path, limit)
    if path.endswith((".gz", ".xz")):
        return _decompressed(path, head).decode("utf-8", "replace")
    if size <= limit:
        return head.decode("utf-8", "replace")
    try:
        with open(path, "rb") as file:
            file.seek(max(limit, size - limit))
            return (head + b"\n" + file.read(limit)).decode("utf-8", "replace")
    except OSError:
        return head.decode("utf-8", "replace")


def ends_of(path: str, limit: int = END_BYTES) -> str:
    """The first and last `limit` bytes as text; empty when the file cannot be read."""
    try:
        info = os.stat(path)
    except OSError:
        return ""
    return _ends(path, info.st_size, info.st_mtime, limit)


def _decompressed(path: str, head: bytes) -> bytes:
    """The beginning of compressed text; the end would need all of it."""
    try:
        if path.endswith(".gz"):
            return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(head, END_BYTES)
        return lzma.LZMADecompressor().decompress(head, END_BYTES)
    except (zlib.error, lzma.LZMAError, EOFError):
        return b""
