"""What stands around a run in its project: the tree, its job files and their output, what written notes point to."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from experiment_debugger.discovery.grouping import Group, group_runs
from experiment_debugger.discovery.inventory import Entry, Inventory, take_inventory
from experiment_debugger.discovery.jobfiles import JobFile, job_label, output_regex, read_job
from experiment_debugger.discovery.kinds import kind_of
from experiment_debugger.discovery.names import RunId, normal
from experiment_debugger.discovery.registry import Record, registry_entries
from experiment_debugger.discovery.text_ends import ends_of
from experiment_debugger.discovery.trackers import join_trackers
from experiment_debugger.errors import PathOutsideProject
from experiment_debugger.project import Project

MAX_JOB_FILES = 100


@dataclass(slots=True)
class Tree:
    """Everything that is known about the project's runs before one is chosen."""

    project: Project
    inventory: Inventory
    groups: list[Group]
    registry: list[Record]


def survey(project: Project, *, everywhere: bool = False) -> Tree:
    """Walk the project once and read its registries; broken files among them become notes.

    `everywhere`: also folders where runs do not usually stand, such as `notebooks/out`, may hold them.
    """
    inventory = take_inventory(project, everywhere=everywhere)
    inventory.not_looked_at.extend(project.notes)
    groups = join_trackers(group_runs(inventory), inventory)
    return Tree(project, inventory, groups, registry_entries(project, inventory.unreadable))


def jobs_of(tree: Tree, run: RunId) -> list[JobFile]:
    """Job files whose name carries the id (`jobs/<id>.sh`, `<id>-runai.sh`), else those that name their job so."""
    files = [entry for entry in tree.inventory.entries if entry.kind == "job"]
    own = [entry for entry in files if run.find(job_label(entry.name)) is not None]
    if own:
        return [read_job(ends_of(entry.path), entry.rel) for entry in own]
    jobs = [read_job(ends_of(entry.path), entry.rel) for entry in files[:MAX_JOB_FILES]]
    return [job for job in jobs if job.job_name and normal(job.job_name) == normal(run.text)]


def outputs_of(tree: Tree, jobs: list[JobFile]) -> tuple[dict[Entry, str], list[str]]:
    """Logs that the output patterns of these job files lead to; a pattern that other job files share proves nothing."""
    found: dict[Entry, str] = {}
    open_ends: list[str] = []
    others = (
        [
            read_job(ends_of(entry.path), entry.rel)
            for entry in tree.inventory.entries
            if entry.kind == "job" and entry.rel not in {job.name for job in jobs}
        ]
        if jobs
        else []
    )
    for job in jobs:
        for pattern in job.outputs:
            hits = _hits(tree, job, pattern)
            rivals = [other for other in others if any(_hits(tree, other, one) & hits for one in other.outputs)]
            if rivals and hits:
                open_ends.append(f"{job.name}: its output {pattern} is also that of {rivals[0].name}")
                hits = {entry for entry in hits if job.job_name and job.job_name in ends_of(entry.path)}
            elif not hits:
                open_ends.append(f"{pattern} (output of {job.name}; no such file here)")
            found |= dict.fromkeys(sorted(hits, key=lambda one: one.rel), f"output of {job.name}")
    return found, open_ends


def _hits(tree: Tree, job: JobFile, pattern: str) -> set[Entry]:
    root = str(tree.project.root).rstrip("/") + "/"
    regex = output_regex(pattern.removeprefix(root), job.job_name)
    folder = job.name.rpartition("/")[0]
    beside = f"{folder}/" if folder else ""
    return {
        entry
        for entry in tree.inventory.entries
        if regex.fullmatch(entry.rel) or (beside and regex.fullmatch(entry.rel.removeprefix(beside)))
    }


def pointed_to(tree: Tree, entries: list[Record]) -> tuple[dict[Entry, str], list[str]]:
    """Files that a registry entry, handoff row or status note points to, and what cannot be read of it."""
    found: dict[Entry, str] = {}
    missing: list[str] = []
    by_rel = tree.inventory.by_rel()
    for source in entries:
        for text in source.paths:
            try:
                path = tree.project.confined(os.path.expanduser(text) if text.startswith("~/") else text)
            except PathOutsideProject:
                missing.append(f"{text} (named in {source.at}; outside the project, see EXPERIMENT_DEBUGGER_ROOTS)")
                continue
            hits = _below(tree, by_rel, tree.project.show(text), path)
            if not hits and source.fields.get("log") == text:
                missing.append(f"{text} (named in {source.at}; not there)")
            found |= {hit: f"named in {source.at}" for hit in hits if hit not in found}
    return found, missing


def _below(tree: Tree, by_rel: dict[str, Entry], shown: str, path: Path) -> list[Entry]:
    if shown in by_rel:
        return [by_rel[shown]]
    if os.path.isdir(path):
        inside = [entry for rel, entry in by_rel.items() if rel.startswith(shown + "/")]
        narrow = shown not in {".", "logs", "runs", "outputs", "output", "jobs", "configs"}
        return (inside or take_inventory(tree.project, path).entries) if narrow else []
    if os.path.isfile(path):
        info = path.stat()
        kind = kind_of((path.name,), bytes, in_area=True)
        return [Entry(tuple(shown.split("/")), str(path), kind, info.st_size, info.st_mtime, in_area=True)]
    return []
