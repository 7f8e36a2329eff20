"""To which run a tracker belongs whose path does not carry the run's id.

logs/run-201.log, tb/events.out.tfevents...                 the only log here: the events are its
logs/run-7.log "Saving to lightning_logs/version_3"         named in the log
logs/run-7.log, logs/run-8.log, wandb/offline-run-<date>-s8031ol4/   started while run-8 was running, and only then

What stays open is left apart and named (`unknown_trackers`): a run never gets another run's numbers silently.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field, replace
from itertools import islice

from experiment_debugger.discovery.grouping import CONSTITUTING, Group, Key, owners, wandb_id, words_of_runs
from experiment_debugger.discovery.inventory import Entry, Inventory
from experiment_debugger.discovery.lifetimes import (
    SLACK,
    Life,
    lies_apart,
    lies_within,
    life_of_log,
    life_of_tracker,
    processes,
)
from experiment_debugger.discovery.links import NAMING_BYTES, names_path, normal_text, processes_in
from experiment_debugger.discovery.names import is_artifact_folder, normal
from experiment_debugger.discovery.text_ends import ends_of

MAX_RUNS = 400  # runs whose logs are read for what they name
NUMBERS = CONSTITUTING - {"log"}
_FOLDER_SETTING = re.compile(
    r"(?i)(?<![a-z])(?:log|logging|output|save|run|tb|tensorboard|wandb|default_root)[_-]?dir(?:ectory)?[\"']?"
    r" ?[:= ] ?[\"']?([\w./~+-]+)"
)
_COUNTED = re.compile(r"^(?:run|exp|experiment|job)?-?(\d+)$")


def is_tracker(group: Group) -> bool:
    """Whether only numbers of a run are there; the console that W&B keeps in its own folder is no log of its own."""
    return any(entry.kind in NUMBERS for entry in group.entries) and not has_log(group)


def has_log(group: Group) -> bool:
    """Whether a log of its own is there."""
    return any(entry.kind == "log" and wandb_id(entry.parts) is None for entry in group.entries)


def join_trackers(groups: list[Group], inventory: Inventory) -> list[Group]:
    """The groups with each tracker in the one run that it belongs to, where that is known."""
    runs = [group for group in groups if has_log(group)]
    lone = [group for group in groups if is_tracker(group)]
    if not runs or not lone or len(runs) > MAX_RUNS:
        return groups
    pieces = {id(group): _pieces(group) if len(runs) > 1 else [group] for group in lone}
    chosen = _Homes.of(runs, inventory).choose([piece for group in lone for piece in pieces[id(group)]])
    gained: dict[int, list[tuple[Group, str]]] = defaultdict(list)
    for tracker, home, why in chosen:
        gained[id(home)].append((tracker, why))
    gone = {id(tracker) for tracker, _, _ in chosen}
    result: list[Group] = []
    for group in groups:
        if id(group) in pieces:
            result += _left(group, [piece for piece in pieces[id(group)] if id(piece) not in gone])
        else:
            result.append(_with_trackers(group, gained[id(group)]))
    return result


def unknown_trackers(others: list[Group], inventory: Inventory, groups: list[Group], own: set[Entry]) -> list[str]:
    """One line on numbers here whose run is not known, for a run that has a log and no numbers."""
    if any(entry.kind in NUMBERS for entry in own) or not any(entry.kind == "log" for entry in own):
        return []
    owned = {entry for group in groups for entry in group.entries}
    places = dict.fromkeys(group.place for group in others if is_tracker(group))
    for entry in inventory.entries:
        if entry.kind in NUMBERS and not entry.in_data and entry not in owned and entry not in own:
            places.setdefault("/".join(entry.parts[:-1]) if entry.kind != "metrics" else entry.rel)
    if not places:
        return []
    shown = ", ".join(list(places)[:3]) + (", ..." if len(places) > 3 else "")
    what = "1 tracker of an unknown run" if len(places) == 1 else f"{len(places)} trackers of unknown runs"
    return [f"{what}: {shown} (name {'it' if len(places) == 1 else 'one'} to read it)"]


def _pieces(group: Group) -> list[Group]:
    """Event files of several runs that were written into one folder such as `tb/`, each on its own."""
    in_container = all(is_artifact_folder(unit[-1]) for unit in group.units if unit)
    events = [entry for entry in group.entries if entry.kind == "tensorboard"]
    if not in_container or len(events) < 2 or len(events) < len(group.entries):
        return [group]
    return [Group(group.key, group.display, [entry], dict(group.units)) for entry in events]


def _left(group: Group, pieces: list[Group]) -> list[Group]:
    entries = [entry for piece in pieces for entry in piece.entries]
    return [replace(group, entries=entries)] if entries else []


def _with_trackers(group: Group, gained: list[tuple[Group, str]]) -> Group:
    if not gained:
        return group
    entries = [entry for tracker, _ in gained for entry in tracker.entries]
    return replace(group, entries=[*group.entries, *entries], trackers=gained)


@dataclass(slots=True)
class _Homes:
    """What is known about the runs with logs: what their texts say, and when they lived."""

    runs: list[Group]
    texts: list[str] = field(default_factory=list)
    lives: list[Life] = field(default_factory=list)
    pids: dict[int, set[str]] = field(default_factory=dict)
    containers: list[set[tuple[str, ...]]] = field(default_factory=list)
    words: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    folders: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))

    @classmethod
    def of(cls, runs: list[Group], inventory: Inventory) -> _Homes:
        papers = _papers(runs, inventory)
        homes = cls(runs)
        for number, run in enumerate(runs):
            homes._read(number, run, _text(run, papers[id(run)]), str(inventory.base))
        return homes

    def _read(self, number: int, run: Group, text: str, root: str) -> None:
        self.texts.append(normal_text(text))
        self.lives.append(life_of_log(run))
        self.containers.append(_containers(run))
        for word in set(re.findall(r"[\w.+=-]+", self.texts[-1])):
            self.words[word.strip(".-")].add(number)
        for folder in _folders_in(text, root):
            self.folders[folder].add(number)

    def choose(self, trackers: list[Group]) -> list[tuple[Group, Group, str]]:
        """Each tracker whose run is known, with that run and the reason."""
        found = [(tracker, *home) for tracker in trackers if (home := self._home(tracker)) is not None]
        if len(self.runs) > 1:
            return found
        certain = {id(tracker) for tracker, _, _ in found}
        rest = [
            tracker
            for tracker in trackers
            if id(tracker) not in certain and self._may_be_its(tracker, life_of_tracker(tracker), 0)
        ]
        runs_of_a_tracker = [tracker for tracker in rest if _is_one_run(tracker)]
        if len(runs_of_a_tracker) > 1 or (runs_of_a_tracker and any(_is_one_run(one) for one, _, _ in found)):
            rest = [tracker for tracker in rest if not _is_one_run(tracker)]
        why = "the only run with a log here"
        return found + [(tracker, self.runs[0], why) for tracker in rest]

    def _home(self, tracker: Group) -> tuple[Group, str] | None:
        named = self._naming(tracker)
        if len(named) == 1:
            return self.runs[named[0]], f"{tracker.place} is named by the run"
        pool = named or list(range(len(self.runs)))
        life = life_of_tracker(tracker)
        pids = processes(tracker)
        same = [one for one in pool if self._has_process(one, pids) and self._may_be_its(tracker, life, one)]
        if len(same) == 1:
            return self.runs[same[0]], f"written by process {min(pids)}, which the run's log names"
        for slack in (0.0, SLACK):
            inside = (one for one in pool if lies_within(life, self.lives[one], slack))
            hits = list(islice((one for one in inside if self._may_be_its(tracker, life, one)), 2))
            if hits:
                return (self.runs[hits[0]], _in_time(tracker, life)) if len(hits) == 1 else None
        return None

    def _has_process(self, number: int, pids: set[str]) -> bool:
        """Whether a log names one of these processes; the numbers of few logs have to be looked at closely."""
        if not any(pid in self.texts[number] for pid in pids):
            return False
        if number not in self.pids:
            self.pids[number] = processes_in(self.texts[number])
        return bool(pids & self.pids[number])

    def _naming(self, tracker: Group) -> list[int]:
        """The runs whose log, config or job names the tracker's folder or W&B id."""
        found: set[int] = set()
        for unit in tracker.units:
            path = normal_text("/".join(unit))
            for name in _names_of(unit):
                numbers = self.words.get(name.rpartition("/")[2], set())
                found |= {number for number in numbers if names_path(self.texts[number], name)}
            found |= self.folders.get(path, set())
            for above in _above(path):
                found |= self.folders.get(above, set())
        return sorted(found)

    def _may_be_its(self, tracker: Group, life: Life, number: int) -> bool:
        """Whether nothing speaks against it: no number of another run, no place beside the run, no other time."""
        beside = any(unit[:-1] in self.containers[number] for unit in tracker.units if unit)
        if beside or _is_another_number(tracker, self.runs[number]):
            return False
        return not lies_apart(life, self.lives[number])


def _papers(runs: list[Group], inventory: Inventory) -> dict[int, list[Entry]]:
    """Configs and job files of each run, by name."""
    index = words_of_runs(runs)
    papers: dict[int, list[Entry]] = defaultdict(list)
    for entry in inventory.entries:
        if entry.kind in {"config", "job"}:
            for owner in owners(entry, index):
                papers[id(owner)].append(entry)
    return papers


def _containers(run: Group) -> set[tuple[str, ...]]:
    """Where the folder of a run stands: `runs/baseline/metrics.csv` beside `runs/mine/train.log` is another run."""
    folders = {entry.parts[:count] for entry in run.entries for count in range(1, len(entry.parts))}
    return {unit[:-1] for unit in run.units if unit in folders}


def _names_of(unit: tuple[str, ...]) -> list[str]:
    """How texts name a tracker: by its folder with the one above, or by its W&B id."""
    own = wandb_id((*unit, ""))
    names = ["/".join(unit[-2:])] if len(unit) > 1 else []
    return [normal_text(name) for name in (*names, *([own] if own and len(own) >= 6 else []))]


def _text(run: Group, papers: list[Entry]) -> str:
    logs = [entry for entry in run.entries if entry.kind == "log"][:4]
    own = [entry for entry in run.entries if entry.kind in {"config", "job"}][:4]
    return "\n".join(ends_of(entry.path, NAMING_BYTES) for entry in (*logs, *own, *papers[:4]))


def _folders_in(text: str, root: str) -> set[str]:
    """Folders that settings name as those of a run's output: `--logdir tb`, `output_dir: out`."""
    found = {value.removeprefix(root.rstrip("/") + "/") for value in _FOLDER_SETTING.findall(text)}
    return {normal_text(folder) for value in found if (folder := value.removeprefix("./").strip("/."))}


def _above(path: str) -> list[str]:
    """The folders above that are no collections of runs: `out` of `out/runs/may28`, but never `runs`."""
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts)) if not is_artifact_folder(parts[count - 1])]


def _is_one_run(tracker: Group) -> bool:
    """Whether a tracker's own id names one run: a W&B folder, a run of MLflow."""
    return any(wandb_id((*unit, "")) is not None or "mlruns" in unit for unit in tracker.units)


def _is_another_number(tracker: Group, run: Group) -> bool:
    """`runs/41/` is not run 42's; a `version_0` or `fold_1` is counted by something else than the run."""
    counted: list[Key] = [
        (found[1].lstrip("0"),) for unit in tracker.units if unit and (found := _COUNTED.match(normal(unit[-1])))
    ]
    numbers = {word.lstrip("0") for word in run.key if word.isdigit()}
    return bool(counted) and bool(numbers) and all(key[0] not in numbers for key in counted)


def _in_time(tracker: Group, life: Life) -> str:
    if life.first is None:
        return f"{tracker.place} was last written together with this run's log, and no other's"
    return f"{tracker.place} was started while this run, and no other, wrote its log"
