"""Which runs there are: log-like files grouped by the run that their place and name carry.

runs/egnn-qm-a3/stdout.log, configs/egnn-qm-a3.yaml      one run, egnn-qm-a3
slurm-42.out, slurm-42.err, slurm-42-1.out               one run, 42, tried twice
lightning_logs/version_6/, logs/vae_sensors_version_6.log  one run, version_6
outputs/2025-09-10/01-00-36/                             one run, named by date and time
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field

from experiment_debugger.discovery.inventory import Entry, Inventory
from experiment_debugger.discovery.names import (
    ATTEMPT_WORDS,
    PARTS,
    RUN_WORDS,
    is_artifact_folder,
    label,
    normal,
    stem,
    tokens,
)

CONSTITUTING = frozenset({"log", "metrics", "tensorboard", "wandb"})
DUMPS = frozenset({"dump", "kernel", "scheduler", "gpu-log"})
Key = tuple[str, ...]
_RUN_FOLDER = re.compile(r"^(?:run|exp|experiment|job|slurm|expt)-?\d+$|^(?:offline-)?run-\d{8}-\d{6}-")
_DATE = re.compile(r"^\d{4}-\d\d-\d\d$|^\d{8}$")
_TIME = re.compile(r"^\d\d-\d\d-\d\d$|^\d{6}$")
_ALIAS = re.compile(r"(?i)^(?:(?:slurm|job|pbs|sge|lsf)[-_.]?)?\d{4,}(?:_\d+)?$|^(?:offline-)?run-\d{8}_\d{6}-")
_WANDB = re.compile(r"^(?:offline-)?run-\d{8}_\d{6}-(.+)$")

_TRY = re.compile(rf"(?:part|{'|'.join(sorted(ATTEMPT_WORDS))})\d{{0,2}}")
_NUMBERED_TRY = re.compile(rf"(?:r|part|{'|'.join(sorted(ATTEMPT_WORDS))})?\d{{1,2}}")


@dataclass(slots=True)
class Group:
    """One run as the tree shows it; `units` counts its files by the path parts that name it, () where none does."""

    key: Key
    display: str
    entries: list[Entry] = field(default_factory=list)
    units: dict[tuple[str, ...], int] = field(default_factory=dict)
    trackers: list[tuple[Group, str]] = field(default_factory=list)
    """Trackers that are this run's although no name says so, each with the reason; `entries` has their files too."""

    @property
    def newest(self) -> float:
        """Last change of its log-like files, seconds since the epoch."""
        return max((entry.mtime for entry in self.entries if entry.kind in CONSTITUTING), default=0.0)

    @property
    def is_alias(self) -> bool:
        """Whether only a scheduler's number or a W&B id names it: then a named run may be the same run."""
        return bool(self.units) and all(_ALIAS.match(unit[-1]) for unit in self.units if unit)

    @property
    def place(self) -> str:
        """The folder or file that names it."""
        unit = min(self.units, key=lambda parts: (len(parts), parts), default=())
        return "/".join(unit)


@dataclass(frozen=True, slots=True)
class Unit:
    """The part of a path that names the run of a file."""

    parts: tuple[str, ...]
    key: Key
    display: str


def group_runs(inventory: Inventory) -> list[Group]:
    """The runs of the tree.

    Files that no run's name owns (configs, code, docs, nameless logs) are in no group, except that nameless logs are
    the one run of a tree without any named run.
    """
    return (
        _grouped(inventory, CONSTITUTING)
        or _grouped(inventory, DUMPS)
        or _nameless(inventory)
        or notebook_runs(inventory)
    )


def notebook_runs(inventory: Inventory) -> list[Group]:
    """Every notebook as a run of its own: its outputs are a log. They count only where no other run is meant."""
    notebooks = [entry for entry in inventory.entries if entry.kind == "notebook"]
    return [
        Group(label(name), _display(name, label(name)), [entry], {(*entry.parts[:-1], name): 1})
        for entry, name in ((entry, stem(entry.name)) for entry in notebooks)
        if label(name)
    ]


def _grouped(inventory: Inventory, constituting: frozenset[str]) -> list[Group]:
    nested = _nested_folders(inventory)
    groups: dict[Key, Group] = {}
    loose: list[tuple[Entry, Unit]] = []
    for entry in inventory.entries:
        unit = unit_of(entry, nested)
        if unit is None or not unit.key:
            continue
        if entry.kind in constituting and entry.in_area | (len(entry.parts) == 1):
            _join(groups, entry, unit)
        else:
            loose.append((entry, unit))
    for entry, unit in loose:
        if unit.key in groups and entry.in_area:
            _join(groups, entry, unit)
    _merge_versions(groups)
    _merge_attempts(groups)
    return list(groups.values())


def _join(groups: dict[Key, Group], entry: Entry, unit: Unit) -> None:
    group = groups.setdefault(unit.key, Group(unit.key, unit.display))
    group.entries.append(entry)
    group.units[unit.parts] = group.units.get(unit.parts, 0) + 1


def _nameless(inventory: Inventory) -> list[Group]:
    """Logs without a run's name are one run, named after the folder that was looked at."""
    logs = [entry for entry in inventory.entries if entry.kind in CONSTITUTING | DUMPS and not entry.in_data]
    if not logs:
        return []
    return [Group((), inventory.base.name or "run", logs, {(): len(logs)})]


def unit_of(entry: Entry, nested: frozenset[tuple[str, ...]] = frozenset()) -> Unit | None:
    """The folder or file stem that names the run of this entry, or None outside of places where runs stand."""
    folders = entry.parts[:-1]
    if not entry.in_area and folders:
        return None
    if "latest-run" in folders and "wandb" in folders:
        return None  # a copy of the real folder beside it
    for index, folder in enumerate(folders):
        upto = folders[: index + 1]
        if _WANDB.match(folder):
            return _folder_unit(folder, upto)
        if is_artifact_folder(folder) or upto in nested or (folder.isdigit() and folders[index - 1] == "mlruns"):
            continue
        if _DATE.match(normal(folder)) and index + 1 < len(folders) and _TIME.match(normal(folders[index + 1])):
            name = f"{folder}/{folders[index + 1]}"
            return Unit(folders[: index + 2], tokens(name.replace("/", "-")), name)
        if folder.startswith(".") or normal(folder).split("-")[0] in PARTS:
            break
        return _folder_unit(folder, upto)
    if entry.kind == "tensorboard" and folders:  # a folder is a run of TensorBoard, not each file that it wrote
        return Unit(folders, tokens("-".join(folders)), "/".join(folders))
    if entry.kind == "wandb" and normal(entry.name).startswith("debug"):
        return None
    own = stem(entry.name)
    return Unit((*folders, own), label(own), _display(own, label(own)))


def wandb_id(parts: tuple[str, ...]) -> str | None:
    """The id in the name of the W&B folder that holds this file."""
    return next((found[1] for part in parts[:-1] if (found := _WANDB.match(part))), None)


def _folder_unit(folder: str, parts: tuple[str, ...]) -> Unit:
    wandb = _WANDB.match(folder)
    if wandb:
        return Unit(parts, (normal(wandb[1]),), folder)
    key = label(folder) or tokens(folder)
    first = normal(folder).split("-")[0]
    if is_artifact_folder(first) and first not in RUN_WORDS - {"logs", "log"}:
        return Unit(parts, key, re.split(r"[-_]", folder, maxsplit=1)[-1])
    return Unit(parts, key, _display(folder, key))


def _display(own: str, key: Key) -> str:
    """How a run named by a file is shown: the number alone for job output, else the stem without its role words."""
    if len(key) == 1 and key[0].isdigit() and normal(own).startswith(("slurm", "job")):
        return key[0]
    shorter = re.sub(r"[._-][^._-]*$", "", own)
    while shorter != own and label(shorter) == key:
        own, shorter = shorter, re.sub(r"[._-][^._-]*$", "", shorter)
    return own


def _nested_folders(inventory: Inventory) -> frozenset[tuple[str, ...]]:
    """Folders below the containers that only collect runs (`experiments/projectA/run-1`, `run-2`)."""
    direct: set[tuple[str, ...]] = set()
    children: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for entry in inventory.entries:
        if entry.kind in CONSTITUTING and entry.in_area:
            folders = entry.parts[:-1]
            direct.add(folders)
            for index in range(1, len(folders)):
                children[folders[:index]].add(folders[index])
    return frozenset(
        parent
        for parent, names in children.items()
        if parent not in direct and not is_artifact_folder(parent[-1])
        if any(_RUN_FOLDER.match(normal(name)) for name in names)
    )


def _merge_versions(groups: dict[Key, Group]) -> None:
    """`lightning_logs/version_6` and `logs/vae_sensors_version_6.log` are one run, where only one name fits."""
    by_number: dict[str, list[Key]] = defaultdict(list)
    for key in groups:
        if len(key) > 2 and key[-1].isdigit() and key[-2] in RUN_WORDS:
            by_number[key[-1]].append(key)
    for number, longer in by_number.items():
        if (number,) in groups and len(longer) == 1:
            _absorb(groups, longer[0], (number,))


def _merge_attempts(groups: dict[Key, Group]) -> None:
    """`42-1`, `42-retry` and `42-resume-2` are attempts of `42`, where a run `42` exists."""
    for key in sorted(groups, key=len, reverse=True):
        for cut in range(len(key) - 1, 0, -1):
            base, rest = key[:cut], key[cut:]
            if base in groups and (re.search(r"\d$", base[-1]) or is_part(rest)) and is_attempt_suffix(rest):
                _absorb(groups, base, key)
                break
    _merge_tries(groups)


def _merge_tries(groups: dict[Key, Group]) -> None:
    """`42-attempt1` and `42-attempt2` are the run `42` although no name is that alone."""
    tries: dict[Key, list[Key]] = defaultdict(list)
    for key in groups:
        cut = next((at for at, word in enumerate(key) if at and _TRY.fullmatch(word)), None)
        if cut is None or not is_attempt_suffix(key[cut:]):
            continue
        if re.search(r"\d$", key[cut - 1]) or is_part(key[cut:]):
            tries[key[:cut]].append(key)
    for base, keys in tries.items():
        if base not in groups and len(keys) > 1:
            groups[base] = Group(base, "-".join(base), [])
            for key in keys:
                _absorb(groups, base, key)


def is_attempt_suffix(words: Key) -> bool:
    """Whether these tokens behind a run's id only number its tries, or the parts of its log (`part1`)."""
    return (
        bool(words)
        and all(word in ATTEMPT_WORDS or word == "part" or _NUMBERED_TRY.fullmatch(word) for word in words)
        and words != ("part",)
    )


def is_part(words: Key) -> bool:
    """Whether these tokens number a part of a log: `part1`, or `part` and `1`."""
    return bool(re.fullmatch(r"part-?\d{1,2}", "-".join(words)))


def _absorb(groups: dict[Key, Group], into: Key, key: Key) -> None:
    other = groups.pop(key)
    groups[into].entries.extend(other.entries)
    for unit, count in other.units.items():
        groups[into].units[unit] = groups[into].units.get(unit, 0) + count


def words_of_runs(groups: list[Group]) -> dict[str, list[Group]]:
    """The groups by each word of their names, for `owners`."""
    index: dict[str, list[Group]] = defaultdict(list)
    for group in groups:
        for word in set(group.key):
            index[word].append(group)
    return index


def owners(entry: Entry, index: dict[str, list[Group]]) -> list[Group]:
    """Groups that a config, job or status file belongs to by its name.

    All its words are the run's (or the reverse), at least one of them with a digit; the longest match wins.
    """
    own = set(label(stem(entry.name)) or tokens(stem(entry.name)))
    scored = []
    for group in {id(group): group for word in own for group in index.get(word, ())}.values():
        key = set(group.key)
        common = own & key
        numbered = any(re.search(r"\d", word) for word in common)
        if own == key or (numbered and common in (own, key)):
            scored.append((len(common), group))
    best = max((score for score, _ in scored), default=0)
    return [group for score, group in scored if score == best]
