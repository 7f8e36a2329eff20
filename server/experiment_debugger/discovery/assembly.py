"""From the groups that carry the id to the Run: what else belongs to it, in which order it is read.

In a project with one run everything is its. With several runs: the run's own files, what they name (one hop), dumps of
its job, processes or hosts, files whose name is part of the run's name (`configs/sft_r17.yaml` of `sft-mistral-r17`),
and what no run owns: code, environments, notes.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from experiment_debugger.discovery.attempts import assign_attempts, rotation_of
from experiment_debugger.discovery.declared import declare, job_in_name
from experiment_debugger.discovery.grouping import Group, owners, words_of_runs
from experiment_debugger.discovery.inventory import Entry, Inventory
from experiment_debugger.discovery.jobfiles import JobFile, read_job
from experiment_debugger.discovery.kinds import COMPRESSED
from experiment_debugger.discovery.links import Names, dumps_of_run, linked_groups, named_entries, names_in
from experiment_debugger.discovery.names import PREFERRED, label, rank_of, stem
from experiment_debugger.discovery.registry import Record, known_risks, read_status
from experiment_debugger.discovery.text_ends import ends_of
from experiment_debugger.discovery.trackers import unknown_trackers
from experiment_debugger.errors import UnreadableArtifact
from experiment_debugger.project import Project
from experiment_debugger.readers.files import is_text, sniff
from experiment_debugger.run import Artifact, ArtifactKind, Attempt, Run

MAX_CODE = 400
_ORDER: tuple[ArtifactKind, ...] = (
    "log", "scheduler", "kernel", "dump", "metrics", "tensorboard", "wandb", "config", "job", "status", "gpu-log",
    "environment", "checkpoint", "notebook", "code", "other",
)  # fmt: skip
_SHARED_KINDS = frozenset({"code", "environment", "other", "notebook"})
_BINARY_KINDS = frozenset({"tensorboard", "wandb", "checkpoint"})
_CONFIG_NAMED = re.compile(r"(?:--config\S*|--cfg|--deepspeed|-c)[ =](\S+\.(?:ya?ml|json|py|toml|gin|jsonnet))")


@dataclass(slots=True)
class Selection:
    """What was chosen: the run's groups, or `entries` of them, files named elsewhere with the reason, and sources."""

    id: str
    how: str
    groups: list[Group]
    entries: list[Entry] | None = None
    named: dict[Entry, str] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    alternatives: tuple[str, ...] = ()
    record: Record | None = None
    note: Record | None = None
    by_path: bool = False


def assemble(project: Project, inventory: Inventory, groups: list[Group], chosen: Selection) -> Run:
    """The Run of a selection."""
    linked, notes = ([], []) if chosen.by_path else _linked(chosen.groups, groups)
    own_groups = [*chosen.groups, *linked]
    others = [group for group in groups if all(group is not own for own in own_groups)]
    why = _own(chosen, linked)
    excluded = _excluded(chosen, why)
    names = names_in(why)
    if chosen.by_path:
        _add(why, _hop(inventory, names, others, excluded, project))
    elif not others and not excluded:
        _add(why, dict.fromkeys(inventory.entries, "the only run here"))
    else:
        _add(why, _hop(inventory, names, others, excluded, project))
        _add(why, _nearby(inventory, own_groups, groups, excluded, why, names))
    unknown = [] if chosen.by_path else unknown_trackers(others, inventory, groups, set(why))
    unreadable = list(inventory.unreadable)
    entries = _readable(project, why, unreadable)
    jobs = [read_job(ends_of(entry.path), entry.rel) for entry in entries if entry.kind == "job"]
    artifacts, attempts = _artifacts(project, chosen, own_groups, entries, why)
    configs = tuple(artifact.name for artifact in artifacts if artifact.kind == "config")
    siblings = [*chosen.alternatives, *(group.display for group in sorted(others, key=lambda one: -one.newest))]
    missing = [*chosen.missing, *notes, *_missing(project, jobs)]
    risks = known_risks(project, unreadable)
    return Run(
        id=chosen.id,
        how_found=chosen.how,
        project=project,
        artifacts=artifacts,
        attempts=attempts,
        declared=declare(entries, jobs, chosen.record, chosen.note or _status_note(entries, own_groups), configs),
        siblings=tuple(siblings),
        missing=tuple(dict.fromkeys(missing)),
        unreadable=tuple(dict.fromkeys(unreadable)),
        not_looked_at=(*inventory.not_looked_at, *unknown),
        risks=risks,
    )


def _status_note(entries: list[Entry], own_groups: list[Group]) -> Record | None:
    """The one status note among the artifacts whose name is part of the run's name (`118-status.md`)."""
    keys = [set(group.key) for group in own_groups]
    notes = [
        entry
        for entry in entries
        if entry.kind == "status"
        and entry.name.endswith(".md")
        and any(set(label(stem(entry.name))) <= key for key in keys)
    ]
    return read_status(ends_of(notes[0].path), notes[0].rel, own_groups[0].display) if len(notes) == 1 else None


def _linked(chosen: list[Group], groups: list[Group]) -> tuple[list[Group], list[str]]:
    """Groups that are other names of the chosen run; twice, because a job may lead to a name and that to a W&B id."""
    linked: list[Group] = []
    notes: list[str] = []
    front = list(chosen)
    for _ in range(2):
        rest = [group for group in groups if all(group is not one for one in (*chosen, *linked))]
        found: list[Group] = []
        for group in front:
            more, open_ends = linked_groups(group, [one for one in rest if all(one is not other for other in found)])
            found += more
            notes += open_ends
        linked += found
        front = found
    return linked, notes


def _own(chosen: Selection, linked: list[Group]) -> dict[Entry, str]:
    own = chosen.entries if chosen.entries is not None else [one for group in chosen.groups for one in group.entries]
    reason = chosen.how if chosen.how == "the only run here" else f"carries '{chosen.id}'"
    why = dict(chosen.named)
    mine = set(own).union(*(group.entries for group in linked))
    for group in (*chosen.groups, *linked):
        for tracker, joined in group.trackers:
            _add(why, {entry: joined for entry in tracker.entries if entry in mine})
    _add(why, dict.fromkeys(own, reason))
    for group in linked:
        _add(why, dict.fromkeys(group.entries, f"{group.place} and the run name each other"))
    return why


def _excluded(chosen: Selection, why: dict[Entry, str]) -> set[Entry]:
    """Files of a chosen group that belong to another part of it (`fold_1` when `fold_0` was asked for)."""
    return {entry for group in chosen.groups for entry in group.entries if entry not in why}


def _add(why: dict[Entry, str], more: dict[Entry, str]) -> None:
    for entry, reason in more.items():
        why.setdefault(entry, reason)


def _hop(
    inventory: Inventory, names: Names, others: list[Group], excluded: set[Entry], project: Project
) -> dict[Entry, str]:
    """Files that the run's texts name, as far as no other run owns them."""
    foreign = {entry for group in others for entry in group.entries} | excluded
    named = named_entries(names, inventory, str(project.root))
    hop = {entry: f"named in {source}" for entry, source in named.items() if entry not in foreign}
    configs = [entry for entry in hop if entry.kind in {"config", "job"}]
    further = named_entries(names_in(configs), inventory, str(project.root))
    for entry, source in further.items():
        if entry not in foreign and entry.kind == "config":
            hop.setdefault(entry, f"named in {source}")
    return hop


def _nearby(
    inventory: Inventory,
    own_groups: list[Group],
    groups: list[Group],
    excluded: set[Entry],
    why: dict[Entry, str],
    names: Names,
) -> dict[Entry, str]:
    """Files outside of all runs that belong to this one by name or dump, and those that belong to every run."""
    owned = {entry for group in groups for entry in group.entries} | excluded
    jobs = {job for entry in why if (job := job_in_name(entry))}
    found = dumps_of_run(inventory, names, set(why) | owned, jobs)
    index = words_of_runs(groups)
    configs: list[Entry] = []
    code = 0
    for entry in inventory.entries:
        if entry in owned or entry in found:
            continue
        names_of = owners(entry, index) if entry.kind in {"config", "job", "status", "environment", "metrics"} else []
        if any(group is own for group in names_of for own in own_groups):
            found[entry] = "its name is part of the run's name"
        elif not names_of and entry.kind in _SHARED_KINDS and (entry.kind != "code" or code < MAX_CODE):
            code += entry.kind == "code"
            found[entry] = "belongs to no single run"
        elif not names_of and entry.kind in {"config", "job"}:
            configs.append(entry)
    has_config = any(entry.kind == "config" for entry in (*why, *found))
    alone = [entry for entry in configs if entry.kind == "config"]
    if not has_config and len(alone) == 1:
        found[alone[0]] = "the only config here"
    return found


def _readable(project: Project, why: dict[Entry, str], unreadable: list[str]) -> list[Entry]:
    """The entries that can be read as what they are; the others are named with the reason."""
    kept = []
    for entry in why:
        if not os.access(entry.path, os.R_OK, effective_ids=os.access in os.supports_effective_ids):
            unreadable.append(f"{project.show(entry.path)} (permission denied)")
        elif entry.kind == "log" and not entry.name.endswith((*COMPRESSED, ".bz2")) and _is_binary(entry):
            unreadable.append(f"{project.show(entry.path)} (binary, no text)")
        else:
            kept.append(entry)
    return kept


def _is_binary(entry: Entry) -> bool:
    """Whether a log is no text; what cannot be opened is named by whoever reads it."""
    try:
        return not is_text(sniff(Path(entry.path)))
    except (OSError, UnreadableArtifact):
        return False


def _artifacts(
    project: Project, chosen: Selection, own_groups: list[Group], entries: list[Entry], why: dict[Entry, str]
) -> tuple[tuple[Artifact, ...], tuple[Attempt, ...]]:
    index, labels = assign_attempts(entries, own_groups[0] if len(own_groups) == 1 else _union(own_groups))
    parts = _parts(entries)
    artifacts = [
        Artifact(
            path=Path(entry.path),
            name=project.show(entry.path),
            kind=entry.kind,
            size=entry.size,
            mtime=entry.mtime,
            why=why[entry],
            attempt=index[entry],
            rank=rank_of(entry.parts) if entry.kind not in _BINARY_KINDS else None,
            part=parts.get(entry, 0),
        )
        for entry in entries
    ]
    artifacts.sort(key=_reading_order)
    attempts = tuple(
        Attempt(number, name or chosen.id, tuple(one.name for one in artifacts if one.attempt == number))
        for number, name in enumerate(labels)
    )
    return tuple(artifacts), attempts


def _union(groups: list[Group]) -> Group | None:
    if not groups:
        return None
    shortest = min(groups, key=lambda group: (group.is_alias, len(group.key)))
    units = {unit: count for group in groups for unit, count in group.units.items()}
    return Group(shortest.key, shortest.display, [], units)


def _parts(entries: list[Entry]) -> dict[Entry, int]:
    """0-based part of each rotated log, oldest (highest number) first; the live file is the last part."""
    families: dict[tuple[tuple[str, ...], str], list[Entry]] = {}
    for entry in entries:
        if entry.kind == "log":
            families.setdefault((entry.parts[:-1], _family(entry.name)), []).append(entry)
    result: dict[Entry, int] = {}
    for members in families.values():
        if any(rotation_of(entry.name) is not None for entry in members):
            ordered = sorted(members, key=lambda one: -(rotation_of(one.name) or 0))
            result |= {entry: number for number, entry in enumerate(ordered)}
    return result


def _family(name: str) -> str:
    """The name of the live file: `train.log` of `train.log.3.gz`."""
    return re.sub(r"(?:\.\d{1,3})?(?:\.(?:gz|xz|zst))?$", "", name)


def _reading_order(artifact: Artifact) -> tuple[object, ...]:
    top = artifact.name.split("/")[0]
    preferred = PREFERRED.index(top) if top in PREFERRED else len(PREFERRED)
    rank = -1 if artifact.rank is None else artifact.rank
    folder, _, name = artifact.name.rpartition("/")
    return (
        _ORDER.index(artifact.kind), artifact.attempt, preferred, folder, rank, _family(name), artifact.part, name,
    )  # fmt: skip


def _missing(project: Project, jobs: list[JobFile]) -> list[str]:
    """Configs that a command names and that are not in the project."""
    return [
        f"{config} (named in {job.command_at}; not in the project)"
        for job in jobs
        for config in _CONFIG_NAMED.findall(job.command or "")
        if "$" not in config and not os.path.exists(project.root / config)
    ]
