"""The commit that is said to fix a run: what it changes, and whether the working tree still has exactly that.

Fix(commit="5d6e7f8...", subject="Keep the last answer tokens", files=("data/collate.py",), base="1a2b3c4...")
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Sequence
from pathlib import Path

from experiment_debugger import git
from experiment_debugger.case import Fix, SmokeTest
from experiment_debugger.compare.settings_changed import CODE
from experiment_debugger.errors import DebuggerError
from experiment_debugger.redaction import redact

MOST_FILES = 500
"""Files of one commit that are looked at; a commit of more is an import, not a fix."""
_DOCUMENT = re.compile(
    r"(?i)^(?:docs?|memory|\.agent|\.experiment-debugger|\.github)/|\.(?:md|rst|png|jpe?g|svg|pdf|bib|tex)$"
    r"|(?:^|/)(?:license|changelog|readme|authors|notice|\.gitignore|\.gitattributes)[^/]*$"
)


def is_code_or_config(path: str) -> bool:
    """Whether a file can change what a run does; documents and notes cannot."""
    return path.endswith(CODE) or not _DOCUMENT.search(path)


def fix_of(
    root: Path, told: str | None, base: str | None, tested: Sequence[SmokeTest], inputs: Collection[str] = ()
) -> Fix | None:
    """The fix that was told, else the commit that a smoke test has proven; None when there is neither.

    `inputs` are the run's job files and configs, in which nothing may be uncommitted either. Of a commit that was told
    its own files count; where none was told, everything that changed since the failing run.
    """
    proven = [one.commit for one in tested if one.proves == "the fix" and one.commit]
    named = told or next(iter(proven), None)
    commit = git.commit_named(root, named) if named and git.has_repository(root) else None
    if commit is None:
        return None
    descends = None if base is None else base != commit and is_ancestor(root, base, commit)
    since = base if told is None and descends else None
    files = _files_of(root, since, commit)
    relevant = tuple(path for path in files if is_code_or_config(path))
    return Fix(
        commit=commit,
        subject=redact(git.output(root, "log", "-1", "--format=%s", commit) or ""),
        files=relevant,
        other_files=tuple(path for path in files if not is_code_or_config(path)),
        uncommitted=_uncommitted(root, [*relevant, *(name for name in inputs if name not in relevant)]),
        base=base,
        descends=descends,
        told=told is not None,
        proven=(last := next((one for one in proven if is_ancestor(root, commit, one)), None)),
        kept=_is_kept(root, last or commit),
        undone=_undone(root, last or commit, relevant),
    )


def _is_kept(root: Path, commit: str) -> bool:
    """Whether a branch, a tag or the checkout holds a commit; an amended one is soon lost."""
    if is_ancestor(root, commit, "HEAD"):
        return True
    places = ("refs/heads", "refs/tags", "refs/remotes")
    return bool(git.output(root, "for-each-ref", "--count=1", "--contains", commit, *places))


def _undone(root: Path, commit: str, files: Sequence[str]) -> tuple[str, ...] | None:
    """Files of the fix that later commits of the checkout have changed again; None where it is not checked out."""
    if not is_ancestor(root, commit, "HEAD"):
        return None
    literal = [f":(literal){path}" for path in files]
    return (
        tuple(git.paths(root, "diff", "--name-only", "--no-renames", "-z", commit, "HEAD", "--", *literal))
        if files
        else ()
    )


def is_ancestor(root: Path, before: str, after: str) -> bool:
    """Whether `after` contains `before`; a commit contains itself."""
    return git.output(root, "merge-base", "--is-ancestor", before, after) is not None


def _files_of(root: Path, since: str | None, commit: str) -> list[str]:
    """Files that changed since a commit, else against the first parent; of a first commit all files."""
    parent = since or git.commit_named(root, f"{commit}^1")
    if parent is None:
        return git.paths(root, "ls-tree", "-r", "-z", "--name-only", commit)[:MOST_FILES]
    return git.paths(root, "diff", "--name-only", "--no-renames", "-z", parent, commit)[:MOST_FILES]


def _uncommitted(root: Path, files: Sequence[str]) -> tuple[str, ...]:
    """Those files that the working tree or the index changes against the commit checked out."""
    literal = [f":(literal){path}" for path in files]
    try:
        return tuple(
            git.paths(root, "diff", "--name-only", "--no-renames", "-z", "HEAD", "--", *literal) if files else ()
        )
    except DebuggerError:  # before the first commit nothing is committed
        return tuple(path for path in files if os.path.exists(root / path))
