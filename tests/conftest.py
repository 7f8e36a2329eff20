"""What all tests share: a small project on disk, and the command line as a process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from samples import INJECTION, TRACEBACK, Cli, Done, steps, write


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """No setting of the machine reaches a test; the user's cache folder is a temporary one."""
    for name in ("EXPERIMENT_DEBUGGER_PROJECT", "CLAUDE_PROJECT_DIR", "EXPERIMENT_DEBUGGER_ROOTS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture
def cli() -> Cli:
    """Runs the command line as a process."""

    def call(
        *arguments: str, stdin: str | bytes = b"", env: dict[str, str] | None = None, cwd: Path | None = None
    ) -> Done:
        done = subprocess.run(
            [sys.executable, "-m", "experiment_debugger.cli", *arguments],
            input=stdin.encode() if isinstance(stdin, str) else stdin,
            capture_output=True,
            check=False,
            env={**os.environ, **(env or {})},
            cwd=cwd,
        )
        return Done(done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8"))

    return call


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Run 42 ran out of GPU memory at step 500 of a run with a hostile line; run 7 has finished."""
    root = tmp_path / "project"
    write(root / "logs" / "run-7.log", "".join(steps(range(200))) + "Training finished, saved checkpoint at step 200\n")
    write(root / "logs" / "run-42.log", "".join(steps(range(500))) + INJECTION + TRACEBACK)
    os.utime(root / "logs" / "run-7.log", (1_700_000_000, 1_700_000_000))
    write(root / "configs" / "base.yaml", "batch_size: 64\nlr: 3.0e-4\n")
    return root
