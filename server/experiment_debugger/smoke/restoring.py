"""A checkpoint to start from, copied into the worktree: the program may write to its path, or beside it.

outputs/42/best.pt           ->  worktree/outputs/42/best.pt
/scratch/ann/checkpoint-600  ->  worktree/resumed/checkpoint-600
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from experiment_debugger.errors import DebuggerError
from experiment_debugger.smoke.inputs import LARGEST_COPY
from experiment_debugger.smoke.placing import fits_on_disk, size_of
from experiment_debugger.smoke.workspace import Workspace

ELSEWHERE = "resumed"
"""Folder of the worktree for a checkpoint from outside the project; its own name tells some trainers the step."""


def place_checkpoint(workspace: Workspace, root: Path, source: Path) -> Path:
    """The path of the copy (in place: of the checkpoint itself); `DebuggerError` when it is too large to copy."""
    if workspace.in_place:
        return source
    size = size_of(source)
    if size > LARGEST_COPY or not fits_on_disk(workspace.folder, size):
        raise DebuggerError(
            f"expected a checkpoint of at most {LARGEST_COPY >> 30} GiB that fits on the disk; found {source.name} "
            f"with {size / (1 << 30):.1f} GiB; give a smaller one, or the command with its path after --"
        )
    target = workspace.folder / _name(root, source)
    if not _is_own(target, workspace.folder):
        target = workspace.folder / ELSEWHERE / source.name
    target.parent.mkdir(parents=True, exist_ok=True)
    if not os.path.lexists(target):
        if source.is_dir():
            shutil.copytree(source, target)
        else:
            shutil.copy2(source, target)
    return target


def _name(root: Path, source: Path) -> Path:
    try:
        return source.relative_to(root.resolve())
    except ValueError:
        return Path(ELSEWHERE, source.name)


def _is_own(target: Path, folder: Path) -> bool:
    """Whether a path is the worktree's: below a linked input it would be the original."""
    return Path(os.path.realpath(target)).is_relative_to(os.path.realpath(folder))
