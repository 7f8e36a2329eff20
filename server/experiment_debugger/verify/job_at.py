"""The command of a run's job file at a commit, and the texts in which a run's configs may be named.

jobs/42.yaml at 1a2b3c4    command: python train.py --lr 10
jobs/42.yaml at 5d6e7f8    command: python train.py --lr 0.001
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from experiment_debugger import git
from experiment_debugger.discovery.jobfiles import read_job
from experiment_debugger.models import RunContext
from experiment_debugger.run import Run

LARGEST = 1 << 20  # bytes of a job file or config


def commands_of(run: Run, context: RunContext, before: str, after: str) -> tuple[str | None, str | None]:
    """The command of the failing run and that of the corrected job.

    What the run has recorded beats what its job file says; a job file that git does not track is the same at both.
    """
    now = run.declared.command
    recorded = str(context.command.value) if context.command else now
    jobs = [job.name for job in run.of_kind("job") if not os.path.isabs(job.name)]
    for job in jobs:
        old, new = (_command_at(run.project.root, commit, job) for commit in (before, after))
        if new is not None:
            return old or recorded, new
    return recorded, now


def texts_of(run: Run, commit: str, command: str | None, configs: tuple[str, ...]) -> Iterator[str]:
    """The command, the job files and the known configs of a run at a commit, as far as git tracks them."""
    if command:
        yield command
    for name in dict.fromkeys([*configs, *(job.name for job in run.of_kind("job"))]):
        text = text_at(run.project.root, commit, name)
        if text is not None:
            yield text


def text_at(root: Path, commit: str, name: str) -> str | None:
    """A tracked text file at a commit; None where it is not tracked, or too large."""
    size = git.output(root, "cat-file", "-s", f"{commit}:{name}")
    if size is None or int(size) > LARGEST:
        return None
    return git.output(root, "cat-file", "blob", f"{commit}:{name}")


def _command_at(root: Path, commit: str, job: str) -> str | None:
    text = text_at(root, commit, job)
    return read_job(text, job).command if text is not None else None
