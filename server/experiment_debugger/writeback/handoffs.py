"""Hand-offs to sibling skills: a row of memory/handoff-board.md and a payload as YAML.

docs/ops/handoffs/42-to-run-experiment.yaml
    # experiment-debugger 3f2a9c01: change values freely, an edited file is never written over
    run: '42'
    command: sbatch jobs/42.sh
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from experiment_debugger.discovery.registry import handoff_row
from experiment_debugger.errors import DebuggerError
from experiment_debugger.project import Project
from experiment_debugger.writeback.boards import HANDOFFS, Board, BoardRow
from experiment_debugger.writeback.files import update
from experiment_debugger.writeback.recording import Recorded, read_rows, record
from experiment_debugger.writeback.reports import file_name
from experiment_debugger.writeback.sections import digest_of
from experiment_debugger.yaml_text import BrokenYaml, parse_yaml

FOLDER = "docs/ops/handoffs"
US = "experiment-debugger"
OPEN = frozenset({"proposed", "ready"})
"""States of a hand-off that nobody has taken or stopped: a later word changes it, beside another stands a new one."""
_HEAD = re.compile(r"# experiment-debugger ([0-9a-f]{8}): [^\n]*\n")
_SAID = "change values freely, an edited file is never written over"


def payload_file(project: Project, run_id: str, consumer: str) -> Path:
    """Where the payload of a hand-off stands."""
    return project.root / FOLDER / f"{file_name(run_id)}-to-{consumer}.yaml"


def given_values(project: Project, run_id: str, consumer: str) -> dict[str, Any]:
    """What a person has written into a payload; nothing where the file is as we wrote it, or not there."""
    path = payload_file(project, run_id, consumer)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as problem:
        raise _unreadable(project, path, problem) from None
    if _is_ours(text):
        return {}
    try:
        values = parse_yaml(text)
    except BrokenYaml as problem:
        raise _unreadable(project, path, problem) from None
    if not isinstance(values, dict):
        raise _unreadable(project, path, "no mapping")
    return {str(key): value for key, value in values.items()}


def write_handoff(
    project: Project, run_id: str, consumer: str, values: Mapping[str, Any], row: Mapping[str, str], today: str
) -> Recorded:
    """Write the payload, then the row that names it; an open hand-off of the same payload is changed, not doubled."""
    path = payload_file(project, run_id, consumer)
    read_rows(project, HANDOFFS)  # a damaged board is told before anything is written
    update(project, path, lambda raw: _payload(raw, values))
    shown = project.show(path)

    def choose(board: Board) -> tuple[BoardRow | None, Mapping[str, str]]:
        same = [one for one in board.rows if _is_same(one, consumer, shown)]
        return (same[-1] if same else None), row

    return record(project, HANDOFFS, choose, today)


def take_incoming(project: Project, run_id: str, today: str) -> tuple[str, ...]:
    """Mark ready hand-offs to this tool about a run as consumed; their ids."""
    taken = [row.id for row in read_rows(project, HANDOFFS) if _is_for_us(project, row, run_id)]
    for name in taken:
        record(project, HANDOFFS, partial(_consumed, name), today)
    return tuple(taken)


def _consumed(name: str, board: Board) -> tuple[BoardRow | None, Mapping[str, str]]:
    return next(row for row in board.rows if row.id == name), {"Status": "consumed"}


def _is_for_us(project: Project, row: BoardRow, run_id: str) -> bool:
    """Whether a ready row asks us about this run: it says so, or a path that it names goes through the run's folder."""
    if _word(row, "Consumer") != US or _word(row, "Status") != "ready":
        return False
    said = handoff_row(project, row.id, [])
    if said is None or "run" in said.fields:
        return said is not None and said.fields["run"] == run_id
    return any(run_id in path.split("/") for path in said.paths)


def _is_same(row: BoardRow, consumer: str, shown: str) -> bool:
    same = _word(row, "Producer") == US and _word(row, "Consumer") == consumer
    return same and _word(row, "Status") in OPEN and shown in row.values.get("Source paths", "")


def _word(row: BoardRow, column: str) -> str:
    """A cell as people write it: **Ready** is ready."""
    return row.values.get(column, "").strip("*`_ ").casefold()


def _payload(raw: bytes | None, values: Mapping[str, Any]) -> bytes | None:
    """The new file; None leaves one that a person has edited as it is."""
    if raw is not None and not _is_ours(raw.decode("utf-8", "replace")):
        return None
    body = yaml.safe_dump(dict(values), sort_keys=False, allow_unicode=True, width=1000)
    return f"# experiment-debugger {digest_of(body)}: {_SAID}\n{body}".encode()


def _is_ours(text: str) -> bool:
    head = _HEAD.match(text.replace("\r\n", "\n"))
    return head is not None and digest_of(text.replace("\r\n", "\n")[head.end() :]) == head[1]


def _unreadable(project: Project, path: Path, problem: object) -> DebuggerError:
    return DebuggerError(
        f"expected YAML in {project.show(path)}, which somebody has edited; found: {str(problem)[:160]}; mend it or "
        "move it away; nothing was written"
    )
