"""The unit that the name of a metric tells: what has different units does not share a panel.

system.proc.memory.rssMB -> MB    memory_percent -> %    tokens_per_second -> tokens/s    iter_ms -> ms    loss -> ""
"""

from __future__ import annotations

import re

_UNITS = (
    ("%", re.compile(r"percent(?:age)?|(?:^|[_./ ])pct(?:$|[_./ ])|%", re.IGNORECASE)),
    ("bytes", re.compile(r"bytes$", re.IGNORECASE)),
    ("TB", re.compile(r"[_./ a-z]Ti?B$|[_./ ]ti?b$")),
    ("GB", re.compile(r"[_./ a-z]Gi?B$|[_./ ]gi?b$")),
    ("MB", re.compile(r"[_./ a-z]Mi?B$|[_./ ]mi?b$")),
    ("KB", re.compile(r"[_./ a-z]Ki?B$|[_./ ]ki?b$")),
    ("ms", re.compile(r"[_./ ]ms$|milliseconds?$", re.IGNORECASE)),
    ("s", re.compile(r"(?:^|[_./ ])(?:s|secs?|seconds?)$", re.IGNORECASE)),
)
_RATE = re.compile(r"(\w+?)s?(?:/|_?per_?)(?:sec|seconds?|s)(?:/\w+)?$", re.IGNORECASE)


def unit_of(key: str) -> str:
    """The unit, or nothing where the name does not tell it."""
    rate = _RATE.search(key)
    if rate is not None:
        return f"{rate.group(1).rpartition('_')[2].lower()}s/s"
    return next((unit for unit, pattern in _UNITS if pattern.search(key)), "")
