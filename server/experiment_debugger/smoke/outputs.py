"""Small outputs that a test left in its worktree, kept before the worktree goes.

worktree/outputs/42/metrics.csv                  ->  R/outputs/outputs/42/metrics.csv
worktree/runs/a/events.out.tfevents.1764539101   ->  R/outputs/runs/a/events.out.tfevents.1764539101
worktree/outputs/42/last.pt                          stays and goes
"""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from experiment_debugger import git
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
    kept: list[str] = []
    left = LARGEST_TOGETHER
    for name in _new_files(workspace):
        source, target = workspace.folder / name, records / "outputs" / name
        with suppress(OSError):
            size = source.stat().st_size
            if size > min(LARGEST, left):
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
            left -= size
            kept.append(name)
        if len(kept) == MOST_FILES:
            break
    return tuple(kept)


def _new_files(workspace: Workspace) -> Iterator[str]:
    """Files of the kinds that are kept and that neither git nor the making of the worktree put there."""
    made_by_us = {*git.paths(workspace.folder, "ls-files", "-z"), *workspace.placed}
    for count, name in enumerate(_plain_files(workspace.folder)):
        if count == MOST_LOOKED_AT:
            return
        if _KEPT.search(name) and name not in made_by_us:
            yield name


def _plain_files(folder: Path) -> Iterator[str]:
    """Files below the folder, relative to it; links are not followed and pipes and devices passed over."""
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        for name in sorted(names):
            path = os.path.join(parent, name)
            if stat.S_ISREG(os.lstat(path).st_mode):
                yield os.path.relpath(path, folder)
