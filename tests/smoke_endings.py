"""Runs as a scheduler starts and ends them: by themselves, at the time limit, or at the memory limit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

Ending = Callable[[subprocess.Popen[bytes], Path], str]
"""Waits for the end of a run, whose log is given, or brings it about; returns the last words of the scheduler."""
SECONDS = 60.0
"""Longer than any run takes, also on a busy machine."""
SILENCE = 4.0
"""Seconds without a word in the log after which a scheduler of ours ends a run that hangs."""
MEMORY_LIMIT = 1 << 30
"""Bytes of resident memory at which a kernel of ours kills the process."""
TIME_LIMIT = timedelta(minutes=30)
"""What the job script of the run that hangs asks for; the scheduler's line is dated so, the wait is not that long."""
CANCELLED = "slurmstepd: error: *** JOB 42 ON node01 CANCELLED AT {:%Y-%m-%dT%H:%M:%S} DUE TO TIME LIMIT ***\n"
OOM_KILL = (
    "slurmstepd: error: Detected 1 oom_kill event in StepId=42.batch. Some of the step tasks have been OOM Killed.\n"
)


def environment() -> dict[str, str]:
    """What a run needs: `python` is the interpreter of the tests."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {"PATH": path, "HOME": str(Path.home()), "PYTHONDONTWRITEBYTECODE": "1"}


def run(argv: Sequence[str], log: Path, *, root: Path, ends: Ending) -> None:
    """Run a command in `root` as a scheduler would, its output and the last words of the scheduler in `log`."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as output:
        process = subprocess.Popen(
            argv, cwd=root, env=environment(), stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            start_new_session=True,
        )  # fmt: skip
    try:
        last_words = ends(process, log)
    finally:
        _kill(process)
    with log.open("a", encoding="utf-8") as output:
        output.write(last_words)


def exits(process: subprocess.Popen[bytes], log: Path) -> str:  # noqa: ARG001 - every ending has one signature
    """Wait until the run ends by itself."""
    process.wait(SECONDS)
    return ""


def hangs(process: subprocess.Popen[bytes], log: Path) -> str:
    """Wait until the log has been silent for long, then end the run as a scheduler does at the time limit."""
    started = datetime.now().astimezone()
    while time.time() - log.stat().st_mtime < SILENCE or not log.stat().st_size:
        assert process.poll() is None, log.read_text(encoding="utf-8")
        time.sleep(0.1)
    _kill(process)
    return CANCELLED.format(started + TIME_LIMIT)


def outgrows(process: subprocess.Popen[bytes], log: Path) -> str:
    """Kill the process of the job that has reached the memory limit, as the kernel does; its shell says so."""
    import psutil

    while True:
        assert process.poll() is None, log.read_text(encoding="utf-8")
        for child in psutil.Process(process.pid).children(recursive=True):
            if child.memory_info().rss > MEMORY_LIMIT:
                child.kill()
                process.wait(SECONDS)
                return OOM_KILL
        time.sleep(0.05)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the process and everything in its session."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
