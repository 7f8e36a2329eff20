"""Everything that was read of one run: the only thing that rules look at."""

from __future__ import annotations

import io
import math
from bisect import bisect_right
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import IO, Any

from experiment_debugger.errors import UnreadableArtifact
from experiment_debugger.models import Evidence
from experiment_debugger.readers.configs import read_config
from experiment_debugger.readers.facts import Fact
from experiment_debugger.readers.files import open_artifact
from experiment_debugger.readers.last_report import times_said
from experiment_debugger.readers.lines import ScanStats, pick_lines
from experiment_debugger.readers.matches import LogMatch
from experiment_debugger.readers.progress import ProgressReader
from experiment_debugger.readers.series import Histogram, Recorded, Series, last_step
from experiment_debugger.readers.tracebacks import Traceback
from experiment_debugger.redaction import readable, redact
from experiment_debugger.run import Artifact, Run

QUOTE_LENGTH = 300
CONFIGS = frozenset({".yaml", ".yml", ".json"})
MOST_SEARCHED = 256 << 20  # bytes of a log that is searched a second time
RECOVERED_AFTER = 2  # training reports of the same rank behind an error that prove the run went on


@dataclass(slots=True)
class FileEvidence:
    """What one pass over one artifact has found."""

    artifact: Artifact
    stats: ScanStats
    matches: list[LogMatch]
    counts: dict[str, int]
    tracebacks: list[Traceback] = field(default_factory=list)
    progress: ProgressReader = field(default_factory=ProgressReader)
    last_time: float | None = None
    facts: list[Fact] = field(default_factory=list)
    recorded: Recorded = field(default_factory=Recorded)
    """What a source of numbers holds; for logs the numbers stand in `progress`."""

    @property
    def series(self) -> list[Series]:
        """All metric series of this file."""
        return [*self.progress.series.values(), *self.recorded]

    @property
    def name(self) -> str:
        """The path as users see it."""
        return self.artifact.name

    def steps_before(self, line: int) -> int | None:
        """The last known step reported at or before this line."""
        steps = self.progress.steps
        at = bisect_right(self.progress.lines, line) - 1
        while at >= 0 and steps[at] < 0:
            at -= 1
        return steps[at] if at >= 0 else None

    def training_after(self, line: int, rank: int | None = None) -> int:
        """How many training reports of this rank (any rank where unknown) stand after this line.

        A bar that is drawn once more below an exception repeats its step and is no progress.
        """
        progress, before = self.progress, self.steps_before(line)
        first = bisect_right(progress.lines, line)
        return sum(
            not progress.evaluation[i]
            and (rank is None or progress.ranks[i] in {-1, rank})
            and (before is None or progress.steps[i] != before)
            for i in range(first, len(progress.lines))
        )

    def stands_above_all_reports(self, line: int) -> bool:
        """Whether nothing was reported before this line: launchers that tee print stderr first."""
        return bool(self.progress.lines) and self.progress.lines[0] > line

    def recovered_after(self, line: int, rank: int | None = None) -> bool:
        """Whether the same rank went on training behind this line: the error was recovered."""
        return self.training_after(line, rank) >= RECOVERED_AFTER

    def times(self) -> list[float]:
        """Known times of progress reports, in order of lines."""
        return [time for time in self.progress.times if not math.isnan(time)]


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of the run by its dotted key, and the file that says so."""

    key: str
    value: Any
    path: str

    @property
    def name(self) -> str:
        """The last part of the key."""
        return self.key.rpartition(".")[2]


@dataclass
class RunEvidence:
    """All files of a run, read once, and what could not be read."""

    run: Run
    files: list[FileEvidence]
    facts: list[FileEvidence]
    engine: str
    numbers: list[FileEvidence] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    not_looked_at: list[str] = field(default_factory=list)
    pasted: bytes = b""
    """The text itself where no file holds it."""

    def all_files(self) -> Iterator[FileEvidence]:
        """Logs first, then sources of numbers, configs, job files, code and the like."""
        yield from self.files
        yield from self.numbers
        yield from self.facts

    def file(self, name: str) -> FileEvidence | None:
        """The evidence of one artifact by its shown name."""
        return next((entry for entry in self.all_files() if entry.name == name), None)

    def lines(self, name: str, numbers: Collection[int]) -> dict[int, bytes]:
        """Lines of a text artifact by their 1-based numbers, as they stand there now."""
        entry = self.file(name)
        if entry is None:
            return {}
        try:
            with self._text_of(entry) as stream:
                return pick_lines(stream, numbers)
        except (OSError, UnreadableArtifact):
            return {}

    def says_once(self, entry: FileEvidence, text: str) -> bool:
        """Whether a text stands exactly once in a log; False where the log is too long to be searched again."""
        if entry.stats.bytes > MOST_SEARCHED:
            return False
        try:
            with self._text_of(entry) as stream:
                return times_said(stream, text.encode(), most=2) == 1
        except (OSError, UnreadableArtifact):
            return False

    def _text_of(self, entry: FileEvidence) -> IO[bytes]:
        return io.BytesIO(self.pasted) if self.pasted else open_artifact(entry.artifact.path)

    def series(self, *roles: str) -> Iterator[tuple[FileEvidence, Series]]:
        """All metric series of these roles (of any role when none is given), each with the source that it stands in."""
        for entry in (*self.files, *self.numbers):
            for series in entry.series:
                if series.values and (not roles or series.role in roles):
                    yield entry, series

    @cached_property
    def settings(self) -> tuple[Setting, ...]:
        """What config files and trackers say that the run was set to, in the order of the artifacts."""
        return tuple(
            Setting(key, value, name) for name, settings, _ in self._configurations for key, value in settings.items()
        )

    @property
    def broken_configs(self) -> list[str]:
        """One line for every config that could not be parsed."""
        return [problem for _, _, problem in self._configurations if problem]

    @cached_property
    def _configurations(self) -> list[tuple[str, dict[str, Any], str | None]]:
        """(path, dotted settings, problem) of every config file and every source of numbers that carries settings."""
        found: list[tuple[str, dict[str, Any], str | None]] = []
        for entry in self.facts:
            if entry.artifact.kind == "config" and entry.artifact.path.suffix in CONFIGS:
                try:
                    found.append((entry.name, read_config(entry.artifact.path), None))
                except UnreadableArtifact as problem:
                    found.append((entry.name, {}, str(problem)))
        return found + [(entry.name, entry.recorded.settings, None) for entry in self.numbers]

    def histograms(self) -> Iterator[tuple[FileEvidence, Histogram]]:
        """All distributions that trackers recorded."""
        for entry in self.numbers:
            for histogram in entry.recorded.histograms:
                yield entry, histogram

    @property
    def planned_steps(self) -> int | None:
        """The number of optimizer steps that the run was going to make, where some log or tracker says so."""
        reported = max((entry.progress.total_steps or 0 for entry in self.files), default=0)
        written = (
            int(fact.value) for entry in self.all_files() for fact in entry.facts if fact.name == "planned_steps"
        )
        recorded = max((entry.recorded.planned_steps or 0 for entry in self.numbers), default=0)
        return reported or recorded or next(written, None)

    @property
    def last_step(self) -> int | None:
        """The largest optimizer step reported anywhere: by the logs, else by what was recorded next to them."""
        logged = max((step for entry in self.files for step in entry.progress.steps), default=-1)
        if logged >= 0:
            return logged
        return last_step([series for entry in self.numbers for series in entry.series])

    @cached_property
    def _timeline(self) -> list[tuple[float, int]]:
        points = [
            (time, step)
            for entry in self.files
            for time, step in zip(entry.progress.times, entry.progress.steps, strict=True)
            if step >= 0 and not math.isnan(time)
        ]
        return sorted(points)

    def step_at_time(self, time: float) -> int | None:
        """The last step that any log reported up to this time."""
        at = bisect_right(self._timeline, (time, 1 << 62)) - 1
        return self._timeline[at][1] if at >= 0 else None

    @property
    def trained(self) -> bool:
        """Whether any training progress was reported."""
        return any(not flag for entry in self.files for flag in entry.progress.evaluation)


def quote_of(text: str, span: tuple[int, int] | None = None) -> str:
    """At most QUOTE_LENGTH characters of a line around the match, without secrets, control and invisible characters."""
    text = text.rstrip("\r\n")
    clean = redact(text)
    if clean != text:
        # Redacted before it is cut: a cut through `API_KEY=...` would leave a tail that nothing recognises any more.
        span = _found_again(clean, text[slice(*span)]) if span else None
    return redact(readable(_cut(clean, span)))  # once more: a secret may have been broken by what was taken out


def _found_again(clean: str, matched: str) -> tuple[int, int] | None:
    """Where the matched text stands after redaction; where it holds the secret itself, its beginning."""
    for text in (matched, redact(matched), matched[:40], matched[:20]):
        at = clean.find(text)
        if at >= 0:
            return at, at + len(matched)
    return None


def _cut(text: str, span: tuple[int, int] | None) -> str:
    if len(text) <= QUOTE_LENGTH:
        return text.strip()
    start, end = span or (0, 0)
    middle = (start + min(end, start + QUOTE_LENGTH)) // 2
    low = max(0, min(middle - QUOTE_LENGTH // 2, len(text) - QUOTE_LENGTH))
    high = min(len(text), low + QUOTE_LENGTH)
    return ("…" if low else "") + text[low:high].strip() + ("…" if high < len(text) else "")


def evidence_of(entry: FileEvidence, match: LogMatch) -> Evidence:
    """The quoted line of a match."""
    return Evidence(
        path=entry.name, line=match.line, step=entry.steps_before(match.line), quote=quote_of(match.text, match.span)
    )
