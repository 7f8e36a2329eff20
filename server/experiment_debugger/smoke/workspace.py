"""The folder in which a smoke test runs: a worktree at a named commit, filled with what the command reads.

make_workspace(project, command, id="s-20261130-214501-3f2a", commit="HEAD", uncommitted=False, in_place=False,
               run_artifacts=[...])
    folder   ~/.cache/experiment-debugger/worktrees/s-20261130-214501-3f2a/project
    argv     ("python", "train.py", "--data", "data/cifar", "--resume", "outputs/42/last.pt")
    linked   ("data",)    copied   ("outputs/42/last.pt",)    missing   ()
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from experiment_debugger import git
from experiment_debugger.errors import DebuggerError
from experiment_debugger.project import Project
from experiment_debugger.smoke import worktree
from experiment_debugger.smoke.editable import import_folders
from experiment_debugger.smoke.inputs import Inputs, provide_inputs
from experiment_debugger.smoke.large_files import bring_large_files
from experiment_debugger.smoke.mentions import COMMAND, Texts, read_texts, word_mentions
from experiment_debugger.smoke.order import Command
from experiment_debugger.smoke.output_folders import OutputFolders, inside, output_folders
from experiment_debugger.smoke.placing import is_imported, place_copy
from experiment_debugger.smoke.redirect import redirect
from experiment_debugger.smoke.tracked_links import moved_submodules, settle_links, settle_submodules
from experiment_debugger.smoke.trackers import tracker_folders
from experiment_debugger.smoke.uncommitted import bring_changes
from experiment_debugger.smoke.worktree import Worktree


@dataclass(frozen=True, slots=True)
class Workspace:
    """Where and how the command runs.

    `environment` is added to the command's; `commit` is the full sha of the tested tree; `dirty` says whether that tree
    has changes that no commit holds (None where no git can tell); `linked` and `copied` are inputs, `placed` all files
    that no commit holds, relative to `folder`; `missing` (beginning with the name) and `notes` are sentences.
    """

    folder: Path
    argv: tuple[str, ...]
    environment: dict[str, str]
    commit: str | None
    dirty: bool | None
    in_place: bool = False
    notes: tuple[str, ...] = ()
    linked: tuple[str, ...] = ()
    copied: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    placed: frozenset[str] = frozenset()
    tree: Worktree | None = None

    @property
    def cleanup(self) -> tuple[list[str], ...]:
        """Commands that remove the folder; none in place."""
        return self.tree.cleanup if self.tree else ()

    def remove(self) -> None:
        """Remove the folder from this process; nothing happens in place."""
        if self.tree:
            self.tree.remove()


def make_workspace(
    project: Project,
    command: Command,
    *,
    id: str,  # noqa: A002 - the smoke test's id, as everywhere in its records
    commit: str | None,
    uncommitted: bool,
    in_place: bool,
    run_artifacts: Sequence[Path],
) -> Workspace:
    """A workspace at the commit (None: the one checked out, with `uncommitted` as the working tree is now).

    Raises `DebuggerError` where it cannot keep the run's artifacts safe.
    """
    if in_place:
        return _in_place(project.root, command, commit)
    sha = _commit_to_test(project.root, commit)
    tree = worktree.add(project.root, project.cache / "worktrees", id, sha)
    try:
        return _Filling(project, command, tree, run_artifacts).workspace(uncommitted=uncommitted and commit is None)
    except BaseException:
        tree.remove()
        raise


def _commit_to_test(root: Path, commit: str | None) -> str:
    if not git.has_repository(root):
        raise DebuggerError(
            f"expected a git repository in {root}, so that the test runs in a copy; found none; run `git init` and "
            "commit, or run it where it is with --in-place"
        )
    git.paths(root, "rev-parse", "--git-dir")  # says what is wrong with a damaged or foreign repository
    if git.commit_now(root) is None:
        raise DebuggerError(
            f"expected a commit in the repository {root}; found none yet; commit, or run it where it is with --in-place"
        )
    return git.resolved_commit(root, commit or "HEAD")


def _in_place(root: Path, command: Command, commit: str | None) -> Workspace:
    now = git.commit_now(root)
    notes = ["it ran in the project itself: its outputs may have been overwritten"]
    if commit and now and git.commit_named(root, commit) != now:
        notes.append(f"it ran the tree as it is (commit {now}), not commit {commit}")
    return Workspace(root, command.argv, {}, now, git.uncommitted_changes(root), in_place=True, notes=tuple(notes))


@dataclass(slots=True)
class _Filling:
    """The making of a workspace in a fresh worktree."""

    project: Project
    command: Command
    tree: Worktree
    artifacts: Sequence[Path]

    def workspace(self, *, uncommitted: bool) -> Workspace:
        """Everything that the command needs, in the order in which one thing depends on the other."""
        root, folder = self.project.root, self.tree.folder
        by_name = output_folders(root, self.artifacts, Texts((), {}, {}))
        absent = bring_large_files(root, folder)
        dirty = uncommitted and bring_changes(root, folder, by_name)
        brought = self._bring_files(by_name)
        moved = moved_submodules(root, folder)
        submodules, unchecked = settle_submodules(root, folder)
        outputs = output_folders(root, self.artifacts, read_texts(self.command, folder))
        links = list(settle_links(root, folder, outputs))
        texts, inputs = self._inputs(links)
        notes = [
            f"{name} leads to {os.path.realpath(root / name)}: outputs there are not in the copy" for name in links
        ]
        redirected = redirect(root, folder, self.command, texts, self.artifacts, self.project.env)
        taken = [*(name for name in brought if not by_name.holds(name)), *inputs.code]
        notes += [f"{name} is not in the commit: taken as it is now" for name in taken if not uncommitted]
        notes += [f"{name}: the submodule as it is checked out now" for name in submodules if name not in moved]
        notes += [f"{name}: the submodule as it is now, which is not what the commit says" for name in moved]
        packages = [name for name in inputs.linked if is_imported(root / name, texts.code)]
        notes += [f"{name} holds code that no commit holds: taken as it is now" for name in packages]
        return Workspace(
            folder=folder,
            argv=redirected.argv,
            environment=redirected.environment | self._environment(texts, redirected.environment),
            commit=self.tree.commit,
            dirty=bool(dirty or taken or moved or packages),
            notes=(*notes, *redirected.notes),
            linked=(*submodules, *inputs.linked),
            copied=(*(name for name in brought if by_name.holds(name)), *inputs.copied),
            missing=(*unchecked, *inputs.missing, *absent),
            placed=frozenset(git.paths(folder, "ls-files", "--others", "-z")),
            tree=self.tree,
        )

    def _inputs(self, links: Sequence[str]) -> tuple[Texts, Inputs]:
        """All texts, and the inputs that they name; code that comes along is read in turn."""
        root, folder, inputs = self.project.root, self.tree.folder, Inputs()
        more = True
        while more:
            texts = read_texts(self.command, folder)
            outputs = output_folders(root, self.artifacts, texts)
            more = provide_inputs(root, folder, texts, outputs, inputs, links)
        return texts, inputs

    def _bring_files(self, outputs: OutputFolders) -> list[str]:
        """The job script and configs of the command that the commit does not hold; of outputs only what it reads."""
        root, folder = self.project.root, self.tree.folder
        named = {inside(root, mention.value) for mention in word_mentions(self.command.argv, COMMAND)}
        names = [name for name in map(os.path.normpath, self.command.files) if inside(root, name)]
        absent = [name for name in names if not os.path.lexists(folder / name) and (root / name).is_file()]
        brought = [name for name in absent if name in named or not outputs.holds(name)]
        for name in brought:
            place_copy(root, folder, name)
        return brought

    def _environment(self, texts: Texts, given: dict[str, str]) -> dict[str, str]:
        """Where Python imports from and trackers write to."""
        root, folder, env = self.project.root, self.tree.folder, {**self.project.env, **self.command.environment}
        added = tracker_folders(folder) | {"PWD": str(folder)}
        imports = import_folders(root, texts.files.values(), self.command.argv[0], env)
        if imports:
            before = given.get("PYTHONPATH") or env.get("PYTHONPATH", "")
            paths = [*(os.path.normpath(folder / name) for name in imports), before]
            added["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
        return added
