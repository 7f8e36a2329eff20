"""`resolve`: from "42" to one Run with all its artifacts; `list_runs`: the runs that a project has.

The order is the contract's: an explicit path, a run registry, a handoff row, a status note, job files, then names of
files and folders. Each source may add artifacts; the first that knows the id is how the run was found.
"""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from pathlib import Path

from experiment_debugger.discovery.assembly import Selection, assemble
from experiment_debugger.discovery.declared import state_of
from experiment_debugger.discovery.grouping import Group, group_runs, notebook_runs
from experiment_debugger.discovery.inventory import Entry, Inventory, take_inventory
from experiment_debugger.discovery.kinds import kind_of
from experiment_debugger.discovery.links import display_names, joined
from experiment_debugger.discovery.matching import Candidate, candidates, different_runs
from experiment_debugger.discovery.names import RunId, stem
from experiment_debugger.discovery.registry import Record, find_entry, handoff_row, status_note
from experiment_debugger.discovery.sources import Tree, jobs_of, outputs_of, pointed_to, survey
from experiment_debugger.errors import RunNotFound
from experiment_debugger.project import Project
from experiment_debugger.run import Run, RunSummary

MAX_LISTED = 20


def list_runs(project: Project) -> list[RunSummary]:
    """The runs of the project, newest first; runs that only a registry knows come last."""
    tree = survey(project)
    summaries = [_summary(tree, group) for group in joined(tree.groups)]
    known = {summary.id for summary in summaries}
    for entry in tree.registry:
        if entry.id not in known and not candidates(RunId(entry.id), tree.groups):
            state, at = state_of(tree.inventory, [], entry, None)
            summaries.append(RunSummary(entry.id, state, at, 0.0, 0, entry.at))
    return sorted(summaries, key=lambda one: (-one.newest, one.id))


def _summary(tree: Tree, group: Group) -> RunSummary:
    entry = next((one for one in tree.registry if _points_into(tree, one, group)), None)
    run = entry.id if entry else group.display
    note = next((one for name in (run, group.display, *group.key[-1:]) if (one := _note(tree, name))), None)
    state, at = state_of(tree.inventory, [group], entry, note)
    return RunSummary(run, state, at, group.newest, len(group.entries), group.place or ".")


def _note(tree: Tree, name: str) -> Record | None:
    return status_note(tree.project, name, [])


def _points_into(tree: Tree, record: Record, group: Group) -> bool:
    rels = {one.rel for one in group.entries}
    return any(tree.project.show(path) in rels for path in record.paths if not path.startswith("~"))


def resolve(project: Project, run: str | int | None, *, typed_path_allowed: bool = False) -> Run:
    """The run that is meant; raises `RunNotFound` when there is none or more than one different run.

    `run` is an id, a handoff id or a path; None is the only run of the project. `typed_path_allowed`: a path comes from
    a person's command line and may lead outside the project (`PathOutsideProject` otherwise).
    """
    text = "" if run is None else str(run).strip()
    if text:
        path = _as_path(project, text, typed_path_allowed)
        if path is not None:
            return _from_path(project, text, path)
    tree = survey(project)
    if not text:
        return _only_run(tree)
    found = _found_in(tree, text) or _found_in(replace(tree, groups=notebook_runs(tree.inventory)), text)
    found = found or _found_in(survey(project, everywhere=True), text)
    if found is not None:
        return found
    called = display_names(tree.inventory, RunId(text))
    if len(called) > 1:
        raise RunNotFound(
            f"expected one run called '{text}'; found {len(called)}: {', '.join(called)}; name one of them"
        )
    found = _from_id(tree, RunId(called[0])) if called else None
    if found is not None:
        return replace(found, how_found=f"display name '{text}' of {called[0]}")
    raise RunNotFound(_none_found(tree, text))


def _found_in(tree: Tree, text: str) -> Run | None:
    """The run of this id as it is spelled, or without an extension."""
    spellings = dict.fromkeys((text, stem(text)))
    return next((found for spelled in spellings if (found := _from_id(tree, RunId(spelled))) is not None), None)


def _only_run(tree: Tree) -> Run:
    if len(tree.groups) == 1:
        group = tree.groups[0]
        return assemble(
            tree.project, tree.inventory, tree.groups, Selection(group.display, "the only run here", [group])
        )
    if not tree.groups:
        raise RunNotFound(_none_found(tree, None))
    merged = Selection(tree.groups[0].display, "the only run here", [tree.groups[0]])
    found = assemble(tree.project, tree.inventory, tree.groups, merged)
    if found.siblings:
        raise RunNotFound(
            f"expected one run in {tree.project.root}; found {len(tree.groups)}: {_listing(tree)}; name one of them"
        )
    return found


def _as_path(project: Project, text: str, typed: bool) -> Path | None:
    """The path that was given, or None when the text is an id; a folder needs a `/` to be a path."""
    looks = "/" in text or os.sep in text or text.startswith(("~", "."))
    bases = (project.root, Path.cwd()) if typed else (project.root,)
    for base in bases:
        path = Path(os.path.normpath(base / (Path(text).expanduser() if typed else Path(text))))
        if os.path.exists(path) and (looks or os.path.isfile(path)):
            project.confined(path, typed=typed)
            return path
    if looks and (text.startswith(("/", "~", ".")) or ".." in text.split("/")):
        project.confined(text, typed=typed)
        raise RunNotFound(
            f"expected a file or folder at {text}; found nothing there; give an existing path or a run id"
        )
    return None


def _from_path(project: Project, text: str, path: Path) -> Run:
    info = path.stat()
    if not (stat.S_ISDIR(info.st_mode) or stat.S_ISREG(info.st_mode)):
        raise RunNotFound(
            f"expected a regular file or a folder; found {text}, which is neither; give a log or a folder"
        )
    inventory = take_inventory(project)
    groups = group_runs(inventory)
    if stat.S_ISREG(info.st_mode):
        name, entries, inside = stem(path.name), _file_entries(project, inventory, path, info), []
    else:
        inside = take_inventory(project, path).entries
        name, entries = path.name, _as_known(inventory, inside)
    if not entries:
        raise RunNotFound(f"expected artifacts of a run in {text}; found no readable file there; give another folder")
    own = [group for group in groups if {one.path for one in group.entries} & {one.path for one in entries}]
    chosen = Selection(name, "path", own, entries, dict.fromkeys(entries, "the path that was given"), by_path=True)
    return assemble(project, inventory, groups, chosen)


def _as_known(inventory: Inventory, inside: list[Entry]) -> list[Entry]:
    known = {os.path.realpath(entry.path): entry for entry in inventory.entries}
    return [known.get(os.path.realpath(entry.path), entry) for entry in inside]


def _file_entries(project: Project, inventory: Inventory, path: Path, info: os.stat_result) -> list[Entry]:
    """The file, and the other parts and streams of it: rotations, `.err` beside `.out`."""
    same = [
        entry
        for entry in inventory.entries
        if os.path.dirname(entry.path) == str(path.parent)
        and stem(entry.name) == stem(path.name)
        and entry.kind == "log"
    ]
    if any(os.path.samefile(entry.path, path) for entry in same):
        return same
    known = next((entry for entry in inventory.entries if entry.path == str(path)), None)
    kind = known.kind if known else kind_of((path.name,), bytes, in_area=True)
    parts = tuple(project.show(path).split("/")) if project.may_read(path) else (path.name,)
    entry = known or Entry(
        parts, str(path), "log" if kind == "other" else kind, info.st_size, info.st_mtime, in_area=True
    )
    return [entry, *same]


def _from_id(tree: Tree, run: RunId) -> Run | None:
    """The run of an id; None when nothing knows the id."""
    notes = tree.inventory.unreadable
    record = find_entry(tree.registry, run)
    row = handoff_row(tree.project, run.text, notes)
    if row is not None and "run" in row.fields:
        run = RunId(row.fields["run"])
        record = record or find_entry(tree.registry, run)
    note = status_note(tree.project, run.text, notes)
    jobs = jobs_of(tree, run)
    named, missing = pointed_to(tree, [one for one in (record, row, note) if one is not None])
    from_jobs, open_ends = outputs_of(tree, jobs)
    for one, why in from_jobs.items():
        named.setdefault(one, why)
    matched = _matched(tree, run, named, certain=bool(record or row))
    how = _how(run, record, row, note, jobs[0].name if from_jobs else None)
    if not matched and not named:
        if record or row or note or jobs:
            known = how if record or row or note else f"job file {jobs[0].name}"
            raise RunNotFound(_nothing_readable(tree, run, known, [*missing, *open_ends]))
        return None
    by_rel = tree.inventory.by_rel()
    named |= {by_rel[job.name]: f"job file of '{run.text}'" for job in jobs}
    if note is not None and (own := by_rel.get(note.at.rpartition(":")[0])) is not None:
        named.setdefault(own, f"status note of '{run.text}'")
    unnamed = row is not None and "run" not in row.fields and len(matched) == 1
    chosen = Selection(
        id=matched[0].group.display if unnamed else run.text,
        how=how,
        groups=[one.group for one in matched],
        entries=[item for one in matched for item in one.entries] or None,
        named=named,
        missing=[*missing, *open_ends],
        alternatives=tuple(name for one in matched for name in one.alternatives),
        record=record or next((one for one in tree.registry if _points_into_any(tree, one, matched)), None),
        note=note,
    )
    return assemble(tree.project, tree.inventory, tree.groups, chosen)


def _how(run: RunId, record: Record | None, row: Record | None, note: Record | None, job: str | None) -> str:
    """Which source knew the id first, in the contract's order."""
    if record is not None:
        return f"entry in {record.at}"
    if row is not None:
        return f"handoff row {row.at}" + (f" ({row.fields['state']})" if row.fields["state"] else "")
    if note is not None:
        return f"status note {note.at}"
    return f"job file {job}" if job else f"names that carry '{run.text}'"


def _points_into_any(tree: Tree, record: Record, matched: list[Candidate]) -> bool:
    return any(_points_into(tree, record, one.group) for one in matched)


def _nothing_readable(tree: Tree, run: RunId, how: str, missing: list[str]) -> str:
    because = f": {'; '.join(missing[:3])}" if missing else ""
    return (
        f"expected artifacts of run '{run.text}' ({how}); found none that can be read in {tree.project.root}{because}; "
        "copy its logs into the project or give a path"
    )


def _matched(tree: Tree, run: RunId, named: dict[Entry, str], *, certain: bool) -> list[Candidate]:
    """The groups that are the run; raises `RunNotFound` when several different runs carry the id.

    What a registry, a note or a job file points to decides between them.
    """
    found = candidates(run, tree.groups)
    runs = different_runs(found)
    rels = {entry.rel for entry in named}
    pointed = [group for group in tree.groups if any(entry.rel in rels for entry in group.entries)]
    if len(runs) > 1:
        chosen = [one for one in runs if any(candidate.group in pointed for candidate in one)]
        if len(chosen) != 1 and not (certain and pointed):
            shown = ", ".join(f"{_name(one[0])} ({_place(one[0])})" for one in runs[:MAX_LISTED])
            raise RunNotFound(
                f"expected one run for '{run.text}' in {tree.project.root}; found {len(runs)} different runs: {shown}; "
                "name one of them or give its path"
            )
        runs = chosen
    matched = runs[0] if runs else []
    taken = {id(one.group) for one in matched}
    extra = [group for group in pointed if id(group) not in taken and not (matched and not certain)]
    return matched + [Candidate(group, group.entries, (), (), run.text, ()) for group in extra]


def _name(one: Candidate) -> str:
    return f"{one.group.display}/{one.spelled}" if one.inner else one.group.display


def _place(one: Candidate) -> str:
    return one.entries[0].rel if one.inner else one.group.place


def _none_found(tree: Tree, text: str | None) -> str:
    asked = f"a run '{text}'" if text else "a run"
    if not tree.groups:
        return (
            f"expected {asked}; found no log, metrics or event file in {tree.project.root}{_unreadable(tree)}; "
            "give the path of a log or set --project"
        )
    return (
        f"expected {asked}; found none in {tree.project.root}{_unreadable(tree)}; "
        f"runs there: {_listing(tree)}; name one or give a path"
    )


def _unreadable(tree: Tree) -> str:
    """What could not be looked into may hold the run."""
    return f" (unreadable: {', '.join(tree.inventory.unreadable[:3])})" if tree.inventory.unreadable else ""


def _listing(tree: Tree) -> str:
    groups = sorted(tree.groups, key=lambda group: (-group.newest, group.display))
    more = f" and {len(groups) - MAX_LISTED} more" if len(groups) > MAX_LISTED else ""
    return ", ".join(group.display for group in groups[:MAX_LISTED]) + more
