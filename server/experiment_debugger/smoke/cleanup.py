"""What is run at the very end of a test, such as `git worktree remove`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

SECONDS = 30.0  # for one command


def clean_up(commands: Sequence[Sequence[str]]) -> None:
    """Run each of the commands; one that fails keeps no other from running and is told on stderr."""
    for command in commands:
        try:
            _run(command)
        except (OSError, subprocess.SubprocessError) as problem:
            sys.stderr.write(f"{' '.join(command)}: {problem}\n")


def _run(command: Sequence[str]) -> None:
    subprocess.run(  # noqa: S603 (commands of ours, no shell)
        list(command),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        timeout=SECONDS,
        check=True,
    )
