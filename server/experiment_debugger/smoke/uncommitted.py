"""The working tree as it is now, brought into a fresh worktree at its commit.

changed and staged files   as they stand in the working tree, byte for byte (no patch: filters, line ends and modes)
deleted files              gone
untracked, not ignored     small files; never outputs, virtual environments or folders that are too large for code
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from experiment_debugger import git
from experiment_debugger.smoke.output_folders import OutputFolders
from experiment_debugger.smoke.placing import MOST_CHILDREN, is_environment, is_never_placed, place_copy

LARGEST_UNTRACKED = 4 << 20  # bytes; more is data and is linked where it is named


def bring_changes(root: Path, folder: Path, outputs: OutputFolders) -> bool:
    """Make the worktree `folder` what the working tree `root` is; whether there was anything to bring."""
    compared = ("diff", "-z", "--name-only", "--no-renames", "--no-ext-diff", "--ignore-submodules")
    deleted = git.paths(root, *compared, "--diff-filter=D", "HEAD")
    for name in deleted:  # first: where a folder has become a link, its old files would be deleted behind the link
        _delete(folder, name)
    present = git.paths(root, *compared, "--diff-filter=d", "HEAD")
    untracked = [name for name in _untracked(root) if not outputs.holds(name)]
    for name in (*present, *untracked):
        with suppress(FileNotFoundError):  # an entry of the index alone
            place_copy(root, folder, name)
    return bool(deleted or present or untracked)


def _delete(folder: Path, name: str) -> None:
    path = folder / name
    path.unlink(missing_ok=True)
    for parent in path.parents:
        if parent == folder or os.listdir(parent):
            return
        parent.rmdir()


def _untracked(root: Path) -> Iterator[str]:
    for name in git.paths(root, "ls-files", "--others", "--exclude-standard", "--directory", "-z"):
        path = root / name.rstrip("/")
        if is_never_placed(name):
            continue
        if path.is_symlink() or not path.is_dir():
            yield from [name] if _is_small(path) else []
        else:
            yield from _small_files(root, path)


def _small_files(root: Path, folder: Path) -> list[str]:
    """The small files of an untracked folder; none of a folder that holds more than code does."""
    found: list[str] = []
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not is_never_placed(name)]
        if is_environment(Path(parent)):
            folders[:] = []
            continue
        found += [os.path.relpath(os.path.join(parent, name), root) for name in names if not is_never_placed(name)]
        if len(found) > MOST_CHILDREN:
            return []
    return [name for name in found if _is_small(root / name)]


def _is_small(path: Path) -> bool:
    with suppress(OSError):
        return path.is_symlink() or (path.is_file() and path.stat().st_size <= LARGEST_UNTRACKED)
    return False
