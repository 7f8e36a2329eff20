"""How a file or folder of the project is put into a worktree: copied, linked or never."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

MOST_CHILDREN = 2000
"""Entries of a folder that are looked at one by one; a folder with more holds data."""
SPARE_DISK = 2 << 30
"""Bytes that a copy must leave free."""
_NEVER = re.compile(
    r"\.git|\.experiment-debugger|\.(?:pytest|mypy|ruff)_cache|\.ipynb_checkpoints|\.idea|\.vscode|\.tox|\.nox"
    r"|node_modules|__pycache__|.*\.egg-info|.*\.pyc|\.DS_Store"
)
_IMPORT = re.compile(r"(?m)^\s*(?:from|import)\s+([^#\n]+)")
_WORD = re.compile(r"\w+")


def is_never_placed(name: str) -> bool:
    """Whether a path is a tool's own matter: written to by tools that run in the worktree."""
    return bool(_NEVER.fullmatch(os.path.basename(name.rstrip("/"))))


def is_environment(folder: Path) -> bool:
    """Whether a folder is a virtual environment of Python or conda."""
    return (folder / "pyvenv.cfg").exists() or (folder / "conda-meta").exists()


def place_copy(root: Path, folder: Path, name: str) -> None:
    """Copy a file, link or folder from the project to the same place of the worktree, whatever stands there."""
    source, target = root / name, folder / name
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.is_dir() and not target.is_symlink():
        shutil.rmtree(target)
    else:
        target.unlink(missing_ok=True)
    if source.is_dir() and not source.is_symlink():
        shutil.copytree(source, target, symlinks=True)
    else:
        shutil.copy2(source, target, follow_symlinks=False)


def place_link(root: Path, folder: Path, name: str) -> None:
    """Link to a file or folder of the project from the same place of the worktree."""
    source, target = root / name, folder / name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.symlink_to(source, target_is_directory=source.is_dir())


def fits_on_disk(folder: Path, size: int) -> bool:
    """Whether so many bytes can be copied below the folder."""
    return shutil.disk_usage(folder).free - size > SPARE_DISK


def size_of(path: Path) -> int:
    """Bytes of a file, or of all files below a folder."""
    if path.is_file():
        return path.stat().st_size
    files = (os.path.join(parent, name) for parent, _, names in os.walk(path) for name in names)
    return sum(os.path.getsize(file) for file in files if os.path.isfile(file))


def is_imported(folder: Path, code: Mapping[str, str]) -> bool:
    """Whether a folder holds a package of Python, or a module that the code imports by name, and no environment."""
    if not folder.is_dir():
        return False
    modules = set(_modules(folder))
    imported = (found[1] for text in code.values() for found in _IMPORT.finditer(text))
    return "__init__" in modules or not modules.isdisjoint(word for line in imported for word in _WORD.findall(line))


def _modules(folder: Path) -> Iterator[str]:
    """Names under which Python code of the folder can be imported; of a folder of data only the first ones."""
    looked_at = 0
    for parent, folders, names in os.walk(folder):
        place = Path(parent)
        folders[:] = [name for name in folders if not is_never_placed(name) and not is_environment(place / name)]
        if is_environment(place):
            return
        modules = [name.removesuffix(".py") for name in names if name.endswith(".py")]
        yield from modules
        if modules:
            yield from (folder.name, *place.relative_to(folder).parts)
        looked_at += len(names)
        if looked_at > MOST_CHILDREN:
            return
