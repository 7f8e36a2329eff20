"""Lines of two logs by their shape (numbers, paths and names masked): new shapes, and lines said otherwise.

WARNING: 3 of 14 parameters were not loaded     ->   WARNING: # of # parameters were not loaded      only in the second
classes: {'cat': 0, 'dog': 1}                   ->   classes: {#: #, #: #}      {'dog': 0, 'cat': 1} in the second
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from experiment_debugger.compare.used import without_name
from experiment_debugger.errors import UnreadableArtifact
from experiment_debugger.evidence import RunEvidence, quote_of
from experiment_debugger.models import Evidence
from experiment_debugger.readers.files import open_artifact

_MASK = re.compile(
    r"0x[0-9a-fA-F]+|\d+(?:[.:,]\d+)*(?:e[-+]?\d+)?|(?<!\w)(?:nan|inf)(?!\w)|[\w.~-]*/[\w./~-]+|'[^']{1,80}'|\"[^\"]{1,80}\""
    r"|\b[0-9a-f]{8,}\b"
)
_PASSING = re.compile(
    r"\d{1,4}[-/]\d\d(?:[-/]\d\d)?(?:[T ,]+\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?)?|\d+:\d\d(?::\d\d)?(?:[.,]\d+)?"
    r"|\d+(?:\.\d+)?(?:e-?\d+)?\s*(?:s|ms|sec\w*|min\w*|it/s|MB|MiB|GB|GiB|M|G)\b|0x[0-9a-f]+"
    r"|(?i:pid|port|process|job|host\w*)\W{0,3}[\w.-]+|[\w.~-]*/[\w./~-]+|\b[0-9a-f-]{12,}\b"
)
MOST_BYTES = 64 << 20
"""Bytes of the logs of one run that are compared; longer ones are compared as far as that."""
MOST_SHAPES = 20_000
SHORTEST = 8  # characters of a shape that says something
_ALARM = re.compile(
    r"(?i)warn|error|fail|mismatch|missing|unexpected|not (?:found|loaded|used|init)|skip|ignor|fall(?:ing)? ?back"
    r"|deprecat|overrid|resum|from scratch|random"
)


@dataclass(frozen=True, slots=True)
class Shape:
    """One shape of lines: the first line that had it, how often it came, and whether training had begun before it.

    `said` is that line without what differs between any two runs.
    """

    text: str
    path: str
    line: int
    said: str = ""
    times: int = 1
    trained: bool = False


def shapes_of(evidence: RunEvidence) -> dict[str, Shape]:
    """The shapes of the lines of a run's logs, each with its first line."""
    found: dict[str, Shape] = {}
    left = MOST_BYTES
    for entry in evidence.files:
        if entry.artifact.kind != "log":
            continue
        reports = sorted(entry.progress.lines)[:2]
        begun = reports[-1] if reports else 1 << 60  # the first may be a command line: `--epochs 200`
        try:
            with open_artifact(entry.artifact.path) as stream:
                for number, raw in enumerate(stream, 1):
                    left -= len(raw)
                    if left < 0 or len(found) >= MOST_SHAPES:
                        return found
                    _add(found, raw, Shape("", entry.name, number, trained=number >= begun), evidence.run.id)
        except (OSError, UnreadableArtifact):
            continue
    return found


def _add(found: dict[str, Shape], raw: bytes, place: Shape, run_id: str) -> None:
    text = raw[:2000].decode("utf-8", "replace").rpartition("\r")[2].strip()
    nameless = without_name(text, run_id)
    shape = _MASK.sub("#", nameless)
    known = found.get(shape)
    if known is not None:
        found[shape] = replace(known, times=known.times + 1)
    elif len(shape) >= SHORTEST:
        found[shape] = replace(place, text=text, said=_PASSING.sub("#", nameless))


def changed_lines(before: dict[str, Shape], after: dict[str, Shape]) -> list[tuple[Evidence, Evidence]]:
    """Pairs of lines from before training that both logs have once and say otherwise, in the order of the second."""
    pairs = [
        (before[name], shape)
        for name, shape in after.items()
        if name in before and before[name].times == shape.times == 1 and not (before[name].trained or shape.trained)
    ]
    return [(_quoted(one), _quoted(other)) for one, other in pairs if one.said != other.said]


def _quoted(shape: Shape) -> Evidence:
    return Evidence(path=shape.path, line=shape.line, quote=quote_of(shape.text))


def new_lines(before: dict[str, Shape], after: dict[str, Shape]) -> list[Evidence]:
    """Lines whose shape only the second run has, those that sound like trouble first."""
    fresh = [shape for name, shape in after.items() if name not in before]
    fresh.sort(key=lambda shape: (not _ALARM.search(shape.text), shape.path, shape.line))
    return [_quoted(shape) for shape in fresh]
