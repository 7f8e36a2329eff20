"""The one way into the project's files: one writer at a time, the old or the new content, never half of it.

memory/risk-board.md                    locked, read, changed, written beside, synced, renamed over
memory/.risk-board.md.ed-4711.tmp       what a killed writer leaves; the next one removes it
.experiment-debugger/write.lock         the lock of all of them
"""

from __future__ import annotations

import errno
import os
import re
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from experiment_debugger.errors import DebuggerError
from experiment_debugger.project import Project

HOME = ".experiment-debugger"
LOCK_SECONDS = 30.0
"""Writing takes milliseconds: who waits longer waits for a writer that hangs."""
TRIES = 5
"""How often a file may be saved by an editor between our reading and our writing."""
_HELD: dict[str, threading.RLock] = {}
_GUARD = threading.Lock()
_OWNED = threading.local()

Transform = Callable[[bytes | None], bytes | None]


@contextmanager
def writing(project: Project) -> Iterator[None]:
    """Hold the project's lock; who holds it already goes on. `DebuggerError` where it cannot be had."""
    root = os.path.realpath(project.root)
    with _GUARD:
        mine = _HELD.setdefault(root, threading.RLock())
    with mine:
        owned: set[str] = _OWNED.__dict__.setdefault("roots", set())
        if root in owned:
            yield
            return
        with _file_lock(project, Path(root)):
            owned.add(root)
            try:
                yield
            finally:
                owned.discard(root)


def update(project: Project, path: Path, transform: Transform) -> bool:
    """Change a file of the project; whether it changed.

    `transform` gets the bytes (None: no file) and gives the new ones (None: leave it); it is called again where an
    editor has saved the file meanwhile.
    """
    with writing(project):
        target = _target(project, path)
        for _ in range(TRIES):
            before, seen = _read(project, target)
            after = transform(before)
            if after is None or after == before:
                return False
            if _written(project, target, after, (before, seen)):
                return True
    raise DebuggerError(
        f"expected {project.show(path)} to stay as it was read; found that something saved it {TRIES} times meanwhile; "
        "close it there and try again; nothing was written"
    )


@contextmanager
def _file_lock(project: Project, root: Path) -> Iterator[None]:
    from filelock import FileLock, Timeout

    home = root / HOME
    path = home / "write.lock"
    try:
        _require_inside(project, home)
        home.mkdir(exist_ok=True)
        if not os.path.lexists(home / ".gitignore"):
            (home / ".gitignore").write_text("*\n", encoding="utf-8")
        lock = FileLock(path, timeout=LOCK_SECONDS)
        lock.acquire(poll_interval=0.01)
    except Timeout:
        raise DebuggerError(
            f"expected to write below {root}; found that another process holds {project.show(path)} for more than "
            f"{LOCK_SECONDS:.0f} s; end it, then try again; nothing was written"
        ) from None
    except NotImplementedError as problem:
        raise _failed(project, path, OSError(errno.ENOLCK, str(problem))) from None
    except OSError as problem:
        raise _failed(project, path, problem) from None
    try:
        yield
    finally:
        lock.release()


def _target(project: Project, path: Path) -> Path:
    """The real file: a link inside the project stays a link, one that leads outside is refused."""
    real = Path(os.path.realpath(path))
    _require_inside(project, path)
    with suppress(OSError):
        kind = real.lstat().st_mode
        if not stat.S_ISREG(kind):
            raise DebuggerError(
                f"expected a file at {project.show(path)}; found something else; move it away; nothing was written"
            )
    return real


def _require_inside(project: Project, path: Path) -> None:
    real = Path(os.path.realpath(path))
    if not real.is_relative_to(os.path.realpath(project.root)):
        raise DebuggerError(
            f"expected {os.path.relpath(path, project.root)} below {project.root}; found that it leads to {real}; what "
            "is written stays in the project: replace the link by a folder, or name that project with --project; "
            "nothing was written"
        )


def _read(project: Project, path: Path) -> tuple[bytes | None, tuple[int, ...]]:
    """The content, and what tells that it is still the same file: inode, size, time of change."""
    try:
        with path.open("rb") as file:
            info = os.fstat(file.fileno())
            return file.read(), (info.st_ino, info.st_size, info.st_mtime_ns)
    except FileNotFoundError:
        return None, ()
    except OSError as problem:
        raise _failed(project, path, problem) from None


def _written(project: Project, target: Path, content: bytes, read: tuple[bytes | None, tuple[int, ...]]) -> bool:
    """Write beside, sync, and rename over if the file is still the one that was read."""
    draft = target.parent / f".{target.name}.ed-{os.getpid()}.tmp"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _remove_drafts(target)
        _write_synced(draft, content, _mode(target))
        if _read(project, target) != read:
            return False
        os.replace(draft, target)
        _sync_folder(target.parent)
    except OSError as problem:
        raise _failed(project, target, problem) from None
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
    return True


def _remove_drafts(target: Path) -> None:
    """Drafts of this file: whoever holds the lock knows that their writers are gone."""
    mine = re.compile(rf"\.{re.escape(target.name)}\.ed-\d+\.tmp")
    for entry in os.scandir(target.parent):
        if mine.fullmatch(entry.name):
            os.unlink(entry.path)


def _mode(target: Path) -> int | None:
    with suppress(OSError):
        return stat.S_IMODE(target.stat().st_mode)
    return None


def _write_synced(draft: Path, content: bytes, mode: int | None) -> None:
    file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        if mode is not None and hasattr(os, "fchmod"):
            os.fchmod(file, mode)
        view = memoryview(content)
        while view:
            view = view[os.write(file, view) :]
        os.fsync(file)
    finally:
        os.close(file)


def _sync_folder(folder: Path) -> None:
    """A rename is durable only when its folder is; where folders cannot be opened, the system sees to it."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _failed(project: Project, path: Path, problem: OSError) -> DebuggerError:
    why = problem.strerror or type(problem).__name__
    without_locks = problem.errno in {errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS}
    advice = "the file system has no locks: use one that has" if without_locks else "make room or make it writable"
    return DebuggerError(
        f"expected to write {project.show(path)}; found: {why.lower()}; {advice} and try again; the file is as it was"
    )
