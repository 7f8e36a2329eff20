"""Files that git LFS keeps elsewhere: a checkout without its filter holds only pointers.

version https://git-lfs.github.com/spec/v1
oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393      .git/lfs/objects/4d/7a/4d7a21...
size 12345

The content is copied from there, without the filter's program and without the network.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from experiment_debugger import git
from experiment_debugger.smoke.placing import fits_on_disk

LARGEST_TOGETHER = 4 << 30  # bytes
LARGEST_POINTER = 1024  # bytes, by the specification
_POINTER = re.compile(rb"version https://git-lfs\.github\.com/spec/v1\n(?:.*\n)*?oid sha256:([0-9a-f]{64})\nsize (\d+)")


def bring_large_files(root: Path, folder: Path) -> list[str]:
    """Put the content in the place of pointers in the worktree; sentences on those whose content is not there."""
    common = git.output(root, "rev-parse", "--git-common-dir")
    missing, left = [], LARGEST_TOGETHER
    for name, digest, size in _pointers(folder):
        stored = root / (common or ".git") / "lfs" / "objects" / digest[:2] / digest[2:4] / digest
        path = folder / name
        if not stored.is_file():
            missing.append(f"{name} (git LFS): its content is not here; `git lfs fetch`")
        elif size > left or not fits_on_disk(folder, size):
            missing.append(f"{name} (git LFS): {size / (1 << 30):.1f} GiB are too much to copy")
        else:
            mode = path.stat().st_mode
            path.unlink()
            shutil.copyfile(stored, path)
            path.chmod(mode)
            left -= size
    return missing


def _pointers(folder: Path) -> Iterator[tuple[str, str, int]]:
    """(name, digest, size) of the pointers among the tracked files; none where no attributes speak of LFS."""
    attributes = git.paths(folder, "ls-files", "-z", "--", ".gitattributes", "**/.gitattributes")
    if not any(b"filter=lfs" in (folder / name).read_bytes() for name in attributes if (folder / name).is_file()):
        return
    for name in git.paths(folder, "ls-files", "-z"):
        path = folder / name
        if os.path.islink(path) or not path.is_file() or path.stat().st_size > LARGEST_POINTER:
            continue
        if found := _POINTER.match(path.read_bytes()):
            yield name, found[1].decode(), int(found[2])
