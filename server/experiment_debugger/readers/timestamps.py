r"""When a log line was written, in the spellings of loggers, schedulers and kernels.

    2024-05-08 07:00:41.381 | INFO     | ...        [2023-02-08 21:40:07,301] [INFO] ...     2023-06-22,03:30:06 | INFO
    05/17/2022 12:42:06 - INFO - ...                [Sat Nov 19 10:27:41 2022] oom-killer    2022/07/27 19:05:30.647
    I1003 09:42:30.512983 139871 train.py:133]      [rank0]:[E212 00:37:41.512830771 ...]    [01/06 18:05:37 d2.utils]
    slurmstepd: error: *** JOB 1 ON n CANCELLED AT 2025-09-10T01:56:58 DUE TO PREEMPTION ***

Seconds since the epoch are computed as if the text were UTC: only differences on one host are used. Stamps without a
year take the year that the same run's other stamps show. A bare time of day has no date and gives None.
"""

from __future__ import annotations

import re
from calendar import timegm

_MONTHS = {
    name: index
    for index, name in enumerate(
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"], 1
    )
}
_CLOCK = r"(?P<h>\d{2}):(?P<mi>\d{2}):(?P<s>\d{2})(?:[.,](?P<f>\d{1,9}))?"
_ISO = re.compile(r"(?<!\d)(?P<y>(?:19|20)\d{2})[-/](?P<mo>\d{2})[-/](?P<d>\d{2})[T ,_]+" + _CLOCK)
_US = re.compile(r"(?<!\d)(?P<mo>\d{2})/(?P<d>\d{2})/(?P<y>20\d{2}),? +" + _CLOCK)
_GLOG = re.compile(r"(?:^|[\[\s:])[IWEFCDV](?P<mo>\d{1,2})(?P<d>\d{2}) " + _CLOCK)
_NAMED = re.compile(
    r"(?P<mon>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +(?P<d>\d{1,2}) +"
    + _CLOCK
    + r"(?: [A-Z]{3,4})?(?: (?P<y>20\d{2}))?"
)
_SHORT = re.compile(r"^\[(?P<mo>\d{2})[/-](?P<d>\d{2}) " + _CLOCK)
_YEAR = re.compile(
    rb"(?<!\d)(20\d{2})[-/][01]\d[-/][0-3]\d|[A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:\d\d(?: [A-Z]{3,4})? (20\d{2})"
)
_WINDOW = 160  # characters; stamps of loggers stand at the start of a line
DEFAULT_YEAR = 2000


def find_year(head: bytes) -> int | None:
    """The first year of a full date in the head of a log."""
    found = _YEAR.search(head)
    return int(found.group(1) or found.group(2)) if found else None


class Clock:
    """Parses stamps of one run and remembers the last one, for lines that have none."""

    def __init__(self, year: int | None = None) -> None:
        self.year = year or DEFAULT_YEAR
        self.last: float | None = None

    def read(self, text: str) -> float | None:
        """Seconds of the stamp in this line, or None. Updates `last`."""
        head = text[:_WINDOW]
        if ":" not in head:
            return None
        for pattern in (_ISO, _GLOG, _US, _NAMED, _SHORT):
            found = pattern.search(head)
            if found:
                stamp = self._seconds(found)
                if stamp is not None:
                    self.last = stamp
                return stamp
        return None

    def _seconds(self, found: re.Match[str]) -> float | None:
        part = found.groupdict()
        month = _MONTHS[part["mon"]] if part.get("mon") else int(part["mo"])
        day, year = int(part["d"]), int(part.get("y") or self.year)
        if not (1 <= month <= 12 and 1 <= day <= 31):
            return None
        fraction = float(f"0.{part['f']}") if part.get("f") else 0.0
        return timegm((year, month, day, int(part["h"]), int(part["mi"]), int(part["s"]), 0, 0, 0)) + fraction
