"""Real git repositories of small training projects, for the tests of the folders in which smoke tests run."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

from samples import write

from experiment_debugger.project import Project
from experiment_debugger.smoke.order import Command
from experiment_debugger.smoke.workspace import Workspace, make_workspace

IDENTITY = ("-c", "user.name=Test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false")
IGNORED = "data/\noutputs/\nlogs/\n.venv/\n*.ckpt\n"
ARTIFACTS = ("outputs/42/last.pt", "logs/run-42.log")


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *IDENTITY, "-C", str(folder), *arguments],
        check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    return done.stdout.strip()


def commit(folder: Path, files: dict[str, str], message: str = "change") -> str:
    """Write and commit the files; the sha."""
    for name, text in files.items():
        write(folder / name, text)
        git(folder, "add", "--force", "--", name)
    git(folder, "commit", "--quiet", "--allow-empty", "-m", message)
    return git(folder, "rev-parse", "HEAD")


def repository(root: Path, files: dict[str, str] | None = None) -> Path:
    """A project with one commit, ignored data, and the artifacts of run 42."""
    root.mkdir(parents=True)
    git(root, "init", "--quiet", "--initial-branch=main")
    commit(root, {".gitignore": IGNORED, "train.py": "print('trains')\n", **(files or {})})
    for name in ("data/train.csv", *ARTIFACTS):
        write(root / name, f"the {name} of run 42\n")
    return root


def workspace(
    root: Path,
    *argv: str,
    files: tuple[str, ...] = (),
    environment: dict[str, str] | None = None,
    at: str | None = "HEAD",
    uncommitted: bool = False,
    in_place: bool = False,
    name: str = "s-1",
    artifacts: tuple[str, ...] = ARTIFACTS,
    env: dict[str, str] | None = None,
) -> Workspace:
    return make_workspace(
        Project(root, env={**os.environ, **(env or {})}),
        Command(argv or ("python", "train.py"), environment=environment or {}, files=files),
        id=name,
        commit=at,
        uncommitted=uncommitted,
        in_place=in_place,
        run_artifacts=[root / artifact for artifact in artifacts],
    )


def contents(root: Path) -> dict[str, str]:
    """Everything below the folder but git's own records: kind, mode and digest of each entry."""
    found = {}
    for parent, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name != ".git"]
        for name in (*folders, *names):
            path = Path(parent, name)
            what = os.readlink(path) if path.is_symlink() else "" if path.is_dir() else digest(path)
            found[str(path.relative_to(root))] = f"{path.lstat().st_mode:o} {what}"
    return found


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def worktrees(root: Path) -> int:
    return len(git(root, "worktree", "list").splitlines())
