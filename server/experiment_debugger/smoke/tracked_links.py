"""What git cannot bring into a worktree as it is used: links that lead outside, and submodules.

logs -> /scratch/ann/logs                 taken away: the link would lead to the run's own logs; see `inputs`
data -> ../datasets                       a link to the same place by its absolute path
current -> /home/ann/project/configs/a    the same place of the worktree
third_party/lib (a submodule)             a link to the one that is checked out
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from experiment_debugger import git
from experiment_debugger.smoke.output_folders import OutputFolders, inside
from experiment_debugger.smoke.placing import is_never_placed

LINK, SUBMODULE = "120000", "160000"


def settle_links(root: Path, folder: Path, outputs: OutputFolders) -> Iterator[str]:
    """Set right links of the worktree that lead out of it; yields the names of those taken away."""
    for name in (*_tracked(folder, LINK), *git.paths(folder, "ls-files", "--others", "-z")):
        link = folder / name
        if not link.is_symlink():
            continue
        place = os.path.realpath(root / name)
        below = inside(root, place)
        if below is not None and not below.startswith(".."):
            _relink(link, folder / below, os.readlink(link))
        elif _leads_to_outputs(name, Path(place), outputs):
            link.unlink()
            yield name
        else:
            _relink(link, Path(place), os.readlink(link))


def _leads_to_outputs(name: str, place: Path, outputs: OutputFolders) -> bool:
    by_name = outputs.holds(name) or outputs.below(name)
    return by_name or outputs.is_evidence(place) or outputs.leads_to_evidence(place)


def _relink(link: Path, target: Path, text: str) -> None:
    """Where the link's own text leads elsewhere from here, let it lead to the target."""
    if os.path.realpath(os.path.join(link.parent, text)) != os.path.realpath(target):
        link.unlink()
        link.symlink_to(target)


def moved_submodules(root: Path, folder: Path) -> list[str]:
    """Submodules of the project that are not what the commit in `folder` says, or hold changes of their own."""
    lines = git.paths(folder, "ls-files", "--stage", "-z")
    links = [(line.split()[1], line.partition("\t")[2]) for line in lines if line.startswith(SUBMODULE)]
    return [name for sha, name in links if _is_checked_out(root / name) and _is_moved(root / name, sha)]


def _is_moved(module: Path, sha: str) -> bool:
    """Whether a submodule, or one within it, holds anything but this commit; what git cannot tell counts as moved."""
    if git.commit_now(module) != sha or moved_submodules(module, module):
        return True
    status = git.output(module, "status", "--porcelain", "--untracked-files=normal", "--ignore-submodules=dirty")
    return status is None or any(not is_never_placed(line[3:].strip('"')) for line in status.splitlines())


def _is_checked_out(module: Path) -> bool:
    return module.is_dir() and bool(os.listdir(module))


def settle_submodules(root: Path, folder: Path) -> tuple[list[str], list[str]]:
    """Link submodules that are checked out in the project; (their names, sentences on those that are not)."""
    linked, missing = [], []
    for name in _tracked(folder, SUBMODULE):
        source, target = root / name, folder / name
        if _is_checked_out(source):
            if target.is_dir() and not target.is_symlink():
                target.rmdir()
            target.symlink_to(source, target_is_directory=True)
            linked.append(name)
        else:
            missing.append(f"{name} (a submodule): not checked out in the project")
    return linked, missing


def _tracked(folder: Path, mode: str) -> list[str]:
    lines = git.paths(folder, "ls-files", "--stage", "-z")
    return [line.partition("\t")[2] for line in lines if line.startswith(mode)]
