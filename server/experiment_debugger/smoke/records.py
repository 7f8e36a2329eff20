"""The records of one smoke test, a folder that the normal readers read as a run.

.experiment-debugger/smoke/s-20261130-214501-3f2a/
    smoke.json       what was started, and at the end the verdict
    console.log      stdout and stderr, bounded
    samples.csv      processes, memory and CPU of the whole process tree
    result.json      how it ended
    probe-4711.jsonl {"kind": "loaded", "pid": 4711, ...}   {"kind": "step", "step": 12, "loss": 0.53, ...}
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from experiment_debugger.errors import DebuggerError

HOME = ".experiment-debugger"
LARGEST_RECORD = 64 << 20  # bytes of one file of records
LARGEST_END = 1 << 16
PLAN, RESULT, PROBE, CONSOLE = "smoke.json", "result.json", "probe.json", "console.log"


@dataclass(frozen=True, slots=True)
class Probed:
    """What the code inside the user's processes has seen, over all processes.

    `loaded` are the processes that have shaken hands, `unfinished` those of them that have not said goodbye, `step` the
    last optimizer step (0: none), `loss` the last one recorded, `finite_until` the last step with a finite loss,
    `nonfinite_at` the first without, `stopped_at` the step at which the step limit ended a process, `blocked` what was
    kept from overwriting the run's artifacts, `changed` the changes that took effect, `peak_bytes` and `total_bytes`
    memory of the device.
    """

    loaded: tuple[int, ...] = ()
    unfinished: tuple[int, ...] = ()
    torch: str | None = None
    step: int = 0
    loss: float | str | None = None
    finite_until: int | None = None
    nonfinite_at: int | None = None
    stopped_at: int | None = None
    blocked: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    peak_bytes: int | None = None
    total_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Records:
    """The folder of one smoke test."""

    folder: Path

    @property
    def id(self) -> str:
        """The id of the test."""
        return self.folder.name

    @property
    def console(self) -> Path:
        """What the command has printed."""
        return self.folder / CONSOLE

    def write(self, name: str, data: dict[str, Any]) -> None:
        """Write a JSON file as a whole: whoever reads it sees the old or the new one."""
        draft = self.folder / f".{name}.{os.getpid()}"
        draft.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        draft.replace(self.folder / name)

    def read(self, name: str) -> dict[str, Any]:
        """A JSON file of the folder; empty when it is not there or broken."""
        try:
            data = json.loads((self.folder / name).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return data if isinstance(data, dict) else {}

    def rows(self) -> Iterator[dict[str, Any]]:
        """The records of all probed processes, each process in its order."""
        for path in sorted(self.folder.glob("probe-*.jsonl")):
            with suppress(OSError):
                if path.stat().st_size <= LARGEST_RECORD:
                    yield from rows_of(path.read_bytes())

    def _unfinished(self) -> Iterator[int]:
        for path in sorted(self.folder.glob("probe-*.jsonl")):
            kinds = {row.get("kind") for row in rows_of(path.read_bytes()[-LARGEST_END:])}
            pid = path.stem.rpartition("-")[2]
            if not kinds & {"exit", "stopped"} and pid.isdigit():
                yield int(pid)

    def probed(self) -> Probed:
        """What the records of the probes say together."""
        rows = list(self.rows())
        steps = [row for row in rows if row.get("kind") == "step"]
        loss = max(steps, key=_step, default={}).get("loss")
        finite = [_step(row) for row in steps if isinstance(row.get("loss"), (int, float))]
        bad = [_step(row) for row in rows if row.get("kind") == "nonfinite"]
        return Probed(
            loaded=tuple(row["pid"] for row in _of(rows, "loaded") if isinstance(row.get("pid"), int)),
            unfinished=tuple(self._unfinished()),
            torch=next(iter(_texts(rows, "torch", "version")), None),
            step=max((_step(row) for row in rows), default=0),
            loss=loss if isinstance(loss, (int, float, str)) else None,
            finite_until=max((step for step in finite if not bad or step < min(bad)), default=None),
            nonfinite_at=min(bad, default=None),
            stopped_at=max((_step(row) for row in _of(rows, "stopped")), default=None),
            blocked=_texts(rows, "blocked", "path"),
            changed=_texts(rows, "changed", "change"),
            peak_bytes=_largest(rows, "peak_bytes"),
            total_bytes=_largest(rows, "total_bytes"),
        )


def new_records(root: Path) -> Records:
    """A fresh folder below the project, which git ignores; raises `DebuggerError` when nothing can be written there."""
    home = root / HOME
    test = f"s-{datetime.now():%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"  # noqa: DTZ005 (a name people recognise)
    folder = home / "smoke" / test
    place = Path(os.path.realpath(folder.parent))
    if not place.is_relative_to(os.path.realpath(root)):
        raise DebuggerError(
            f"expected to write records below {root}; found that {folder.parent} leads to {place}; remove the link"
        )
    try:
        folder.mkdir(parents=True)
        ignore = home / ".gitignore"
        if not os.path.lexists(ignore):
            ignore.write_text("*\n", encoding="utf-8")
    except OSError as problem:
        raise DebuggerError(
            f"expected to write records below {home}; found: {problem.strerror}; make the project writable"
        ) from None
    return Records(folder)


def records_of(root: Path, test: str) -> Records:
    """The records of an earlier test; raises `DebuggerError` when there are none."""
    folder = root / HOME / "smoke" / test
    if not test.startswith("s-") or os.sep in test or not (folder / PLAN).is_file():
        known = sorted((path.name for path in folder.parent.glob("s-*")), reverse=True)[:5]
        raise DebuggerError(
            f"expected the id of a smoke test; found '{test}'; known here: {', '.join(known) or 'none'}"
        )
    return Records(folder)


def rows_of(raw: bytes) -> Iterator[dict[str, Any]]:
    """Whole JSON lines; a line that is still being written, or is damaged, is passed over."""
    for line in raw.split(b"\n"):
        try:
            row = json.loads(line) if line else None
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict):
            yield row


def _of(rows: list[dict[str, Any]], kind: str) -> Iterator[dict[str, Any]]:
    return (row for row in rows if row.get("kind") == kind)


def _step(row: dict[str, Any]) -> int:
    step = row.get("step")
    return step if isinstance(step, int) else 0


def _texts(rows: list[dict[str, Any]], kind: str, key: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(row[key] for row in _of(rows, kind) if isinstance(row.get(key), str)))


def _largest(rows: list[dict[str, Any]], key: str) -> int | None:
    return max((row[key] for row in _of(rows, "memory") if isinstance(row.get(key), int)), default=None)
