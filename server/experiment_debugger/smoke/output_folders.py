"""Which places of a project are written by runs: what lies there is evidence and is never linked into a test.

logs/, outputs/, lightning_logs/     by their name
work/run42/                          because artifacts of the run lie in it
data/processed                       because `--save_dir data/processed` says so
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from experiment_debugger.discovery.names import NOT_RUNS, is_artifact_folder, tokens
from experiment_debugger.smoke.mentions import Texts

_INTERPOLATED = re.compile(r"[$%{*?]")


@dataclass(frozen=True)
class OutputFolders:
    """`written` are paths that hold outputs and `own` the run's artifacts, relative to the root with `/`.

    `evidence` are the folders outside the project in which artifacts of the run lie: links may lead there.
    """

    written: frozenset[str]
    own: frozenset[str]
    evidence: frozenset[str]

    def holds(self, name: str) -> bool:
        """Whether a path, relative to the root, is or lies in an output folder."""
        parts = name.split("/")
        if any("/".join(parts[: count + 1]) in self.written for count in range(len(parts))):
            return True
        first = tokens(parts[0])
        return not (first and first[0] in NOT_RUNS) and any(is_artifact_folder(part) for part in parts)

    def below(self, name: str) -> bool:
        """Whether outputs lie somewhere below a folder."""
        return any(one.startswith(name + "/") for one in self.written)

    def is_evidence(self, path: Path) -> bool:
        """Whether a path is or lies in a folder of the run's artifacts outside the project, whatever links it takes."""
        real = os.path.realpath(path) if self.evidence else ""
        return any(real == folder or real.startswith(folder + os.sep) for folder in self.evidence)

    def leads_to_evidence(self, path: Path) -> bool:
        """Whether such a folder lies somewhere below a path."""
        real = os.path.realpath(path) if self.evidence else ""
        return any(folder.startswith(real + os.sep) for folder in self.evidence)


def output_folders(root: Path, artifacts: Iterable[Path], texts: Texts) -> OutputFolders:
    """The output folders of a project, from the run's artifacts and what its command names."""
    own = {name for path in artifacts if (name := inside(root, str(path)) or _beside(root, path)) is not None}
    written = set(own)
    for name in own:
        folder = os.path.dirname(name)
        first = tokens(folder.split("/")[0])
        if folder not in {"", ".."} and not (first and first[0] in NOT_RUNS):
            written.add(folder)
    for mention in texts.mentions:
        for value in texts.places(before_interpolation(mention.value)) if mention.is_output else ():
            if name := inside(root, value):
                written.add(name)
    return OutputFolders(frozenset(written - {"."}), frozenset(own), frozenset(folders_outside(root, artifacts)))


def folders_outside(root: Path, artifacts: Iterable[Path]) -> set[str]:
    """Folders outside the project in which artifacts of the run lie, by each of their names.

    A folder that holds the project or is the user's home is none of a run, though a log may lie in it.
    """
    folders = {os.path.dirname(path) for one in artifacts for path in (str(one), os.path.realpath(one))}
    of_everything = {str(one) for one in (*root.parents, *root.resolve().parents)} | {os.path.expanduser("~")}
    outside = {folder for folder in folders if inside(root, folder) is None and folder.count(os.sep) > 1}
    return outside - of_everything


def inside(root: Path, value: str) -> str | None:
    """A path as text relative to the root (`data/a`, `../runs`); None when it is empty or leads elsewhere."""
    if not value or "\0" in value or "://" in value:
        return None
    if not os.path.isabs(value):
        name = os.path.normpath(value)
        return name if name.count("..") <= 1 else None
    text = os.path.normpath(value)
    for base in (str(root), os.path.realpath(root)):
        if text == base or text.startswith(base + os.sep):
            return os.path.relpath(text, base)
    return None


def _beside(root: Path, path: Path) -> str | None:
    """`../runs/42/last.pt` for an artifact that lies beside the project."""
    name = os.path.relpath(os.path.normpath(path), root)
    return name if name.count("..") == 1 else None


def before_interpolation(value: str) -> str:
    """`outputs/$SLURM_JOB_ID/a` is `outputs` as far as it is known; a name that is only begun does not count."""
    found = _INTERPOLATED.search(value)
    return value[: found.start()].rpartition("/")[0] if found else value
