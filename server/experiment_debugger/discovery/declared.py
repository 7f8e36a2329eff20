"""What others wrote down about a run: state, job id, command, commit, resources, each with its place.

sacct.txt:2                     7750112|unet-kelp|COMPLETED|0:0|...
docs/ops/runs/42-status.md:3    - State: failed
metadata.json                   "git": {"commit": "e41b7730"}
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from experiment_debugger.discovery.grouping import Group
from experiment_debugger.discovery.inventory import Entry, Inventory
from experiment_debugger.discovery.jobfiles import JobFile
from experiment_debugger.discovery.registry import Record
from experiment_debugger.discovery.text_ends import ends_of
from experiment_debugger.models import RunState
from experiment_debugger.redaction import redact
from experiment_debugger.run import Declared

_WORDS: tuple[tuple[RunState, str], ...] = (
    ("timeout", r"\btime_?out\b|timed out|time limit"),
    ("preempted", r"preempt|requeu"),
    ("cancelled", r"cancel|revoked|stopped|killed by user"),
    ("failed", r"fail|error|crash|out_of_memory|\boom|node_fail|boot_fail|deadline|dead|nan\b"),
    ("completed", r"complet|succe|finish|done"),
    ("running", r"run|progress|active|training|pending|queued|healthy"),
)
_STATES = tuple((state, re.compile(pattern, re.IGNORECASE)) for state, pattern in _WORDS)
_COMMIT = re.compile(
    r"(?i)\b(?:git[_ -]?)?(?:commit|sha|revision)(?:_hash|_id)?[\"']?\s*[:=]?\s*[\"']?([0-9a-f]{7,40})\b"
)
_SLURM_FILE = re.compile(r"(?:slurm[-_]|[-_.]|^)([1-9]\d{3,11})(?:_\d+)?\.(?:out|err|log|txt)(?:\.gz)?$")


def run_state(text: str | None) -> RunState:
    """The state that a scheduler's or a person's words mean; `unknown` where they mean none."""
    return next((state for state, pattern in _STATES if text and pattern.search(text)), "unknown")


def state_of(
    inventory: Inventory, groups: list[Group], entry: Record | None, note: Record | None
) -> tuple[RunState, str | None]:
    """A cheap guess of the state and where it stands: sacct, then registry, then status note."""
    jobs = {entry.fields["job_id"]} if entry and "job_id" in entry.fields else set()
    jobs |= {job for group in groups for one in group.entries if (job := job_in_name(one))}
    dumps = [one for one in inventory.entries if one.kind == "scheduler"]
    for found, at in declared_states(dumps, jobs, entry, note):
        state = run_state(found)
        if state != "unknown":
            return state, at
    return "unknown", None


def declared_states(
    dumps: Iterable[Entry], jobs: set[str], entry: Record | None, note: Record | None
) -> list[tuple[str, str]]:
    """States in the order of trust, each with its place (name:line)."""
    found = [pair for dump in dumps if (pair := _sacct_state(dump, jobs)) is not None]
    if entry is not None and (state := entry.fields.get("state") or entry.fields.get("status")):
        found.append((state, entry.at))
    if note is not None and "state" in note.fields:
        place = note.at.rpartition(":")[0]
        found.append((note.fields["state"], f"{place}:{note.fields.get('state_line', 1)}"))
    return found


def _sacct_state(dump: Entry, jobs: set[str]) -> tuple[str, str] | None:
    """The State column of the row of one of the jobs (of the allocation, not of its steps) in a sacct table."""
    lines = ends_of(dump.path).split("\n")
    header = next((index for index, line in enumerate(lines) if re.match(r" *JobID", line) and "State" in line), None)
    if header is None:
        return None
    bar = "|" in lines[header]
    column = _cells(lines[header], bar).index("State")
    for number, line in enumerate(lines[header + 1 :], header + 2):
        cells = _cells(line, bar)
        if cells and cells[0].split("_")[0] in jobs and len(cells) > column:
            return cells[column], f"{dump.rel}:{number}"
    return None


def _cells(line: str, bar: bool) -> list[str]:
    return [cell.strip() for cell in line.split("|")] if bar else line.split()


def job_in_name(entry: Entry) -> str | None:
    """The job id in the name of a scheduler's output file."""
    found = _SLURM_FILE.search(entry.name)
    if found and (entry.name.startswith(("slurm", "job")) or len(found[1]) >= 5) and not _is_date(found[1]):
        return found[1]
    return next((part for part in entry.parts[:-1] if part.isdigit() and len(part) >= 5 and not _is_date(part)), None)


def _is_date(number: str) -> bool:
    return bool(re.fullmatch(r"(?:19|20)\d{6}(?:\d{4,6})?", number))


def declare(
    entries: list[Entry],
    jobs: list[JobFile],
    entry: Record | None,
    note: Record | None,
    configs: tuple[str, ...],
) -> Declared:
    """Everything declared about the run by its registry entry, job files, status note and dumps."""
    job_ids = {entry.fields["job_id"]} if entry and "job_id" in entry.fields else set()
    job_ids |= {job for one in entries if one.kind == "log" and (job := job_in_name(one))}
    states = declared_states([one for one in entries if one.kind == "scheduler"], job_ids, entry, note)
    with_command = next((job for job in jobs if job.command), None)
    own_command = entry.fields.get("command") if entry else None
    commit, commit_at = _commit(entries, jobs, entry)
    return Declared(
        command=redact(own_command) if own_command else with_command.command if with_command else None,
        command_at=entry.at if own_command and entry else with_command.command_at if with_command else None,
        state=states[0][0] if states else None,
        state_at=states[0][1] if states else None,
        job_id=max(job_ids, key=lambda job: (len(job), job), default=None),
        commit=commit,
        resources={key: value for job in reversed(jobs) for key, value in job.resources.items()},
        environment={key: value for job in reversed(jobs) for key, value in job.environment.items()},
        configs=configs,
        progress_patterns=entry.progress_patterns if entry else (),
        commit_at=commit_at,
    )


def _commit(entries: list[Entry], jobs: list[JobFile], entry: Record | None) -> tuple[str | None, str | None]:
    """The commit that the run recorded: registry, environment dumps and W&B metadata, then job files."""
    if entry is not None and (commit := entry.fields.get("commit") or entry.fields.get("git_commit")):
        return commit, entry.at
    for one in entries:
        if one.kind == "environment" or (one.kind in {"wandb", "status"} and one.name.endswith((".json", ".md"))):
            text = ends_of(one.path)
            found = _COMMIT.search(text)
            if found and re.search(r"\d", found[1]):
                return found[1], f"{one.rel}:{text.count(chr(10), 0, found.start()) + 1}"
    job = next((job for job in jobs if job.commit), None)
    return (job.commit, job.name) if job else (None, None)
