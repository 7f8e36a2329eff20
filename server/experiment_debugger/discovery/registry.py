"""Where people and the sibling skills write down runs: run registries, handoff rows, status notes.

    .agent/run-status/runs.yaml        runs: {"42": {backend: slurm, log: logs/a.log, job_id: 9123}}
    docs/ops/runs/42-status.md         - State: failed
    memory/handoff-board.md            | HND-012 | ready | ... | docs/ops/runs/42-status.md | ...
    memory/risk-board.md               | RSK-007 | execution | open | ... | ... <!-- ed:fp=0f3a... --> | ...

A broken file among them never stops the search: it becomes a note.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from experiment_debugger.discovery.names import RunId, words
from experiment_debugger.discovery.text_ends import MAX_YAML_BYTES
from experiment_debugger.project import Project
from experiment_debugger.readers.pipe_tables import cells_of, tables_in, unescaped
from experiment_debugger.run import Risk
from experiment_debugger.yaml_text import parse_yaml

REGISTRIES = (
    ".agent/run-status/runs.yaml", ".agent/run-status/runs.yml", ".agent/run-status/runs.json", "runs.json",
    "docs/ops/runs.yaml", "docs/ops/runs.yml", "docs/ops/runs.json",
)  # fmt: skip
STATUS_FOLDERS = ("docs/ops/runs", "docs/runs")
HANDOFF_BOARD = "memory/handoff-board.md"
PAYLOADS = "docs/ops/handoffs/"
RISK_BOARD = "memory/risk-board.md"
_RISK = re.compile(r"^\s*\|\s*(RSK-\d+)\s*\|.*<!-- ed:fp=([0-9a-f]{8,64}) -->", re.MULTILINE)
_ABOUT = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"docs/ops/runs/([^/|`\s]+?)-(?:status|debug)\.md",
        r"docs/ops/handoffs/([^/|`\s]+?)-to-[\w-]+\.ya?ml",
        r"\brun[ _:=#-]+(?:id[ :=]+)?`?([\w.-]*\d[\w.-]*)",
    )
)
"""How a row of the handoff board says which run it is about."""
_ID_KEYS = ("id", "run_id", "run", "name")
_PATH_KEYS = words(
    "log logs log_path log_file log_dir stdout stderr output error status_artifact status config config_path "
    "output_dir run_dir metrics artifacts paths job job_file checkpoint_dir tensorboard wandb_dir"
)
_PATH = re.compile(
    r"(?<![\w/.~-])(?:(?:~?/|\./)?[\w.@=+-]+/[\w./@=+-]*|(?:~?/|\./)[\w.@=+-]+|[\w@+-][\w.@+-]*\.[a-z]\w{0,5}(?![\w/]))"
)


@dataclass(frozen=True, slots=True)
class Record:
    """What one place says about a run; `at` is name:line, `fields` the plain values, `paths` what it points to."""

    id: str
    at: str
    paths: tuple[str, ...] = ()
    fields: dict[str, str] = field(default_factory=dict)
    progress_patterns: tuple[str, ...] = ()


def registry_entries(project: Project, notes: list[str]) -> list[Record]:
    """All entries of the run registries; files that cannot be parsed are named in `notes`."""
    found: list[Record] = []
    for name in REGISTRIES:
        text = _read(project, name, notes)
        if text is None:
            continue
        data = _parse(text, name, notes)
        for run, values in _records(data):
            found.append(_entry(run, values, name, text))
    return found


def find_entry(entries: list[Record], run: RunId) -> Record | None:
    """The entry of exactly this id or job id; leading zeros do not matter when only one entry fits."""
    exact = [entry for entry in entries if entry.id.lower() == run.text.lower()]
    loose = [entry for entry in entries if run.is_number and entry.id.isdigit() and int(entry.id) == int(run.text)]
    jobs = [entry for entry in entries if entry.fields.get("job_id") == run.text]
    if exact or len(jobs) == 1:
        return (exact or jobs)[0]
    return loose[0] if len({entry.id for entry in loose}) == 1 else None


def _records(data: object) -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(data, dict) and isinstance(data.get("runs"), dict | list):
        data = data["runs"]
    if isinstance(data, dict):
        for run, values in data.items():
            if isinstance(values, dict):
                yield str(run), values
            elif isinstance(values, str):
                yield str(run), {"log": values}
    elif isinstance(data, list):
        for values in data:
            run = (
                next((values[key] for key in _ID_KEYS if values.get(key) is not None), None)
                if isinstance(values, dict)
                else None
            )
            if run is not None:
                yield str(run), values


def _entry(run: str, values: dict[str, Any], name: str, text: str) -> Record:
    paths = [str(one) for key in values if key in _PATH_KEYS for one in _as_list(values[key])]
    fields = {str(key): str(one) for key, one in values.items() if isinstance(one, str | int | float)}
    patterns = values.get("progress_patterns")
    patterns = list(patterns.values()) if isinstance(patterns, dict) else _as_list(patterns)
    place = re.search(rf"(?<![\w.-]){re.escape(run)}(?![\w.-])", text)
    line = text.count("\n", 0, place.start()) + 1 if place else 1
    return Record(run, f"{name}:{line}", tuple(paths), fields, tuple(str(one) for one in patterns))


def _as_list(value: object) -> list[Any]:
    if isinstance(value, list):
        return [one for one in value if isinstance(one, str)]
    if isinstance(value, dict):
        return [one for one in value.values() if isinstance(one, str)]
    return [value] if isinstance(value, str) else []


def status_note(project: Project, run: str, notes: list[str]) -> Record | None:
    """`docs/ops/runs/<run>-status.md`: its `- Key: value` lines and the paths that it points to."""
    if "/" in run:
        return None
    for folder in STATUS_FOLDERS:
        name = f"{folder}/{run}-status.md"
        text = _read(project, name, notes)
        if text is not None:
            return read_status(text, name, run)
    return None


def read_status(text: str, name: str, run: str) -> Record:
    """The fields of a status note in lower case; `state_line` is the line of `- State:`."""
    fields: dict[str, str] = {}
    for number, line in enumerate(text.split("\n"), 1):
        match = re.match(r"\s*[-*] \**([A-Z][A-Za-z ]{1,30}?)\**:\**\s*(.*)$", line)
        if match:
            key = match[1].strip().lower()
            fields.setdefault(key, match[2].strip().strip("`*"))
            if key == "state":
                fields.setdefault("state_line", str(number))
    return Record(run, f"{name}:1", tuple(paths_in(text)), fields)


def handoff_row(project: Project, run: str, notes: list[str]) -> Record | None:
    """The row of a handoff id such as `HND-012`: the run it is about (if it says so) and the paths that it names.

    `fields` also has its status and consumer as `state`; the columns may stand in any order.
    """
    if not re.fullmatch(r"(?i)HND-\d+", run):
        return None
    lines = (_read(project, HANDOFF_BOARD, notes) or "").split("\n")
    for number, row in _handoffs(lines):
        if row.get("id", "").upper() == run.upper():
            return _handoff(project, run.upper(), f"{HANDOFF_BOARD}:{number}", lines[number - 1], row, notes)
    return None


def _handoff(project: Project, name: str, at: str, line: str, row: dict[str, str], notes: list[str]) -> Record:
    """What a row says, and the payload that it names: run, log and other paths."""
    about = next((found[1] for pattern in _ABOUT if (found := pattern.search(line))), None)
    paths = paths_in(line)
    for path in [path for path in paths if path.startswith(PAYLOADS) and path.endswith((".yaml", ".yml"))]:
        payload = _parse(_read(project, path, notes) or "", path, notes)
        if isinstance(payload, dict):
            about = str(payload["run"]) if isinstance(payload.get("run"), str | int) else about
            paths += [str(one) for key in payload if key in _PATH_KEYS for one in _as_list(payload[key])]
    state = ", ".join(part for part in (row.get("status"), row.get("consumer") and f"to {row['consumer']}") if part)
    return Record(name, at, tuple(dict.fromkeys(paths)), {"state": state} | ({"run": about} if about else {}))


def _handoffs(lines: list[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """(line, cells by lower-case column) of every row of a table."""
    for table in tables_in(lines):
        columns = [unescaped(cell).strip("*` \ufeff").lower() for cell in cells_of(lines[table.head])]
        for index in range(table.head + 2, table.end):
            cells = (unescaped(cell).strip("*` ") for cell in cells_of(lines[index]))
            yield index + 1, dict(zip(columns, cells, strict=False))


def known_risks(project: Project, notes: list[str]) -> tuple[Risk, ...]:
    """The rows of the risk board that carry a fingerprint, whatever their status: a closed risk may come back."""
    return tuple(Risk(*row) for row in _RISK.findall(_read(project, RISK_BOARD, notes) or ""))


def paths_in(text: str) -> list[str]:
    """Words of a text that look like paths: they have a folder, or an extension."""
    return [word for word in dict.fromkeys(_PATH.findall(text, 0, 200_000)) if word.strip("/.")]


def _parse(text: str, name: str, notes: list[str]) -> object:
    form = "JSON" if name.endswith(".json") else "YAML"
    try:
        return json.loads(text) if form == "JSON" else parse_yaml(text)
    except (ValueError, RecursionError) as problem:
        notes.append(f"{name} (broken {form}: {problem})")
        return None


def _read(project: Project, name: str, notes: list[str]) -> str | None:
    path = project.root / name
    if not os.path.isfile(path):
        return None
    if not project.may_read(path):
        notes.append(f"{name} (a symlink that leaves the project)")
        return None
    return _text(path, name, notes)


def _text(path: Path, name: str, notes: list[str]) -> str | None:
    try:
        if path.stat().st_size > MAX_YAML_BYTES:
            notes.append(f"{name} (more than {MAX_YAML_BYTES} bytes)")
            return None
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as problem:
        notes.append(f"{name} ({(problem.strerror or 'cannot be read').lower()})")
        return None
