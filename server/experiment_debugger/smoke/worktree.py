"""A git worktree in the user's cache, and its removal by whoever is left to do it.

<cache>/worktrees/s-20261130-214501-3f2a.owner      {"pid": 4711, "started": 1764539101.2, "host": "node01", ...}
<cache>/worktrees/s-20261130-214501-3f2a/           readable by its owner only
<cache>/worktrees/s-20261130-214501-3f2a/project/   the worktree, named as the project; `../runs` stays in our folder

The supervisor removes it with a command of its own, also when the server is gone; what neither could remove goes when
the next worktree is made.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import stat
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiment_debugger import git
from experiment_debugger.errors import DebuggerError

STRANGERS_LEFTOVER = 7 * 86_400.0
"""Seconds after which a worktree made on another host of a shared home is taken for abandoned: nobody can ask there."""
_START = (
    "import sys; sys.path += sys.argv[3:]; import experiment_debugger.smoke.worktree as it; it.remove_named(sys.argv)"
)
SAME_START = 2.0  # seconds; start times are derived from the boot time, which clocks move a little


@dataclass(frozen=True, slots=True)
class Worktree:
    """A checkout of `commit` of the repository `root`; `base` is our folder around it."""

    root: Path
    base: Path
    commit: str

    @property
    def folder(self) -> Path:
        """The checked-out tree."""
        return _tree(self.root, self.base)

    @property
    def cleanup(self) -> tuple[list[str], ...]:
        """Commands that remove it, for another process."""
        package = Path(__file__).parents[2]  # -I hides where it is found if that is PYTHONPATH or the user's own site
        return ([sys.executable, "-I", "-c", _START, str(self.root), str(self.base), str(package)],)

    def remove(self) -> None:
        """Remove it here; nothing happens when it is gone already."""
        remove(self.root, self.base)


def add(root: Path, worktrees: Path, name: str, commit: str) -> Worktree:
    """Check out the commit in a new folder `worktrees/name`; leftovers of dead processes are removed first."""
    worktrees.mkdir(mode=0o700, parents=True, exist_ok=True)
    remove_leftovers(worktrees)
    tree = Worktree(root, worktrees / name, commit)
    try:
        tree.base.mkdir(mode=0o700)
    except FileExistsError:
        raise DebuggerError(f"expected a new folder for the test; found {tree.base}; start the test again") from None
    try:
        _owner_file(tree.base).write_text(json.dumps(_owner(root)), encoding="utf-8")
        git.change(root, "worktree", "add", "--quiet", "--detach", str(tree.folder), commit)
    except BaseException:
        tree.remove()
        raise
    return tree


def remove(root: Path, base: Path) -> None:
    """Remove the worktree below `base`, whatever the command did to it, and git's record of it (of no other one)."""
    tree = _tree(root, base)
    _remove_folder(tree)
    with suppress(OSError):
        base.mkdir(mode=0o700, exist_ok=True)  # git finds the record of a missing tree only while its parent exists
    git.output(root, "worktree", "remove", "--force", "--force", str(tree), seconds=git.CHECKOUT_SECONDS)
    _remove_folder(base)
    if not os.path.lexists(base):
        _owner_file(base).unlink(missing_ok=True)


def _tree(root: Path, base: Path) -> Path:
    """Named as the project, but without what shell scripts would have to quote."""
    return base / (re.sub(r"[^\w.-]", "_", root.name).lstrip("-") or "project")


def remove_leftovers(worktrees: Path) -> None:
    """Remove the worktrees whose makers are dead."""
    for path in sorted(worktrees.glob("*.owner")):
        owner = _read_owner(path)
        if not _is_alive(owner, path):
            remove(Path(str(owner.get("root") or os.sep)), path.with_suffix(""))


def _owner_file(base: Path) -> Path:
    return base.with_name(base.name + ".owner")


def _owner(root: Path) -> dict[str, Any]:
    return {"pid": os.getpid(), "started": _start_of(os.getpid()), "host": platform.node(), "root": str(root)}


def _read_owner(path: Path) -> dict[str, Any]:
    try:
        owner = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return owner if isinstance(owner, dict) else {}


def _is_alive(owner: dict[str, Any], path: Path) -> bool:
    """Whether the maker runs; of another host only the age of the file is known."""
    pid, started = owner.get("pid"), owner.get("started")
    if owner.get("host") != platform.node() or not isinstance(pid, int) or not isinstance(started, (int, float)):
        with suppress(OSError):
            return time.time() - path.stat().st_mtime < STRANGERS_LEFTOVER
        return False
    now = _start_of(pid)
    return now is not None and abs(now - started) < SAME_START


def _start_of(pid: int) -> float | None:
    """When a process started (epoch seconds); None when there is none."""
    import psutil

    try:
        return float(psutil.Process(pid).create_time())
    except psutil.Error:
        return None


def _remove_folder(folder: Path) -> None:
    """Links are removed, never followed; folders that the command made read-only are opened first."""
    with suppress(OSError):
        os.chmod(folder, stat.S_IRWXU)
    for parent, names, _ in os.walk(folder):
        for path in (os.path.join(parent, name) for name in names):
            if not os.path.islink(path):
                with suppress(OSError):
                    os.chmod(path, stat.S_IRWXU)
    shutil.rmtree(folder, ignore_errors=True)


def remove_named(arguments: list[str]) -> None:
    """`-c ROOT BASE ...`: remove the worktree of this repository below this folder; exit status 1 where that fails."""
    root, base = Path(arguments[1]), Path(arguments[2])
    remove(root, base)
    sys.exit(int(os.path.lexists(base)))
