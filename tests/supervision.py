"""Commands under supervision, and the parents that supervise them, for the tests of the supervisor."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from experiment_debugger.smoke.spec import MARKER
from experiment_debugger.smoke.supervised import Supervised

PATIENCE = 60.0
"""Seconds after which something that was waited for did not happen."""

PARENT = """\
import json, os, sys, time
from experiment_debugger.smoke.supervised import Supervised
specs = [json.loads(line) for line in sys.stdin]
started = [Supervised.start(spec) for spec in specs]
consoles = [os.path.join(spec["records"], "console.log") for spec in specs]
while not all(os.path.exists(console) and os.path.getsize(console) for console in consoles):
    time.sleep(0.02)
"""
"""A server that starts what it is told; how it ends comes after this."""


@dataclass
class Lab:
    """Where a test runs its commands: each has its records, and a file `cleaned` when it was cleaned up."""

    folder: Path
    tests: list[str] = field(default_factory=list)

    def spec(self, code: str, *argv: str, **changes: Any) -> dict[str, Any]:
        """The spec for a Python program, or for `argv` where that is given."""
        test = f"s-{self.folder.name}-{os.getpid()}-{len(self.tests)}"
        self.tests.append(test)
        records = self.folder / test
        records.mkdir()
        program = records / "program.py"
        program.write_text(code, encoding="utf-8")
        touch = [sys.executable, "-c", "import sys; open(sys.argv[1], 'a').write('x')", str(records / "cleaned")]
        plain: dict[str, Any] = {
            "argv": list(argv) or [sys.executable, str(program)],
            "cwd": str(self.folder),
            "env": {**os.environ, "PYTHONUNBUFFERED": "1"},
            "records": str(records),
            "seconds": PATIENCE,
            "memory_bytes": 4 << 30,
            "output_bytes": 1 << 20,
            "id": test,
            "cleanup": [["a-command-that-is-not-there"], touch],
        }
        return {**plain, **changes}

    def run(self, spec: dict[str, Any], meanwhile: Callable[[Supervised], object] | None = None) -> Outcome:
        """Run it to its end, doing something as soon as it prints."""
        with closing(Supervised.start(spec)) as supervised:
            if meanwhile:
                wait_for(lambda: output(spec))
                meanwhile(supervised)
            result = supervised.wait(PATIENCE)
        assert result is not None, "it has not ended"
        return outcome(spec, result)

    def run_code(self, code: str, **changes: Any) -> Outcome:
        """Run a Python program to its end."""
        return self.run(self.spec(code, **changes))

    def parent(self, *specs: dict[str, Any], ending: str = "time.sleep(600)") -> subprocess.Popen[bytes]:
        """A process that supervises these commands; all of them have printed something when this returns."""
        lines = "".join(json.dumps(spec) + "\n" for spec in specs)
        parent = subprocess.Popen([sys.executable, "-c", PARENT + ending], stdin=subprocess.PIPE)
        assert parent.stdin
        parent.stdin.write(lines.encode())
        parent.stdin.close()
        wait_for(lambda: all(output(spec) for spec in specs))
        return parent


@dataclass(frozen=True)
class Outcome:
    """How it ended: result.json, console.log, and whether it was cleaned up."""

    result: dict[str, Any]
    console: bytes
    cleaned: str
    records: Path

    @property
    def lines(self) -> list[str]:
        return self.console.decode("utf-8", "replace").split("\n")[:-1]


def outcome(spec: dict[str, Any], result: dict[str, Any] | None = None) -> Outcome:
    """What is on disk, which must be all there is: nothing that carries the marker lives on."""
    records = Path(spec["records"])
    cleaned = records / "cleaned"
    wait_for(lambda: cleaned.exists() and cleaned.read_text(encoding="utf-8"))
    assert alive(spec["id"]) == []
    return Outcome(
        result if result is not None else json.loads((records / "result.json").read_text(encoding="utf-8")),
        output(spec),
        cleaned.read_text(encoding="utf-8"),
        records,
    )


def output(spec: dict[str, Any]) -> bytes:
    """What the command has printed so far."""
    with suppress(FileNotFoundError):
        return (Path(spec["records"]) / "console.log").read_bytes()
    return b""


def alive(test: str) -> list[int]:
    """Processes that carry the marker of a test."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get(MARKER) == test and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
    return found


def runs(pid: int) -> bool:
    """Whether this process lives."""
    with suppress(psutil.Error):
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False


def supervisor_of(spec: dict[str, Any]) -> psutil.Process:
    """The process that supervises a running command."""
    (main, *_) = sorted(alive(spec["id"]), key=lambda pid: psutil.Process(pid).create_time())
    return psutil.Process(psutil.Process(main).ppid())


def wait_for(condition: Callable[[], object]) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)
