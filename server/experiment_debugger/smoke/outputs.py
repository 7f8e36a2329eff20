"""Small outputs that a test left in its worktree, kept before the worktree goes.

worktree/outputs/42/metrics.csv                  ->  R/outputs/outputs/42/metrics.csv
worktree/runs/a/events.out.tfevents.1764539101   ->  R/outputs/runs/a/events.out.tfevents.1764539101
worktree/../runs/x.csv                           ->  R/outputs/beside/runs/x.csv
worktree/outputs/42/last.pt                          stays and goes
"""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from experiment_debugger import git
from experiment_debugger.errors import DebuggerError
from experiment_debugger.smoke.workspace import Workspace

LARGEST = 8 << 20  # bytes of one file
LARGEST_TOGETHER = 64 << 20
MOST_FILES = 200
MOST_LOOKED_AT = 20_000
_KEPT = re.compile(r"\.(?:csv|tsv|jsonl?|wandb|log|txt|out|err|ya?ml)$|tfevents", re.IGNORECASE)
_SKIPPED = {".git", "__pycache__", "node_modules"}


def collect_outputs(workspace: Workspace, records: Path) -> tuple[str, ...]:
    """Copy the metrics, logs and configs that the command made to `records/outputs`; returns their names there.

    Nothing is collected in place: there the outputs stay where they are.
    """
    if workspace.in_place:
        return ()
    try:
        new = list(_new_files(workspace))
    except (DebuggerError, OSError):  # the command has done away with its repository: no telling what it made
        return ()
    kept: list[str] = []
    left = LARGEST_TOGETHER
    for name in new:
        source = workspace.folder / name
        with suppress(OSError):
            size = source.stat().st_size
            if size <= min(LARGEST, left):
                _keep(source, records / "outputs" / name.replace("../", "beside/", 1))
                left -= size
                kept.append(name)
        if len(kept) == MOST_FILES:
            break
    return tuple(kept)


def _keep(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target, follow_symlinks=False)


def _new_files(workspace: Workspace) -> Iterator[str]:
    """Files of the kinds that are kept and that neither git nor the making of the worktree put there."""
    there_before = {*git.paths(workspace.folder, "ls-files", "-z"), *workspace.placed}
    below = _plain_files(workspace.folder.parent, workspace.folder)
    for name in islice(below, MOST_LOOKED_AT):
        if _KEPT.search(name) and name not in there_before:
            yield name


def _plain_files(base: Path, folder: Path) -> Iterator[str]:
    """Files below our own folder, relative to the worktree in it; links, pipes and devices are passed over."""
    for parent, folders, names in os.walk(base):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        for path in (os.path.join(parent, name) for name in sorted(names)):
            with suppress(OSError):
                if stat.S_ISREG(os.lstat(path).st_mode):
                    yield os.path.relpath(path, folder)
