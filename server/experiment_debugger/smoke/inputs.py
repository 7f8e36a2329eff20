"""Inputs that git does not hold (data, weights, a virtual environment) made reachable in a worktree.

--data data/cifar              data -> /home/ann/project/data        a link: read where it is
--resume outputs/42/last.pt    a copy: the program may write to that path
outputs/                       an empty folder: evidence stays out of reach
train_file: data/gone.csv      missing: named and nowhere
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from experiment_debugger import git
from experiment_debugger.discovery.names import is_artifact_folder
from experiment_debugger.smoke.mentions import Mention, Texts
from experiment_debugger.smoke.named import Named
from experiment_debugger.smoke.order import said
from experiment_debugger.smoke.output_folders import OutputFolders, before_interpolation, inside
from experiment_debugger.smoke.placing import (
    MOST_CHILDREN,
    fits_on_disk,
    is_never_placed,
    place_copy,
    place_link,
    size_of,
)

LARGEST_COPY = 4 << 30  # bytes; a checkpoint of a few billion parameters in bf16
LARGEST_CODE = 4 << 20
CODE = (".py", ".pyi", ".sh", ".yaml", ".yml", ".json", ".toml", ".ini", ".cfg", ".jinja", ".gin")
_DATA_FILE = re.compile(
    r"\.(?:pt|pth|ckpt|safetensors|bin|npy|npz|jsonl?|csv|tsv|parquet|txt|ya?ml|h5|hdf5|pkl|pickle|tar|zip|gz|zst|lmdb"
    r"|arrow|model|tfrecords?|wav|flac|mmap|idx|onnx|gguf|db|sqlite|xml|toml|py|sh)$",
    re.IGNORECASE,
)
_HUB = re.compile(r"[\w.-]+/[\w.-]+")
_MAYBE_HUB = re.compile(r"(?:^|[._])(?:models?|tokenizer|datasets?|data|pretrained\w*|model_name_or_path)$")


@dataclass(slots=True)
class Inputs:
    """What became of the inputs; `linked` and `copied` are relative to the worktree, `missing` are sentences."""

    linked: list[str] = field(default_factory=list)
    copied: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    code: list[str] = field(default_factory=list)


def provide_inputs(
    root: Path, folder: Path, texts: Texts, outputs: OutputFolders, found: Inputs, replaced: Sequence[str] = ()
) -> bool:
    """Make what is named, and not in the worktree `folder`, reachable there; the project `root` is only read.

    `replaced` are tracked links for which the same is done as if they were named. Adds to `found`; whether code came
    along, which may name more.
    """
    code_before = len(found.code)
    provider = _Provider(root, folder, outputs, Named(root, texts), found)
    for name in (*_untracked(root), *replaced):
        provider.reach(name, is_named=name in replaced)
    for name in provider.names.beside:
        provider.reach_beside(name)
    for mention in texts.mentions:
        for place in texts.places(mention.value):
            provider.copy_named(mention, place)
    for literal in sorted(provider.names.literals):
        provider.copy_literal(literal)
    found.missing = list(dict.fromkeys(missing_inputs(root, folder, texts, outputs)))
    return len(found.code) > code_before


def missing_inputs(root: Path, folder: Path, texts: Texts, outputs: OutputFolders) -> Iterator[str]:
    """Inputs that are named and exist neither in the folder nor, with an absolute path, anywhere."""
    for mention in texts.mentions:
        if _is_input_path(mention) and not any(_exists(root, folder, one) for one in texts.places(mention.value)):
            name = inside(root, mention.value)
            if name is not None and os.path.lexists(root / name):
                yield f"{said(mention.value)} ({said(mention.at)}): {_why_not_copied(root / name, name, outputs)}"
            else:
                yield f"{said(mention.value)} ({said(mention.at)}): no such file or folder"


def _is_input_path(mention: Mention) -> bool:
    value = mention.value
    if not mention.key:
        return value.endswith((".py", ".sh")) and not _is_open(value)
    if not mention.is_input or _is_open(value) or "://" in value or len(value) > 400:
        return False
    if value.startswith(("/", "./", "../", "~/")):
        return True
    if _HUB.fullmatch(value) and _MAYBE_HUB.search(mention.key) and not _DATA_FILE.search(value):
        return False
    return ("/" in value and " " not in value) or bool(_DATA_FILE.search(value))


def _is_open(value: str) -> bool:
    """Whether a value is known only when the program runs."""
    return before_interpolation(value) != value or "`" in value or "\n" in value


def _exists(root: Path, folder: Path, value: str) -> bool:
    name = inside(root, value)
    return os.path.exists(folder / name if name is not None else folder / os.path.expanduser(value))


def _why_not_copied(path: Path, name: str, outputs: OutputFolders) -> str:
    where = "it lies in an output folder and " if outputs.holds(name) else ""
    return f"{where}{size_of(path) / (1 << 30):.1f} GiB are too much to copy" if where else "it cannot be linked"


@dataclass(slots=True)
class _Provider:
    root: Path
    folder: Path
    outputs: OutputFolders
    names: Named
    found: Inputs

    def reach(self, name: str, *, is_named: bool = False) -> None:
        """Link an untracked file or folder that is named; a folder that also holds outputs only in parts."""
        source, target = self.root / name, self.folder / name
        if is_never_placed(name):
            return
        if self.outputs.holds(name) or self.outputs.is_evidence(source):
            self._empty(name, is_named=is_named)
        elif source.is_dir() and self._is_in_parts(name):
            target.mkdir(exist_ok=True)
            for child in _children(source):
                self.reach(f"{name}/{child}", is_named=is_named)
        elif not os.path.lexists(target) and (is_named or self.names.names(name)):
            self._link(name)

    def _is_in_parts(self, name: str) -> bool:
        source = self.root / name
        is_there = os.path.isdir(self.folder / name) and not source.is_symlink()
        return is_there or self.outputs.below(name) or self.outputs.leads_to_evidence(source)

    def reach_beside(self, name: str) -> None:
        """What code calls `../data` is a link beside the worktree, in our folder; `../runs` an empty folder there."""
        source, target = self.root.parent / name, self.folder.parent / name
        if name == self.root.name or os.path.lexists(target) or not source.exists():
            return
        if self.outputs.holds(f"../{name}") or self.outputs.below(f"../{name}") or self.outputs.is_evidence(source):
            target.mkdir()
        else:
            place_link(self.root, self.folder, f"../{name}")
            self.found.linked.append(f"../{name}")

    def copy_named(self, mention: Mention, place: str) -> None:
        """Copy a file (under an input's key also a folder) that is named and lies in an output folder."""
        name = inside(self.root, place)
        if name is None or mention.is_output:
            return
        is_output = self.outputs.holds(name) or self.outputs.is_evidence(self.root / name)
        if is_output and (mention.is_input or (self.root / name).is_file()):
            self._copy(name)

    def copy_literal(self, literal: str) -> None:
        """Copy a file that code names, unless the run made it: a program that finds its checkpoint goes on there."""
        name = inside(self.root, literal) if "/" in literal else None
        if name and name not in self.outputs.own and self.outputs.holds(name) and (self.root / name).is_file():
            self._copy(name)

    def _link(self, name: str) -> None:
        source = self.root / name
        if name.endswith(CODE) and source.is_file() and source.stat().st_size <= LARGEST_CODE:
            place_copy(self.root, self.folder, name)
            self.found.code.append(name)
        else:
            place_link(self.root, self.folder, name)
            self.found.linked.append(name)

    def _copy(self, name: str) -> None:
        source = self.root / name
        if os.path.lexists(self.folder / name) or not source.exists():
            return
        if (size := size_of(source)) <= LARGEST_COPY and fits_on_disk(self.folder, size):
            place_copy(self.root, self.folder, name)
            self.found.copied.append(name)

    def _empty(self, name: str, *, is_named: bool = False) -> None:
        """An output folder that exists in the project exists in the worktree: programs write into it unasked."""
        source = self.root / name
        if not source.is_dir() or not (is_named or all(is_artifact_folder(part) for part in name.split("/"))):
            return
        (self.folder / name).mkdir(parents=True, exist_ok=True)
        for child in _children(source):
            if is_artifact_folder(child) and (source / child).is_dir():
                self._empty(f"{name}/{child}")


def _untracked(root: Path) -> list[str]:
    """Untracked and ignored files and folders, whole folders as one."""
    return [name.rstrip("/") for name in git.paths(root, "ls-files", "--others", "--directory", "-z")]


def _children(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))[:MOST_CHILDREN]
    except OSError:
        return []
