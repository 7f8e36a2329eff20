"""Git of the project's own repository, asked without side effects: no lock, no hook, no monitor, no filter, no network.

project/.git             the project's own repository (a file where the project is itself a worktree)
work/.git, work/project  a repository above the project: not the project's
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from experiment_debugger.errors import DebuggerError

SECONDS = 5.0
"""Bound of a question; a network file system can take longer, and then the answer is "unknown"."""
CHECKOUT_SECONDS = 300.0
_ALONE = (
    "--no-optional-locks", "-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}", "-c", "gc.auto=0",
    "-c", "submodule.recurse=false",
)  # fmt: skip
_ELSEWHERE = (
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE",
)  # fmt: skip
"""Set in hooks and aliases of another repository; they would send every question there."""
_OFFLINE = {"GIT_ALLOW_PROTOCOL": "none", "GIT_LFS_SKIP_SMUDGE": "1", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
"""A partial clone fetches missing objects when they are read, and LFS its files: never from here."""


def has_repository(root: Path) -> bool:
    """Whether the project has a repository of its own."""
    return os.path.exists(root / ".git")


def commit_now(root: Path) -> str | None:
    """The full sha of the commit checked out; None without a repository or before its first commit."""
    return output(root, "rev-parse", "--verify", "--quiet", "HEAD") or None if has_repository(root) else None


def uncommitted_changes(root: Path) -> bool | None:
    """Whether tracked files differ from the commit checked out; None without a repository."""
    if not has_repository(root):
        return None
    status = output(root, "status", "--porcelain", "--untracked-files=no", "--ignore-submodules=dirty")
    return None if status is None else bool(status)


def resolved_commit(root: Path, name: str) -> str:
    """The full sha that a commit, branch or tag (`abc1234`, `HEAD`, `v1.0`) stands for, or a `DebuggerError`."""
    if found := commit_named(root, name):
        return found
    shallow = output(root, "rev-parse", "--is-shallow-repository") == "true"
    advice = "it is a shallow clone: `git fetch --unshallow` first" if shallow else "fetch it or name another commit"
    raise DebuggerError(f"expected a commit of the repository {root}; found none named {name[:80]!r}; {advice}")


def commit_named(root: Path, name: str) -> str | None:
    """The full sha that a name stands for; None where it is no name of a commit that is here."""
    if not name or name.startswith("-") or set(name) & set("\0\n "):
        return None
    return output(root, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}") or None


def output(root: Path, *arguments: str, seconds: float = SECONDS) -> str | None:
    """What one read-only git command prints; None when it fails, is not there or takes too long."""
    done = _run(root, arguments, seconds)
    return done.stdout.decode("utf-8", "replace").strip() if done and done.returncode == 0 else None


def paths(root: Path, *arguments: str) -> list[str]:
    """The paths that a command with `-z` prints, spelled as in the repository; `DebuggerError` when it fails."""
    return [os.fsdecode(name) for name in _checked(root, arguments).split(b"\0") if name]


def change(root: Path, *arguments: str) -> None:
    """Run a command that writes into the repository's own records (`worktree add`); `DebuggerError` when it fails."""
    _checked(root, arguments)


def _checked(root: Path, arguments: tuple[str, ...]) -> bytes:
    done = _run(root, arguments, CHECKOUT_SECONDS)
    if done is not None and done.returncode == 0:
        return done.stdout
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines() if done else ["git did not answer"]
    reason = next(
        (line for line in lines if line.startswith(("fatal:", "error:"))), lines[-1] if lines else "no answer"
    )
    raise DebuggerError(
        f"expected `git {arguments[0]}` to work in {root}; found: {reason[:200]}; see `git status` there"
    )


def _run(root: Path, arguments: tuple[str, ...], seconds: float) -> subprocess.CompletedProcess[bytes] | None:
    env = {name: value for name, value in os.environ.items() if name not in _ELSEWHERE} | _OFFLINE
    env["GIT_CEILING_DIRECTORIES"] = str(root.parent)  # with a damaged .git it would go on to search above
    try:
        if arguments[0] in {"status", "diff", "worktree"}:
            env |= _without_filters(root, env)
        return _git(root, arguments, env, seconds)
    except (OSError, subprocess.TimeoutExpired):
        return None


def _git(
    root: Path, arguments: tuple[str, ...], env: Mapping[str, str], seconds: float
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["git", *_ALONE, "-C", str(root), *arguments],
        stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, check=False, env=env,
    )  # fmt: skip


def _without_filters(root: Path, env: Mapping[str, str]) -> dict[str, str]:
    """Settings that switch the repository's own content filters off: `git status` would start their programs."""
    wanted = ("--includes", "--name-only", "--get-regexp", r"^filter\..*\.(clean|process|smudge|required)$")
    listed = _git(root, ("config", "--show-scope", *wanted), env, SECONDS).stdout.decode("utf-8", "replace")
    scoped = (line.partition("\t") for line in listed.split("\n"))
    names = [name for scope, _, name in scoped if name and scope not in {"system", "global"}]
    values = {f"GIT_CONFIG_KEY_{index}": name for index, name in enumerate(names)}
    values |= {
        f"GIT_CONFIG_VALUE_{index}": "false" if name.endswith(".required") else "" for index, name in enumerate(names)
    }
    return {**values, "GIT_CONFIG_COUNT": str(len(names))}
