"""What a rule saw in a line of a log; the matcher itself lives with the rules."""

from __future__ import annotations

from dataclasses import dataclass, field

from experiment_debugger.readers.lines import Consumer


@dataclass(slots=True)
class LogMatch:
    """One line that one rule recognised. `text` is the \\r segment around the match, `groups` the named values."""

    rule: str
    line: int
    text: str
    span: tuple[int, int]
    rank: int | None
    time: float | None
    not_before: float | None
    groups: dict[str, str] = field(default_factory=dict)


class MatchReader(Consumer):
    """A consumer that collects matches: the first ones, the last one, and how many there were."""

    def __init__(self) -> None:
        self.matches: list[LogMatch] = []
        self.counts: dict[str, int] = {}
