"""docs/ops/runs/42-debug.md: what a report remembers of what was told, and how it is written again.

    <!-- ed:begin told 91c2d0aa -->
    <!-- {"root_cause": "Truncation cut every answer", "fix_commit": "5d6e7f8..."} -->
    <!-- ed:end told -->

Only what people have told is kept; everything else in a report is computed anew.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from experiment_debugger.case import Case, Told
from experiment_debugger.errors import DebuggerError
from experiment_debugger.project import Project
from experiment_debugger.writeback.files import update
from experiment_debugger.writeback.sections import Document, digest_of, read_document

FOLDER = "docs/ops/runs"
TOLD = "told"
BOM = "\ufeff"
LONGEST_NAME = 100  # characters; file systems allow 255 bytes
_UPDATED = re.compile(r"^- Updated: (\d{4}-\d\d-\d\d)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Written:
    """A written report: its path as shown, the sections that changed, and the case it tells."""

    path: str
    changed: tuple[str, ...]
    case: Case


def file_name(run_id: str) -> str:
    """A run id as a part of a file name; where it cannot be one as it is, a digest keeps two runs apart."""
    name = re.sub(r"[^\w.@+=-]", "-", run_id).strip(".")[:LONGEST_NAME]
    return name if name == run_id else f"{name}-{digest_of(run_id)}".lstrip("-")


def report_file(project: Project, run_id: str) -> Path:
    """Where the report of a run stands."""
    return project.root / FOLDER / f"{file_name(run_id)}-debug.md"


def picture_file(project: Project, run_id: str) -> Path:
    """Where the picture of the report stands."""
    return project.root / FOLDER / f"{file_name(run_id)}-debug-1.png"


def told_in(project: Project, run_id: str) -> Told:
    """What the report of a run remembers; nothing where there is none."""
    path = report_file(project, run_id)
    shown = project.show(path)
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return Told()
    except OSError as problem:
        raise DebuggerError(f"expected to read {shown}; found: {problem.strerror}; make it readable") from None
    return _remembered(read_document(_decoded(raw, shown).removeprefix(BOM), shown), shown)


def write_report(
    project: Project,
    run_id: str,
    compose: Callable[[Told], Case],
    render: Callable[[Case, str], Mapping[str, str]],
    today: str,
) -> Written:
    """Write the report again. `compose` makes the case from what it remembers, `render` the sections for a date.

    The date changes only together with something else, so that writing twice is writing once.
    """
    path = report_file(project, run_id)
    shown = project.show(path)
    written: list[Written] = []

    def transform(raw: bytes | None) -> bytes:
        text = _decoded(raw or b"", shown).removeprefix(BOM)
        document = read_document(text, shown)
        case = compose(_remembered(document, shown))
        kept = {TOLD: _hidden(case.told)}
        dated = _UPDATED.search(document.section("head") or "")
        sections = {**render(case, dated[1] if dated else today), **kept}
        if document.changed(sections):
            sections = {**render(case, today), **kept}
        written[:] = [Written(shown, document.changed(sections), case)]
        mark = BOM if raw and raw.startswith(codecs.BOM_UTF8) else ""
        return (mark + document.rendered(sections)).encode("utf-8")

    update(project, path, transform)
    return written[0]


def _decoded(raw: bytes, name: str) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as problem:
        line = raw.count(b"\n", 0, problem.start) + 1
        raise DebuggerError(f"{name}:{line}: expected UTF-8; found other bytes; save it as UTF-8") from None


def _hidden(told: Told) -> str:
    """What was told as a comment that no text of it can end."""
    text = json.dumps(told.model_dump(mode="json", exclude_defaults=True), ensure_ascii=False)
    text = text.replace("--", "-\\u002d")
    return f"<!-- {text} -->"


def _remembered(document: Document, name: str) -> Told:
    hidden = document.section(TOLD)
    if not hidden:
        return Told()
    try:
        return Told.model_validate_json(hidden.strip().removeprefix("<!--").removesuffix("-->"))
    except ValidationError:
        raise DebuggerError(
            f"{name}: expected what was told between <!-- ed:begin told --> and its end; found it damaged; delete that "
            "section or restore it; nothing was written"
        ) from None
