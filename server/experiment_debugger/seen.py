"""What a run's inputs were when it was first looked at: a config, checkpoint or job that was overwritten since is told.

cache/seen/3f2a9c01.json   {"configs/42.yaml": ["2026-11-30", "812-9b1c..."]}
configs/42.yaml: not what it was on 2026-11-30

Kept in the user's cache folder; nothing is written into the project.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import date
from itertools import islice
from pathlib import Path

from experiment_debugger.errors import DebuggerError
from experiment_debugger.run import Artifact, Run

KINDS = ("config", "job", "checkpoint", "environment", "code")
WHOLE = 1 << 20  # bytes of a file that is hashed as a whole
END = 1 << 16  # bytes of both ends of a larger one
MOST_FILES = 200


def changed_since_first_seen(run: Run) -> tuple[str, ...]:
    """The inputs of a run that are not what they were when it was first looked at; remembers those new to it."""
    try:
        place = _place(run)
    except DebuggerError:  # without a cache folder nothing is remembered, and the answer stands
        return ()
    now = {one.name: found for one in _inputs(run) if (found := _fingerprint(one.path)) is not None}
    first = _read(place)
    today = date.today().isoformat()  # noqa: DTZ011 (the day that people know it by)
    fresh = {name: (today, found) for name, found in now.items() if name not in first}
    if fresh:
        _write(place, {**first, **fresh})
    changed = [name for name, found in now.items() if name in first and first[name][1] != found]
    return tuple(f"{name}: not what it was on {first[name][0]}" for name in changed)


def _inputs(run: Run) -> Iterator[Artifact]:
    yield from islice((one for one in run.artifacts if one.kind in KINDS), MOST_FILES)


def _fingerprint(path: Path) -> str | None:
    """Size and content; of a large file both ends. A copy with another date is the same file."""
    try:
        size = path.stat().st_size
        with path.open("rb") as stream:
            digest = hashlib.sha256(stream.read(WHOLE if size <= WHOLE else END))
            if size > WHOLE:
                stream.seek(-END, os.SEEK_END)
                digest.update(stream.read(END))
    except OSError:
        return None
    return f"{size}-{digest.hexdigest()[:16]}"


def _place(run: Run) -> Path:
    name = hashlib.sha256(f"{run.project.root}\n{run.id}".encode("utf-8", "surrogateescape")).hexdigest()[:24]
    return run.project.cache / "seen" / f"{name}.json"


def _read(place: Path) -> dict[str, tuple[str, str]]:
    """(day, fingerprint) by name; nothing where the file is not there or damaged."""
    try:
        found = json.loads(place.read_text(encoding="utf-8"))
        return {str(name): (str(day), str(mark)) for name, (day, mark) in found.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _write(place: Path, files: dict[str, tuple[str, str]]) -> None:
    draft = place.with_suffix(f".{os.getpid()}")
    with suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(json.dumps(files), encoding="utf-8")
        draft.replace(place)
