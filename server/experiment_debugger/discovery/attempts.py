"""In which order a run was tried, and in which order the parts of one log were written.

slurm-42.out, slurm-42-1.out          two attempts
attempt_0/0/stderr.log, attempt_1/... two attempts; launcher.log beside them goes with the last
version_3/, version_4/                two attempts
train.log.2.gz, train.log.1, train.log   ONE attempt in three parts: rotation restarts nothing
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from experiment_debugger.discovery.grouping import CONSTITUTING, Group, is_attempt_suffix, is_part, unit_of
from experiment_debugger.discovery.inventory import Entry
from experiment_debugger.discovery.names import ATTEMPT_WORDS, RUN_WORDS, normal, stem

_ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4}
_NUMBERED = re.compile(r"^(?P<word>[a-z]*)-?(?P<number>\d{1,12})$")
_STAMPED = re.compile(r"^(?:\d{4}-?\d\d-?\d\d[t-]?\d\d-?\d\d(?:-?\d\d)?|\d{8}-\d{6}|\d{4}-?\d\d-?\d\d|\d\d-\d\d-\d\d)")
_TRIES = (RUN_WORDS | ATTEMPT_WORDS | {"take"}) - {
    "trial",
    "log",
    "logs",
    "id",
    "no",
    "nr",
    "wandb",
    "train",
    "training",
}
_ROTATED = re.compile(r"\.(?:log|out|err|txt)\.(\d{1,3})(?:\.(?:gz|xz|zst))?$|\.(\d{1,3})\.log(?:\.(?:gz|xz|zst))?$")
SortKey = tuple[float, ...]


def rotation_of(name: str) -> int | None:
    """N of `train.log.N` or `train.log.N.gz`; higher numbers are older."""
    found = _ROTATED.search(name)
    return int(found[1] or found[2]) if found else None


def assign_attempts(entries: Iterable[Entry], group: Group | None) -> tuple[dict[Entry, int], list[str]]:
    """The attempt of each entry (0 is the oldest) and the attempts' labels; one attempt has no label.

    Names decide; times only order attempts whose names do not.
    """
    chosen = list(entries)
    markers = {entry: marker for entry in chosen if (marker := _unit_marker(entry, group)) is not None}
    whole_units = bool(markers)
    if not markers:
        markers = _markers_inside(chosen)
    keys = _ordered(markers)
    trackers = {entry for tracker, _ in group.trackers for entry in tracker.entries} if group else set()
    originals = [one for one in chosen if one.kind in CONSTITUTING and one not in markers and one not in trackers]
    if whole_units and originals:
        keys = [*keys, ""] if _is_last_part(originals, markers, keys) else ["", *keys]
    if len(keys) < 2:
        return dict.fromkeys(chosen, 0), [""]
    index = {key: number for number, key in enumerate(keys)}
    unmarked = index[""] if "" in index else len(keys) - 1
    result = {entry: index[markers[entry][0]] if entry in markers else unmarked for entry in chosen}
    for entry in chosen:
        if entry.kind not in CONSTITUTING and entry not in markers:
            result[entry] = len(keys) - 1
    return result, keys


def _is_last_part(originals: list[Entry], markers: dict[Entry, Marker], keys: list[str]) -> bool:
    """Of `run.part1.log` and `run.log` the numbered one was moved away first; an original of a run is its first try."""
    newest = max(entry.mtime for entry in originals)
    return all(is_part((key,)) for key in keys) and newest >= max(entry.mtime for entry in markers)


Marker = tuple[str, SortKey]


def _unit_marker(entry: Entry, group: Group | None) -> Marker | None:
    """The marker in the name of the run itself: `42-1` or `42-resumed` for a run `42`; the job number among several."""
    if group is None or entry.kind not in CONSTITUTING:
        return None
    unit = unit_of(entry)
    if unit is None or unit.parts not in group.units:
        return None
    if len(unit.key) > len(group.key) and unit.key[: len(group.key)] == group.key:
        rest = unit.key[len(group.key) :]
        if is_attempt_suffix(rest):
            numbers = [float(number) for number in re.findall(r"\d+", "-".join(rest))]
            return "-".join(rest), (0.0, *numbers)
    jobs = {other[-1] for other in group.units if label_is_job(other[-1])}
    if len(jobs) > 1 and label_is_job(unit.parts[-1]):
        return unit.parts[-1], (0.0, float(re.findall(r"\d+", unit.parts[-1])[-1]))
    return None


def label_is_job(name: str) -> bool:
    """Whether a name is a scheduler's job output: `slurm-123456`."""
    return bool(re.fullmatch(r"(?:slurm|job)-\d+(?:_\d+)?", name))


def _markers_inside(entries: list[Entry]) -> dict[Entry, Marker]:
    """Markers in folders and names: siblings of one shape that differ in a number, a time stamp or first/second."""
    siblings: dict[tuple[tuple[str, ...], str], dict[str, list[Entry]]] = defaultdict(lambda: defaultdict(list))
    for entry in entries:
        if entry.kind not in CONSTITUTING:
            continue
        for depth, part in enumerate(entry.parts):
            last = depth == len(entry.parts) - 1
            name = normal(stem(part) if last else part)
            shape = _shape(name)
            if shape is not None:
                siblings[(entry.parts[:depth], shape)][name].append(entry)
    tried = {place: names for place, names in siblings.items() if len(names) > 1}
    shape = _main_shape(tried)
    markers: dict[Entry, Marker] = {}
    for (_, other), names in sorted(tried.items(), key=lambda item: len(item[0][0])):
        for name, members in names.items() if other == shape else ():
            for entry in members:
                markers.setdefault(entry, (name, _sort_key(name)))
    return markers


def _main_shape(tried: dict[tuple[tuple[str, ...], str], dict[str, list[Entry]]]) -> str:
    """The shape that most logs carry: one way of counting tries, not the stamps of several tools side by side."""
    logs: dict[str, int] = defaultdict(int)
    for (_, shape), names in tried.items():
        logs[shape] += sum(1 + 1000 * (entry.kind == "log") for members in names.values() for entry in members)
    return max(logs, key=lambda shape: (logs[shape], shape), default="")


def _shape(name: str) -> str | None:
    """What siblings have in common when they are tries of one thing, None for ranks, epochs and the like."""
    if name in _ORDINALS:
        return "ordinal"
    if _STAMPED.match(name):
        return "stamp" + _STAMPED.sub("", name)
    found = _NUMBERED.match(name)
    if found and found["word"] and found["word"] in _TRIES:
        return found["word"]
    words = name.split("-")
    marked = next((index for index, word in enumerate(words) if word.rstrip("0123456789") in ATTEMPT_WORDS), None)
    if marked is not None and re.search(r"\d", name):
        return "-".join(re.sub(r"\d+", "#", word) for word in words)
    return None


def _sort_key(name: str) -> SortKey:
    if name in _ORDINALS:
        return (float(_ORDINALS[name]),)
    return tuple(float(number) for number in re.findall(r"\d+", name))


def _ordered(markers: dict[Entry, Marker]) -> list[str]:
    """Labels oldest first: by the numbers in their names, equal ones by time."""
    first_seen: dict[str, tuple[SortKey, float]] = {}
    for entry, (name, key) in markers.items():
        known = first_seen.get(name)
        first_seen[name] = (key, min(entry.mtime, known[1]) if known else entry.mtime)
    return sorted(first_seen, key=lambda name: (*first_seen[name], name))
