"""Questions to git: answers without side effects, or None."""

from __future__ import annotations

from pathlib import Path

import pytest
from repositories import commit, git, repository
from samples import write

from experiment_debugger.errors import DebuggerError
from experiment_debugger.git import change, commit_now, has_repository, paths, resolved_commit, uncommitted_changes


def test_without_a_repository_nothing_is_known(tmp_path: Path) -> None:
    assert (has_repository(tmp_path), commit_now(tmp_path), uncommitted_changes(tmp_path)) == (False, None, None)


def test_names_of_a_commit(tmp_path: Path) -> None:
    root = repository(tmp_path / "project")
    sha = git(root, "rev-parse", "HEAD")
    git(root, "tag", "-a", "-m", "x", "v1.0")
    for name in (sha, sha[:7], "HEAD", "main", "v1.0"):
        assert resolved_commit(root, name) == sha


@pytest.mark.parametrize("name", ["", "-v", "a b", "x\0y", "HEAD:train.py"])
def test_what_is_no_commit_is_one_line(tmp_path: Path, name: str) -> None:
    with pytest.raises(DebuggerError, match=r"^expected a commit .*; found none named .*$"):
        resolved_commit(repository(tmp_path / "project"), name)


def test_changes_are_seen_and_the_index_is_not_written(tmp_path: Path) -> None:
    root = repository(tmp_path / "project")
    assert uncommitted_changes(root) is False
    index = (root / ".git/index").read_bytes()
    write(root / "train.py", "print('trains')\n")
    assert uncommitted_changes(root) is False
    write(root / "train.py", "changed\n")
    assert uncommitted_changes(root) is True
    assert (root / ".git/index").read_bytes() == index


def test_paths_are_spelled_as_they_are(tmp_path: Path) -> None:
    root = repository(tmp_path / "project", {"größe \n x.py": "1\n"})
    commit(root, {"b.py": "1\n"})
    assert paths(root, "ls-files", "-z", "--", "*.py") == ["b.py", "größe \n x.py", "train.py"]


def test_a_command_that_fails_says_why(tmp_path: Path) -> None:
    root = repository(tmp_path / "project")
    with pytest.raises(DebuggerError, match=r"expected `git worktree` to work in .*; found: fatal: .*exists"):
        change(root, "worktree", "add", "--detach", str(root))
