"""Score `classify-failure` on labelled cases: `CASES/<name>/case.yaml` next to `CASES/<name>/project/`.

    mode           n     mode evidence     step   honest
    crash         25    23/25    22/25    10/12    25/25

A case whose answer fails counts as wrong in every column. `evidence`: one of the first five lines quoted for the
primary hypothesis is a labelled line (one line of slack). `honest`: every quote stands where it is said to stand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiment_debugger.errors import DebuggerError
from experiment_debugger.report.budget import TextAnswer, compact, tokens

COLUMNS = ("mode", "evidence", "step", "honest")
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
CUTS = re.compile(r"\[REDACTED[^\]]*\]|\u2026")
ENOUGH = 12
"""A quote must hold this many characters of the line (or the whole line) to count as one."""
STEP_SLACK, STEP_SHARE = 2, 0.02


@dataclass(frozen=True, slots=True)
class Floors:
    """What must be reached; None is no floor."""

    mode: float | None = None
    evidence: float | None = None
    false_alarms: int | None = None
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One case; a mark is None where the case has no such label."""

    case: str
    mode_label: str
    got: str
    marks: dict[str, bool | None]
    alarm: bool = False
    wrong_high: bool = False
    tokens: int = 0


def scoreboard(cases: str, only: str | None, modes: str | None, floors: Floors) -> TextAnswer:
    """The table over all chosen cases; `code` is 1 when a floor is missed."""
    wanted = set(filter(None, (modes or "").split(",")))
    rows = [
        judge(folder, truth)
        for folder, truth in _cases(Path(cases), only or "")
        if not wanted or truth["mode"] in wanted
    ]
    if not rows:
        raise DebuggerError(f"Expected cases like {cases}/NAME/case.yaml, found none that was chosen.")
    missed = list(_missed(rows, floors))
    return TextAnswer("\n".join([*_table(rows), _summary(rows), *missed]), code=int(bool(missed)))


def judge(folder: Path, truth: dict[str, Any]) -> Row:
    """Classify one case and compare with its labels."""
    from experiment_debugger import api

    project = folder / "project"
    try:
        answer = api.structured(api.classify_failure(str(truth["run_id"]), project=str(project)))
    except Exception as problem:  # a verb that fails on a case is a wrong answer, not the end of the table
        return Row(
            folder.name, truth["mode"], f"error: {type(problem).__name__}: {problem}", dict.fromkeys(COLUMNS, False)
        )
    first: dict[str, Any] = next(iter(answer["modes"]), {})
    got = first.get("mode") if answer["verdict"] == "failure" else answer["verdict"]
    healthy = truth["mode"] == "none"
    right = got == ("healthy" if healthy else truth["mode"])
    lenient = got in {truth["mode"], *(truth.get("also") or [])} or (healthy and answer["verdict"] != "failure")
    marks = {
        "mode": right,
        "evidence": _evidence_mark(truth, answer, first),
        "step": _step_mark(truth, first),
        "honest": _honest_mark(project, answer),
    }
    high = first.get("confidence") == "high"
    alarm = healthy and answer["verdict"] == "failure"
    return Row(folder.name, truth["mode"], str(got), marks, alarm, high and not lenient, tokens(compact(answer)))


def _cases(root: Path, only: str) -> Iterable[tuple[Path, dict[str, Any]]]:
    import yaml

    for path in sorted(root.glob("*/case.yaml")):
        if only in path.parent.name:
            yield path.parent, yaml.safe_load(path.read_text(encoding="utf-8"))


def _evidence_mark(truth: dict[str, Any], answer: dict[str, Any], first: dict[str, Any]) -> bool | None:
    labels = [entry.rsplit(":", 1) for entry in truth.get("evidence") or []]
    if not labels or truth["mode"] == "none":
        return None
    seen = [(item["path"], item["line"]) for item in first.get("evidence", ())[:5] if item.get("line")]
    near = any(path == place and abs(int(line) - at) <= 1 for path, line in labels for place, at in seen)
    return answer["verdict"] == "failure" and near


def _step_mark(truth: dict[str, Any], first: dict[str, Any]) -> bool | None:
    label = (truth.get("onset") or {}).get("step")
    if label is None or truth["mode"] == "none":
        return None
    step = first.get("onset", {}).get("step")
    return step is not None and abs(step - label) <= max(STEP_SLACK, STEP_SHARE * abs(label))


def _honest_mark(project: Path, answer: dict[str, Any]) -> bool:
    quoted = [item for hypothesis in answer["modes"] for item in hypothesis["evidence"]]
    proven = answer["verdict"] != "failure" or bool(answer["modes"][0]["evidence"])
    return proven and all(is_honest(project, item) for item in quoted)


def is_honest(project: Path, item: dict[str, Any]) -> bool:
    """True when the quoted text stands at that path and line; without a line it must name a step and a key."""
    if item.get("line") is None:
        return item.get("step") is not None and bool(item.get("key"))
    try:
        raw = (project / item["path"]).read_bytes().split(b"\n")[item["line"] - 1]
    except (OSError, IndexError):
        return False
    line, quote = _squash(raw.decode("utf-8", "replace")), item.get("quote") or ""
    pieces = [_squash(piece) for piece in CUTS.split(quote)]
    return len(_squash(quote)) >= min(len(line), ENOUGH) and all(piece in line for piece in pieces)


def _squash(text: str) -> str:
    return re.sub(r"\W+", "", ESCAPES.sub("", text)).lower()


def _table(rows: Sequence[Row]) -> list[str]:
    groups = {
        label: [row for row in rows if row.mode_label == label] for label in sorted({row.mode_label for row in rows})
    }
    lines = [f"{'mode':<16}{'n':>4}" + "".join(f"{column:>9}" for column in COLUMNS)]
    for label, group in [*groups.items(), ("ALL", list(rows))]:
        lines.append(f"{label:<16}{len(group):>4}" + "".join(f"{_share(group, column):>9}" for column in COLUMNS))
    for row in rows:
        faults = [column for column in ("mode", "evidence", "honest") if row.marks[column] is False]
        if faults:
            lines.append(f"  {row.case}: got {row.got}; wrong: {', '.join(faults)}")
    return lines


def _share(rows: Sequence[Row], column: str) -> str:
    marks = _marks(rows, column)
    return f"{sum(marks)}/{len(marks)}" if marks else "-"


def _marks(rows: Sequence[Row], column: str) -> list[bool]:
    return [mark for row in rows if (mark := row.marks[column]) is not None]


def _ratio(rows: Sequence[Row], column: str) -> float:
    marks = _marks(rows, column)
    return sum(marks) / len(marks) if marks else 1.0


def _summary(rows: Sequence[Row]) -> str:
    return (
        f"mode {_ratio(rows, 'mode'):.3f}  evidence {_ratio(rows, 'evidence'):.3f}  "
        f"false alarms {sum(row.alarm for row in rows)}  wrong-high {sum(row.wrong_high for row in rows)}  "
        f"honest {_ratio(rows, 'honest'):.3f}  largest answer {max(row.tokens for row in rows)} tokens"
    )


def _missed(rows: Sequence[Row], floors: Floors) -> Iterable[str]:
    """One line a floor that was given and not reached."""
    checks: list[tuple[str, float, float | None, Callable[[float, float], bool]]] = [
        ("mode", _ratio(rows, "mode"), floors.mode, float.__lt__),
        ("evidence", _ratio(rows, "evidence"), floors.evidence, float.__lt__),
        ("false alarms", float(sum(row.alarm for row in rows)), floors.false_alarms, float.__gt__),
        ("tokens", float(max(row.tokens for row in rows)), floors.tokens, float.__gt__),
    ]
    for name, value, floor, misses in checks:
        if floor is not None and misses(value, float(floor)):
            yield f"floor missed: {name} is {value:g}, expected {floor:g}"
