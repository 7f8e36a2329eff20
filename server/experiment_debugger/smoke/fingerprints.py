"""Whether files are still what they were: fingerprints of a run's artifacts before and after a smoke test.

before = fingerprint([outputs/42/last.pt, logs/run-42.log])
after = fingerprint([...])
changed(before, after)  ->  ["modified: outputs/42/last.pt"]

Up to 64 MiB a file and 1 GiB together all bytes count; beyond that size, time of change and both ends do.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import BinaryIO

LARGEST_WHOLE = 64 << 20
MOST_WHOLE = 1 << 30
END = 1 << 20
CHUNK = 1 << 20
UNREADABLE = "unreadable"


def fingerprint(paths: Iterable[Path]) -> dict[Path, str]:
    """The fingerprint of each file that exists, and of each file below a folder; one that cannot be read says so."""
    found: dict[Path, str] = {}
    left = MOST_WHOLE
    for path in sorted({file for named in paths for file in _files(named)}):
        try:
            size = path.stat().st_size
            whole = size <= min(LARGEST_WHOLE, left)
            found[path] = _of_all(path) if whole else _of_ends(path)
            left -= size if whole else 0
        except FileNotFoundError:
            continue
        except OSError:
            found[path] = UNREADABLE
    return found


def changed(before: Mapping[Path, str], after: Mapping[Path, str]) -> list[str]:
    """What happened to the files: `modified: PATH`, `removed: PATH`, `created: PATH`."""
    changes = []
    for path in sorted(before.keys() | after.keys()):
        old, new = before.get(path), after.get(path)
        if old != new:
            changes.append(f"{'created' if old is None else 'removed' if new is None else 'modified'}: {path}")
    return changes


def _files(path: Path) -> Iterable[Path]:
    if not path.is_dir():
        return [path] if path.is_file() else []
    return [Path(parent, name) for parent, _, names in os.walk(path) for name in names if Path(parent, name).is_file()]


def _of_all(path: Path) -> str:
    digest = hashlib.blake2b(digest_size=20)
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _of_ends(path: Path) -> str:
    digest = hashlib.blake2b(digest_size=20)
    with path.open("rb") as file:
        status = os.fstat(file.fileno())
        _add(digest, file, 0)
        _add(digest, file, max(0, status.st_size - END))
    return f"{status.st_size}-{status.st_mtime_ns // 1_000_000}-{digest.hexdigest()}"


def _add(digest: hashlib.blake2b, file: BinaryIO, offset: int) -> None:
    file.seek(offset)
    digest.update(file.read(END))
