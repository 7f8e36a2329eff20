"""One hop: what the artifacts of a run name, and which nameless dumps name the run's job, processes or hosts.

"JobName=seg-aug-05 ... > runs/seg-aug-05/console.txt"   links slurm-660412.out with runs/seg-aug-05
"--config configs/a.yaml"                                 brings configs/a.yaml
"py-spy dump --pid 31877" and "[31877]" in the log        brings docs/pyspy-g014.txt
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache

from experiment_debugger.discovery.grouping import DUMPS, Group
from experiment_debugger.discovery.inventory import Entry, Inventory
from experiment_debugger.discovery.names import RunId, normal, stem, tokens, words
from experiment_debugger.discovery.registry import paths_in
from experiment_debugger.discovery.text_ends import ends_of

MAX_TEXTS = 40  # artifacts that are read for the hop
FULL_TEXTS = 4  # of which both ends are read at length; ranks repeat each other
LOG_BYTES = 32_768
MAX_OTHERS = 400  # logs of other runs that are searched for this run's name
MAX_JOINED = 150  # job outputs that a list of runs reads
NAMING_BYTES = 8_192  # a job says in its first lines what it runs
TEXT_KINDS = words("log scheduler job status config metrics environment dump kernel wandb other")
# a run that starts from another run's checkpoint does not own that run
_ANOTHER_RUN = re.compile(r"resum|load|restor|init|pretrained|from|compare|baseline|previous|teacher|ckpt|checkpoint")
_PID = re.compile(r"(?i)\bpid[ =:]{0,3}(\d{2,8})\b|\bprocess (\d{2,8})\b|--pid[ =](\d{2,8})|\[(\d{3,8})\]")
_JOB = re.compile(
    r"(?i)\bjob[_ ]?(?:id)?[ =:]{0,3}(\d{3,12})\b|SLURM_JOB_ID=(\d+)|^(\d{4,12})(?:[_.]\w+)?[| ]", re.MULTILINE
)
_DUMP_WORDS = words(
    "dmesg journal journalctl kern syslog xid pyspy py spy dump gdb stack stacks nvidia smi dmon pmon sacct "
    "scontrol seff squeue epilog kubectl describe events node host gpu rank worker txt log txt ops"
)


@dataclass(slots=True)
class Names:
    """What the texts of a run name."""

    paths: dict[str, str] = field(default_factory=dict)
    pids: set[str] = field(default_factory=set)
    jobs: set[str] = field(default_factory=set)
    text: str = ""


def names_in(entries: Iterable[Entry]) -> Names:
    """Paths (with the artifact that names them), process ids and job ids in the ends of these artifacts."""
    found = Names()
    readable = [entry for entry in entries if entry.kind in TEXT_KINDS]
    readable.sort(key=lambda entry: (entry.kind != "job", entry.kind != "log", -entry.mtime, entry.rel))
    texts = []
    for number, entry in enumerate(readable[:MAX_TEXTS]):
        text = ends_of(entry.path, LOG_BYTES if number < FULL_TEXTS else NAMING_BYTES)
        texts.append(text)
        for path in paths_in(text):
            found.paths.setdefault(path, entry.rel)
        found.pids |= {number for match in _PID.findall(text) for number in match if number}
        found.jobs |= {number for match in _JOB.findall(text) for number in match if number}
    found.text = normal_text("\n".join(texts))
    return found


def normal_text(text: str) -> str:
    """Lower case with `_` as `-`, so that a name can be looked for in any spelling."""
    return text.lower().replace("_", "-")


def named_entries(names: Names, inventory: Inventory, root: str) -> dict[Entry, str]:
    """Files of the project that are named, each with the artifact that names it.

    An absolute path of another machine counts when its end is a path of the project (two parts at least).
    """
    by_rel = inventory.by_rel()
    by_tail: dict[str, Entry | None] = {}
    for entry in by_rel.values():
        tail = "/".join(entry.parts[-2:])
        by_tail[tail] = None if tail in by_tail else entry
    found: dict[Entry, str] = {}
    for path, source in names.paths.items():
        local = path.removeprefix(root.rstrip("/") + "/").removeprefix("./")
        hit = by_rel.get(local)
        if hit is None and "/" in local:
            hit = by_tail.get("/".join(local.split("/")[-2:])) if local.count("/") > 1 else None
        if hit is not None and hit.rel != source:
            found.setdefault(hit, source)
    return found


def linked_groups(group: Group, others: list[Group]) -> tuple[list[Group], list[str]]:
    """Groups that are the same run under another name: a job's output that names the run's folder, or the reverse.

    Only an alias (job number, W&B id) and a name can be two names of one run; two named runs never are. Also notes on
    what stays open.
    """
    candidates = [other for other in others if other.is_alias or group.is_alias][:MAX_OTHERS]
    if not group.is_alias:
        mine = [other for other in candidates if _names(group, other) or _names(other, group)]
        return [other for other in mine if not _names_another(other, group, others)], []
    named = [other for other in candidates if _names(group, other) or _names(other, group)]
    proper = [other for other in named if not other.is_alias]
    if len(proper) > 1:
        shown = ", ".join(other.display for other in proper[:4])
        note = f"{group.place} is named with several runs ({shown}); which one is its own is open"
        return [other for other in named if other.is_alias], [note]
    return named, []


def _names_another(job: Group, group: Group, others: list[Group]) -> bool:
    return any(_names(job, other) for other in others if other is not job and other is not group and not other.is_alias)


def joined(groups: list[Group]) -> list[Group]:
    """The groups with each alias in the one named run that it names, for lists; only the newest aliases are read."""
    named = [group for group in groups if not group.is_alias]
    aliases = sorted((group for group in groups if group.is_alias), key=lambda group: -group.newest)
    merged: dict[int, Group] = {}
    gone: set[int] = set()
    for alias in aliases[:MAX_JOINED] if 0 < len(named) <= MAX_OTHERS else ():
        targets = [group for group in named if _names(alias, group) or (len(named) == 1 and _names(group, alias))]
        if len(targets) == 1:
            target = merged.get(id(targets[0])) or replace(targets[0], entries=[*targets[0].entries])
            target.entries.extend(alias.entries)
            merged[id(targets[0])] = target
            gone.add(id(alias))
    return [merged.get(id(group), group) for group in groups if id(group) not in gone]


def _names(source: Group, target: Group) -> bool:
    """Whether a log of `source` names `target` other than as the origin of a checkpoint."""
    spellings = _spellings(target)
    logs = [entry for entry in source.entries if entry.kind == "log"]
    return any(_is_named(_searchable(entry), spelling) for entry in logs[:4] for spelling in spellings)


def _spellings(group: Group) -> list[str]:
    """How texts name a run: by its folder or file name; an alias by its bare number or id too."""
    names = {normal_text(unit[-1]) for unit in group.units if unit}
    if group.is_alias or len(group.key) > 1:
        names.add("-".join(group.key))
    return [name for name in names if len(name) >= 3]


def _searchable(entry: Entry) -> str:
    return _searchable_text(entry.path, entry.size, entry.mtime)


@lru_cache(maxsize=2048)
def _searchable_text(path: str, _size: int, _mtime: float) -> str:
    """Cached by size and time, because every pair of groups asks for it."""
    return normal_text(ends_of(path, NAMING_BYTES))


def _is_named(text: str, spelling: str) -> bool:
    if spelling not in text:
        return False
    for match in re.finditer(rf"(?<![a-z0-9]){re.escape(spelling)}(?![a-z0-9])", text):
        before = re.sub(r"[\w./~=-]*$", "", text[max(0, match.start() - 160) : match.start()])
        flag = re.search(r"--?[a-z-]+=[\w./~-]*$", text[max(0, match.start() - 160) : match.start()])
        if not _ANOTHER_RUN.search(before[-28:] + (flag[0] if flag else "")):
            return True
    return False


def names_path(text: str, path: str) -> bool:
    """Whether a text (`normal_text`) names this path or id, other than as where another run's state comes from."""
    for match in re.finditer(rf"(?<![\w-]){re.escape(path)}(?![\w-]|\.\w)", text):
        before = text[max(0, match.start() - 160) : match.start()].rpartition("\n")[2]
        if not _ANOTHER_RUN.search(before[-60:]):
            return True
    return False


def processes_in(text: str) -> set[str]:
    """Process ids that a text names."""
    return {number for match in _PID.findall(text) for number in match if number}


def display_names(inventory: Inventory, run: RunId) -> list[str]:
    """Folder names of the W&B and MLflow runs that are called so; read only when no file or folder is."""
    found: dict[str, None] = {}
    for entry in inventory.entries:
        if not (entry.kind == "wandb" or entry.name in {"meta.yaml", "mlflow.runName"}):
            continue
        if "tag" not in entry.name and run.find(re.sub(r"[^\w.@=+-]+", " ", ends_of(entry.path, NAMING_BYTES))):
            folder = next((part for part in reversed(entry.parts[:-1]) if part not in {"files", "logs", "tags"}), "")
            found[folder.rsplit("-", 1)[-1] if folder.startswith(("run-", "offline-run-")) else folder] = None
    return [name for name in found if name]


def dumps_of_run(inventory: Inventory, names: Names, taken: set[Entry], job_ids: set[str]) -> dict[Entry, str]:
    """Nameless dumps (dmesg, py-spy, sacct, dmon) that name a job, process or host of the run."""
    found: dict[Entry, str] = {}
    for entry in inventory.entries:
        if entry.kind not in DUMPS or entry in taken:
            continue
        text = ends_of(entry.path)
        job = next((job for job in job_ids if re.search(rf"(?<!\d){job}(?!\d)", text)), None)
        if job is not None:
            found[entry] = f"names job {job}"
            continue
        pids = {number for match in _PID.findall(text) for number in match if number} & names.pids
        if pids:
            found[entry] = f"names process {min(pids)} of the run"
            continue
        host = _host_in_name(entry)
        if host and re.search(rf"(?<![a-z0-9]){re.escape(host)}(?![a-z0-9])", names.text):
            found[entry] = f"comes from host {host} of the run"
    return found


def _host_in_name(entry: Entry) -> str | None:
    """`cn-a21` of `dmesg-cn-a21.txt`, `node-05` of `node-05-dmesg.txt`."""
    words = list(tokens(stem(entry.name)))
    while words and words[0] in _DUMP_WORDS - {"node", "host", "gpu"}:
        words.pop(0)
    while words and words[-1] in _DUMP_WORDS:
        words.pop()
    host = normal("-".join(words))
    return host if len(host) >= 3 and re.search(r"\d", host) else None
