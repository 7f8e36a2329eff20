"""When a run's log and a tracker were written, and by which process, as far as names, stamps and times of change say.

events.out.tfevents.1796065967.vm.7737.2    started 1796065967 (seconds since the epoch), process 7737 on host vm
offline-run-20261130_191041-s8031ol4/       started then, in the local time of the machine
mlruns/<experiment>/<run>/meta.yaml         start_time: 1796066057123 (milliseconds since the epoch)
"""

from __future__ import annotations

import calendar
import re
import time
from dataclasses import dataclass

from experiment_debugger.discovery.grouping import CONSTITUTING, Group
from experiment_debugger.discovery.inventory import Entry, read_head
from experiment_debugger.discovery.text_ends import ends_of

HEAD_BYTES = 8_192
SLACK = 120.0  # seconds between the start of a tracker and the first line that a log stamps
TOGETHER = 60.0  # seconds between the last writes of a log and of its tracker
APART = 86_400.0  # seconds; more than any two time zones differ
_EVENTS = re.compile(r"^events\.out\.tfevents\.(\d{9,11})\.(?:.+?\.(\d+)\.\d+(?:\.v2)?$)?")
_WANDB = re.compile(r"^(?:offline-)?run-(\d{8}_\d{6})-")
_MLFLOW = re.compile(rb"^start_time: (\d{12,14})$", re.MULTILINE)
_STAMP = re.compile(r"(?<!\d)((?:19|20)\d\d)[-/](\d\d)[-/](\d\d)[ T](\d\d):(\d\d):(\d\d)(?:[.,]\d+)?(Z|\+00:?00)?")


@dataclass(frozen=True, slots=True)
class Life:
    """First and last sign of life in seconds since the epoch; `first` is None where nothing tells it."""

    first: float | None
    last: float


def life_of_log(group: Group) -> Life:
    """From the first stamp in the logs of a run to their last change."""
    logs = [entry for entry in group.entries if entry.kind == "log"]
    stamps = [stamp for entry in logs[:4] if (stamp := _first_stamp(entry)) is not None]
    last = max((entry.mtime for entry in logs), default=0.0)
    return Life(min((stamp for stamp in stamps if stamp <= last + APART), default=None), last)


def life_of_tracker(group: Group) -> Life:
    """From the start that names or records give to the last change."""
    starts = [start for entry in group.entries if (start := _start(entry)) is not None]
    return Life(min(starts, default=None), group.newest)


def processes(group: Group) -> set[str]:
    """Process ids in the names of event files."""
    return {found[2] for entry in group.entries if (found := _EVENTS.match(entry.name)) and found[2]}


def lies_within(tracker: Life, run: Life, slack: float) -> bool:
    """Whether a tracker started while the run lived; where one start is unknown, whether both ended together."""
    together = abs(tracker.last - run.last) <= TOGETHER
    if tracker.first is None:
        return together
    if run.first is None:
        return together and tracker.first <= run.last
    return run.first - slack <= tracker.first <= run.last


def lies_apart(tracker: Life, run: Life) -> bool:
    """Whether the tracker was certainly written before the run began, or begun after it had ended."""
    if tracker.first is not None and tracker.first > run.last + APART:
        return True
    signs = tracker.last if tracker.first is None else tracker.first
    return run.first is not None and signs < run.first - APART


def _start(entry: Entry) -> float | None:
    if found := _EVENTS.match(entry.name):
        return float(found[1])
    if entry.name == "meta.yaml" and (stored := _MLFLOW.search(read_head(entry.path))):
        return float(stored[1]) / 1000
    if entry.kind in CONSTITUTING:
        stamp = next((found[1] for part in entry.parts[:-1] if (found := _WANDB.match(part))), None)
        return _local(stamp) if stamp else None
    return None


def _local(stamp: str) -> float | None:
    try:
        return time.mktime(time.strptime(stamp, "%Y%m%d_%H%M%S"))
    except (ValueError, OverflowError):
        return None


def _first_stamp(entry: Entry) -> float | None:
    found = _STAMP.search(ends_of(entry.path, HEAD_BYTES))
    if found is None:
        return None
    text = "".join(found.group(1, 2, 3)) + "_" + "".join(found.group(4, 5, 6))
    try:
        return float(calendar.timegm(time.strptime(text, "%Y%m%d_%H%M%S"))) if found[7] else _local(text)
    except ValueError:
        return None
