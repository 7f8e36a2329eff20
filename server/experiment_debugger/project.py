"""The project: its root, what may be read, how paths are shown.

Reads are allowed below the root, below symlinks that stand in its artifact folders (`logs -> /scratch/me/logs`), below
extra roots, and at a path that a person typed. A git repository above the root is not the project's.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from experiment_debugger.cache import cache_folder
from experiment_debugger.discovery.names import is_artifact_folder
from experiment_debugger.errors import DebuggerError, PathOutsideProject
from experiment_debugger.settings import Settings, load_settings

ROOT_MARKS = (".git", "pyproject.toml", "jobs", "configs", "memory")
SYSTEM_FOLDERS = ("/etc", "/proc", "/sys", "/dev")
MAX_SYMLINKS = 256


@dataclass(frozen=True)
class Project:
    """One project. `how` says how its root was found, `roots` are further folders that may be read."""

    root: Path
    roots: tuple[Path, ...] = ()
    settings: Settings = field(default_factory=Settings)
    how: str = "--project"
    notes: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=lambda: dict(os.environ), repr=False, compare=False)

    def show(self, path: Path | str) -> str:
        """How a path is shown: relative to the project with `/`, outside it absolute with home as `~`."""
        text = os.path.normpath(os.path.join(self.root, path))
        for base, candidate in ((self.root, text), (self.root, _real(text))):
            if _below(candidate, str(base)):
                return os.path.relpath(candidate, base).replace(os.sep, "/")
        home = self.env.get("HOME") or os.path.expanduser("~")
        if _below(text, home) and home != os.sep:
            return "~/" + os.path.relpath(text, home).replace(os.sep, "/")
        return text.replace(os.sep, "/")

    def confined(self, path: Path | str, *, typed: bool = False) -> Path:
        """The resolved path (relative ones start at the root) if it may be read, else `PathOutsideProject`."""
        text = os.path.normpath(os.path.join(self.root, os.path.expanduser(path) if typed else path))
        real = _real(text)
        if not _is_possible(text):
            raise PathOutsideProject(f"expected a path; found {str(path)[:80]!r}, which no file can have")
        if typed or any(_below(real, base) for base in self._readable):
            return Path(real)
        if any(_below(real, base) for base in self.symlink_targets) or self._through_artifact_symlink(text, real):
            return Path(real)
        raise PathOutsideProject(
            f"expected a path below {self.root}; found "
            f"{self.show(path)}, which leads outside; add its folder to EXPERIMENT_DEBUGGER_ROOTS or to `roots` in "
            ".experiment-debugger/config.yaml"
        )

    def may_read(self, path: Path | str) -> bool:
        """Whether `confined` would allow the path."""
        try:
            self.confined(path)
        except PathOutsideProject:
            return False
        return True

    @property
    def own_signatures(self) -> Path | None:
        """The folder of the project's own log signatures; `PathOutsideProject` when the settings lead outside."""
        return self.confined(self.settings.signatures) if self.settings.signatures else None

    @property
    def cache(self) -> Path:
        """The user's cache folder, created on first use."""
        return cache_folder(self.env)

    @cached_property
    def _readable(self) -> tuple[str, ...]:
        return tuple(os.path.realpath(base) for base in (self.root, *self.roots))

    @cached_property
    def symlink_targets(self) -> tuple[str, ...]:
        """Where symlinks in artifact folders lead to: the folders themselves, and links one and two levels below."""
        found: list[str] = []
        for link in _artifact_symlinks(str(self.root), depth=2):
            target = os.path.realpath(link)
            if os.path.isdir(target) and self._allowed_target(target):
                found.append(target)
            if len(found) >= MAX_SYMLINKS:
                break
        return tuple(found)

    def _through_artifact_symlink(self, text: str, real: str) -> bool:
        """Whether a path below the root leaves it through a symlink that is, or stands in, an artifact folder."""
        if not _below(text, str(self.root)) or not self._allowed_target(real):
            return False
        current, in_artifacts = str(self.root), False
        for part in os.path.relpath(text, self.root).split(os.sep):
            current = os.path.join(current, part)
            in_artifacts = in_artifacts or is_artifact_folder(part)
            if os.path.islink(current) and not self._stays(current):
                return in_artifacts and self._allowed_target(os.path.realpath(current))
        return False

    def _stays(self, link: str) -> bool:
        return any(_below(os.path.realpath(link), base) for base in self._readable)

    def _allowed_target(self, real: str) -> bool:
        """Links into system folders, hidden folders of the home, or everything at once are never followed."""
        home = os.path.realpath(self.env.get("HOME") or os.path.expanduser("~"))
        if real in {os.sep, home} or any(_below(real, folder) for folder in SYSTEM_FOLDERS):
            return False
        return not (_below(real, home) and os.path.relpath(real, home).startswith("."))


def find_project(project: Path | None, cwd: Path, env: Mapping[str, str]) -> Project:
    """The project by option, EXPERIMENT_DEBUGGER_PROJECT, CLAUDE_PROJECT_DIR, nearest marked parent, working folder.

    Raises `DebuggerError` when a named folder does not exist or the project's settings are broken.
    """
    root, how = _root(project, cwd, env)
    settings = load_settings(root)
    roots, notes = _extra_roots(root, settings, env)
    return Project(root, roots, settings, how, notes, dict(env))


def _root(project: Path | None, cwd: Path, env: Mapping[str, str]) -> tuple[Path, str]:
    named: list[tuple[str, str]] = [("--project", str(project))] if project is not None else []
    named += [(name, env[name]) for name in ("EXPERIMENT_DEBUGGER_PROJECT", "CLAUDE_PROJECT_DIR") if env.get(name)]
    if named:
        how, text = named[0]
        root = Path(_real(os.path.join(cwd, os.path.expanduser(text))))
        if not os.path.isdir(root):
            raise DebuggerError(f"expected a folder as project ({how}); found no folder {root}; name an existing one")
        return root, how
    here = Path(os.path.realpath(cwd))
    for folder in (here, *here.parents):
        mark = next((mark for mark in ROOT_MARKS if os.path.exists(folder / mark)), None)
        if mark is not None:
            return folder, f"nearest parent with {mark}"
    return here, "working folder"


def _extra_roots(root: Path, settings: Settings, env: Mapping[str, str]) -> tuple[tuple[Path, ...], tuple[str, ...]]:
    """Extra roots that exist, and notes on those that are refused; `/` and the home folder would allow everything."""
    roots, notes = [], []
    home = Path(os.path.realpath(env.get("HOME") or os.path.expanduser("~")))
    from_env = [text for text in env.get("EXPERIMENT_DEBUGGER_ROOTS", "").split(os.pathsep) if text]
    for text in (*from_env, *settings.roots):
        folder = Path(_real(os.path.join(root, os.path.expanduser(text))))
        if not os.path.isdir(folder):
            notes.append(f"extra root {text}: no such folder")
        elif text not in from_env and (folder == home or folder == Path(folder.anchor)):
            notes.append(f"extra root {text}: too wide for a project's settings; use EXPERIMENT_DEBUGGER_ROOTS")
        else:
            roots.append(folder)
    return tuple(dict.fromkeys(roots)), tuple(notes)


def _artifact_symlinks(folder: str, depth: int, *, inside: bool = False) -> Iterator[str]:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                artifact = inside or is_artifact_folder(entry.name)
                if artifact and entry.is_symlink():
                    yield entry.path
                elif artifact and depth and entry.is_dir(follow_symlinks=False):
                    yield from _artifact_symlinks(entry.path, depth - 1, inside=True)
    except OSError:
        return


def _real(text: str) -> str:
    """The resolved path; a text that no file can have (a NUL, a lone surrogate) stays as it is."""
    return os.path.realpath(text) if _is_possible(text) else text


def _is_possible(text: str) -> bool:
    """Whether a file could have this path: registries and job files hold whatever people and tools wrote."""
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def _below(path: str, base: str) -> bool:
    return path == base or path.startswith(base.rstrip(os.sep) + os.sep)
