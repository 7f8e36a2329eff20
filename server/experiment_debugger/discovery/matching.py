"""Which groups carry the id that was asked for, and whether they are one run.

118   run-118.log, run-118-blocking.log            one run
118   pretrain-118/, finetune-118/                 two different runs: ambiguous
42    run-042/ when there is no run-42             leading zeros do not matter
fold_0 inside Dataset217/trainer/                  the part of that run that carries it
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from experiment_debugger.discovery.grouping import CONSTITUTING, Group, is_attempt_suffix
from experiment_debugger.discovery.inventory import Entry
from experiment_debugger.discovery.names import ATTEMPT_WORDS, CONTAINERS, ROLE_WORDS, RUN_WORDS, RunId, normal, stem

_GENERIC = RUN_WORDS | CONTAINERS | ROLE_WORDS


@dataclass(slots=True)
class Candidate:
    """A group that carries the id; `entries` are its files, fewer where only a part of the group carries it."""

    group: Group
    entries: list[Entry]
    prefix: tuple[str, ...]
    suffix: tuple[str, ...]
    spelled: str
    container: tuple[str, ...]
    alternatives: tuple[str, ...] = ()
    inner: bool = False
    by_tracker: bool = False

    @property
    def is_exact(self) -> bool:
        """Whether the name is the id and nothing else but generic words."""
        return not self.prefix and not self.suffix

    @property
    def is_other(self) -> bool:
        """Whether the name goes on after the id so that it is another run's (`r50fpn-1x` in `r50fpn-1x-0106`)."""
        rest = tuple(word for word in self.suffix if word not in ATTEMPT_WORDS)
        if not any(re.search(r"\d", word) for word in rest):
            return False
        return not (is_attempt_suffix(rest) and re.search(r"\d$", self.spelled))


def candidates(run: RunId, groups: list[Group]) -> list[Candidate]:
    """Groups that carry the id: by their own name, else by a name inside them; exactly spelled ones first."""
    for loose in (False, True):
        found = [one for group in groups if (one := _candidate(run, group, loose)) is not None]
        if found:
            outer = [one for one in found if not one.inner]
            return [one for one in outer if not one.by_tracker] or outer or found
    return []


def _candidate(run: RunId, group: Group, loose: bool) -> Candidate | None:
    if not group.key:  # nameless logs: the folder that holds them names the run
        match = run.find(group.display, loose=loose)
        return Candidate(group, group.entries, (), (), match[0], ()) if match else None
    own = dict.fromkeys(group.units, False)
    for unit, by_tracker in (own | {unit: True for one, _ in group.trackers for unit in one.units}).items():
        hit = _in_parts(run, unit, loose)
        if hit is not None:
            index, match, part = hit
            prefix, suffix = _around(part, match)
            place = unit[:index]
            return Candidate(group, group.entries, prefix, suffix, match[0], place, by_tracker=by_tracker)
    for entry in sorted(group.entries, key=lambda one: one.parts):
        if entry.kind in CONSTITUTING:
            parts = (*entry.parts[:-1], stem(entry.name))
            hit = _in_parts(run, parts, loose)
            if hit is not None:
                return _inner(group, entry, hit, run, loose)
    return None


Hit = tuple[int, "re.Match[str]", str]


def _in_parts(run: RunId, parts: tuple[str, ...], loose: bool) -> Hit | None:
    """Index of the outermost part that carries the id, the match, and the text it was found in."""
    if "/" in run.text:
        text = "/".join(parts)
        match = run.find(text, loose=loose)
        if match is None:
            return None
        whole = "/".join(normal(part) for part in parts)
        return whole.count("/", 0, match.start()), match, whole[whole.rfind("/", 0, match.start()) + 1 :]
    for index, part in enumerate(parts):
        match = run.find(part, loose=loose)
        if match is not None:
            return index, match, normal(part)
    return None


def _around(part: str, match: re.Match[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if "/" in match[0]:
        return (), ()
    before, after = part[: match.start()], part[match.end() :].partition("/")[0]
    # `exp` of exp42 is generic, `a` of egnn-qm-a3 is not
    prefix = tuple(word for word in before.split("-") if word and word not in _GENERIC)
    suffix = tuple(word for word in after.split("-") if word and word not in _GENERIC)
    return prefix, suffix


def _inner(group: Group, entry: Entry, hit: Hit, run: RunId, loose: bool) -> Candidate:
    """Only a name inside the group carries the id: its siblings of the same shape are other runs."""
    index, match, _ = hit
    parent, shape = entry.parts[:index], _shape(_part(entry, index))
    entries: list[Entry] = []
    alternatives: dict[str, None] = {}
    for other in group.entries:
        if len(other.parts) > index and other.parts[:index] == parent:
            part = _part(other, index)
            if run.find(part, loose=loose) is None and "/" not in run.text and _shape(part) == shape:
                alternatives[part] = None
                continue
        entries.append(other)
    prefix = tuple(group.key)
    return Candidate(group, entries, prefix, (), match[0], parent, tuple(alternatives), inner=True)


def _part(entry: Entry, index: int) -> str:
    part = entry.parts[index]
    return stem(part) if index == len(entry.parts) - 1 else part


def _shape(name: str) -> str:
    """The name with everything that numbers it masked: `fold_0` and `fold_1`, two time stamps, two W&B runs."""
    name = re.sub(r"^((?:offline-)?run-\d{8}[-_]\d{6}-).+$", r"\1#", normal(name))
    return "-".join(re.sub(r"\d+", "#", word) if len(word) < 6 else _long(word) for word in name.split("-"))


def _long(word: str) -> str:
    return "#" if re.search(r"\d", word) else word


def different_runs(found: list[Candidate]) -> list[list[Candidate]]:
    """The candidates as runs: one list a run. One list in all means that the id is unambiguous."""
    own = [one for one in found if not one.is_other]
    if not own:
        return [[one] for one in found]
    exact = [one for one in own if one.is_exact]
    if exact and not exact[0].spelled.isdigit():
        own = [one for one in own if not one.prefix]
    runs: list[list[Candidate]] = []
    for one in sorted(own, key=lambda one: (-len(one.prefix), one.group.display)):
        home = next((run for run in runs if all(_same(one, other) for other in run)), None)
        if home is None:
            runs.append([one])
        else:
            home.append(one)
    return runs


def _same(one: Candidate, other: Candidate) -> bool:
    """Two names of one run: equal words before the id, or the fewer words part of the more, in another folder."""
    if one.spelled != other.spelled and not one.inner:
        return False
    if one.prefix == other.prefix:
        return True
    few, many = sorted((one.prefix, other.prefix), key=len)
    return set(few) <= set(many) and one.container != other.container
