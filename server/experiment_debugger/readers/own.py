"""The dialect of one project: a pattern for its own progress lines, and roles for its own metric names.

# .experiment-debugger/config.yaml
log_pattern: 'it=(?P<step>\\d+)/(?P<total>\\d+) obj=(?P<obj>\\S+)'
key_roles: {obj: loss}
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from experiment_debugger.readers.dialects import Report
from experiment_debugger.readers.roles import role_of

POSITIONS = frozenset({"step", "total", "epoch"})
_WORD = re.compile(r"[A-Za-z_][A-Za-z_]+[=:]?(?![A-Za-z_=:]*[?*{])")
_GROUP = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]|\((?:\\.|[^()\\])*\)[?*+]?(?:\{[^}]*\})?")


@dataclass(frozen=True, slots=True)
class OwnDialect:
    """What `.experiment-debugger/config.yaml` says about progress lines; by default nothing."""

    pattern: re.Pattern[str] | None = None
    roles: Mapping[str, str] = field(default_factory=dict)

    @property
    def literals(self) -> tuple[bytes, ...]:
        """The longest run of characters that every line of the pattern holds, so that its lines reach the reader.

        Case-blind patterns and patterns without any such run see every line with a blank.
        """
        if self.pattern is None:
            return ()
        plain = _outside_groups(self.pattern.pattern)
        is_open = "|" in plain or bool(self.pattern.flags & (re.IGNORECASE | re.VERBOSE))
        words = [] if is_open else _WORD.findall(plain)
        return (max(words, key=len).encode() if words else b" ",)

    def role_of(self, key: str) -> str | None:
        """The role that the project gives a key, else the one that its name says."""
        return self.roles.get(key) or role_of(key)

    def read(self, text: str) -> Report | None:
        """The report in a line of the project's own shape, or None."""
        found = self.pattern.search(text) if self.pattern is not None else None
        if found is None:
            return None
        numbers = {name: number for name, text in found.groupdict().items() if (number := _number(text)) is not None}
        report = Report({name: value for name, value in numbers.items() if name not in POSITIONS}, evaluation=False)
        report.step = int(numbers["step"]) if "step" in numbers else None
        report.total = int(numbers["total"]) if "total" in numbers else None
        report.epoch = numbers.get("epoch")
        return report


def _outside_groups(pattern: str) -> str:
    """What is left of a pattern without groups, classes and escapes: the only text that every match must hold."""
    before = ""
    while before != pattern:
        before, pattern = pattern, _GROUP.sub(" ", pattern)
    return pattern


def _number(text: str | None) -> float | None:
    try:
        return float((text or "").replace(",", ""))
    except ValueError:
        return None
