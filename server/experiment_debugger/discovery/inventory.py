"""All files of a project that can say something about a run, found in one bounded walk.

Regular files only: FIFOs, devices and sockets are named and never opened. Symlinked folders are followed where runs
stand (`logs -> /scratch/me/logs`), each real folder once. Folders of data are looked into only as far as small tables
and code go.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from experiment_debugger.discovery.kinds import SNIFF_BYTES, is_ignored, kind_of
from experiment_debugger.discovery.names import NOT_RUNS, is_artifact_folder, normal
from experiment_debugger.project import Project
from experiment_debugger.run import ArtifactKind

MAX_DEPTH = 6  # folders below the project
MAX_FILES = 50_000
MAX_SNIFFED = 3_000
DATA_ENTRIES = 200  # a folder of data with more entries holds data, not tables that explain it
DATA_TABLE_BYTES = 65_536
PRUNED = frozenset(["node_modules", "__pycache__", "site-packages", "venv", "dist", "build", "htmlcov"])
DATA_FOLDERS = frozenset(["data", "datasets", "dataset", "data-bin", "raw", "corpus", "corpora"])
REGISTRIES = {("runs",), ("docs", "ops", "runs")}
BOOKKEEPING = {("memory",), ("docs", "ops", "handoffs")}  # what people and skills tell each other
HIDDEN_KEPT = frozenset({".hydra"})


@dataclass(frozen=True, slots=True)
class Entry:
    """One file: `parts` are its folders and name below the project (or below the folder that was typed)."""

    parts: tuple[str, ...]
    path: str
    kind: ArtifactKind
    size: int
    mtime: float
    in_area: bool
    in_data: bool = False

    @property
    def name(self) -> str:
        """File name."""
        return self.parts[-1]

    @property
    def rel(self) -> str:
        """Path below the project with `/`."""
        return "/".join(self.parts)


@dataclass(slots=True)
class Inventory:
    """What a walk found. `unreadable` and `not_looked_at` name paths with the reason."""

    base: Path
    entries: list[Entry] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    not_looked_at: list[str] = field(default_factory=list)

    def by_rel(self) -> dict[str, Entry]:
        """Entries by path below the base."""
        return {entry.rel: entry for entry in self.entries}


def take_inventory(
    project: Project, base: Path | None = None, *, depth: int = MAX_DEPTH, everywhere: bool = False
) -> Inventory:
    """Walk the project, or the folder `base`.

    Below a base, and `everywhere`, every folder counts as one where runs stand.
    """
    walk = _Walk(project, Inventory(base or project.root), depth, whole=everywhere or base is not None)
    walk.run()
    return walk.found


@dataclass(slots=True)
class _Folder:
    path: str
    parts: tuple[str, ...]
    in_area: bool
    in_data: bool


@dataclass(slots=True)
class _Walk:
    project: Project
    found: Inventory
    depth: int
    whole: bool
    seen_folders: set[tuple[int, int]] = field(default_factory=set)
    seen_files: dict[tuple[int, int], int] = field(default_factory=dict)
    sniffed: int = 0

    def run(self) -> None:
        """Breadth first, so that a limit cuts the deepest folders."""
        queue = [_Folder(str(self.found.base), (), in_area=self.whole, in_data=False)]
        for folder in queue:
            if len(self.found.entries) >= MAX_FILES:
                self._skip(folder.path, f"more than {MAX_FILES} files in the project")
                break
            queue.extend(self._visit(folder))

    def _visit(self, folder: _Folder) -> list[_Folder]:
        try:
            info = os.stat(folder.path)
            if (info.st_dev, info.st_ino) in self.seen_folders:
                return []
            self.seen_folders.add((info.st_dev, info.st_ino))
            with os.scandir(folder.path) as listing:
                items = sorted(_limited(listing, folder.in_data), key=lambda item: item.name)
        except OSError as problem:
            self.found.unreadable.append(f"{self.project.show(folder.path)} ({_reason(problem)})")
            return []
        if folder.in_data and len(items) > DATA_ENTRIES:
            self._skip(folder.path, "folder of data")
            return []
        if any(item.name == "pyvenv.cfg" for item in items):
            return []
        folder.in_area = folder.in_area or _holds_logs(folder, items)
        return [child for item in items for child in self._item(item, folder)]

    def _item(self, item: os.DirEntry[str], folder: _Folder) -> list[_Folder]:
        try:
            if item.is_dir(follow_symlinks=False):
                return self._child(item, folder)
            if item.is_symlink():
                return self._link(item, folder)
            self._file(item, folder, item.stat(follow_symlinks=False))
        except OSError as problem:
            self.found.unreadable.append(f"{self.project.show(item.path)} ({_reason(problem)})")
        return []

    def _child(self, item: os.DirEntry[str], folder: _Folder) -> list[_Folder]:
        name = item.name
        if (*folder.parts, name) in BOOKKEEPING or name in PRUNED or (name.startswith(".") and name not in HIDDEN_KEPT):
            return []
        if len(folder.parts) >= self.depth:
            self._skip(item.path, f"deeper than {self.depth} folders")
            return []
        top = folder.parts[0] if folder.parts else name
        in_data = folder.in_data or (normal(name) in DATA_FOLDERS and not folder.in_area)
        in_area = folder.in_area or (_is_area(name) and normal(top) not in NOT_RUNS and not in_data)
        return [_Folder(item.path, (*folder.parts, name), in_area, in_data)]

    def _link(self, item: os.DirEntry[str], folder: _Folder) -> list[_Folder]:
        try:
            info = item.stat()
        except OSError:
            if folder.in_area or is_artifact_folder(item.name):
                self.found.unreadable.append(f"{self.project.show(item.path)} (broken symlink)")
            return []
        if not self.project.may_read(item.path):
            self._skip(item.path, "a symlink that leaves the project")
        elif not stat.S_ISDIR(info.st_mode):
            self._file(item, folder, info)
        elif folder.in_area and os.path.dirname(os.path.realpath(item.path)) == os.path.realpath(folder.path):
            return []  # `latest-run` and the like: the real folder stands beside it
        elif folder.in_area or is_artifact_folder(item.name):
            return self._child(item, folder)
        return []

    def _file(self, item: os.DirEntry[str], folder: _Folder, info: os.stat_result) -> None:
        name = item.name
        if not stat.S_ISREG(info.st_mode):
            self._skip(item.path, f"not a regular file: {_type_name(info.st_mode)}")
            return
        if name.endswith((".json", ".yaml", ".yml")) and (*folder.parts, name.partition(".")[0]) in REGISTRIES:
            return  # a registry speaks of runs and belongs to none
        if is_ignored(name) or (name.startswith(".") and folder.parts[-1:] != (".hydra",)):
            return
        if folder.in_data and info.st_size > DATA_TABLE_BYTES:
            return
        parts = (*folder.parts, name)
        kind = kind_of(parts, lambda: self._head(item.path), in_area=folder.in_area)
        entry = Entry(parts, item.path, kind, info.st_size, info.st_mtime, folder.in_area, folder.in_data)
        self._add(entry, (info.st_dev, info.st_ino), item.is_symlink())

    def _add(self, entry: Entry, identity: tuple[int, int], is_link: bool) -> None:
        """One entry a real file; of a file and its links the file itself is kept (`latest.log -> run-42.log`)."""
        earlier = self.seen_files.get(identity)
        if earlier is None:
            self.seen_files[identity] = len(self.found.entries)
            self.found.entries.append(entry)
        elif not is_link and os.path.islink(self.found.entries[earlier].path):
            self.found.entries[earlier] = entry

    def _head(self, path: str) -> bytes:
        self.sniffed += 1
        return b"" if self.sniffed > MAX_SNIFFED else read_head(path)

    def _skip(self, path: str, why: str) -> None:
        self.found.not_looked_at.append(f"{self.project.show(path)} ({why})")


def read_head(path: str, count: int = SNIFF_BYTES) -> bytes:
    """The first bytes of a regular file, nothing when it cannot be read; never blocks on a FIFO."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except OSError:
        return b""
    try:
        return os.read(handle, count) if stat.S_ISREG(os.fstat(handle).st_mode) else b""
    except OSError:
        return b""
    finally:
        os.close(handle)


def _limited(listing: Iterator[os.DirEntry[str]], in_data: bool) -> list[os.DirEntry[str]]:
    limit = DATA_ENTRIES + 1 if in_data else MAX_FILES
    return [item for _, item in zip(range(limit), listing, strict=False)]


def _is_area(name: str) -> bool:
    """`logs`, `nemo_experiments`, and folders named after a container and a run such as `logs-tacotron-zh-1`."""
    return is_artifact_folder(name) or is_artifact_folder(normal(name).split("-")[0])


_CONSOLE = re.compile(r"(?:stdout|stderr|console|output|nohup|(?:train(?:ing)?[_-]?)?log)\.txt$", re.IGNORECASE)


def _holds_logs(folder: _Folder, items: list[os.DirEntry[str]]) -> bool:
    """A folder of any name with logs or event files and no code is a run's folder (`myrun-42/train.log`)."""
    if not folder.parts or normal(folder.parts[0]) in NOT_RUNS or folder.in_data:
        return False
    names = [item.name for item in items]
    if any(name.endswith(".py") for name in names):
        return False
    return any(
        name.endswith((".log", ".out", ".err")) or name.startswith("events.out.tfevents") or _CONSOLE.match(name)
        for name in names
    )


def _reason(problem: OSError) -> str:
    return (problem.strerror or "cannot be read").lower()


def _type_name(mode: int) -> str:
    names = ((stat.S_ISFIFO, "fifo"), (stat.S_ISSOCK, "socket"), (stat.S_ISCHR, "device"), (stat.S_ISBLK, "device"))
    return next((name for test, name in names if test(mode)), "special")
