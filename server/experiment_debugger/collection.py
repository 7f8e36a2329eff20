"""Reading a run: one pass over each of its files, with every consumer at once."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path, PurePath
from typing import IO

from experiment_debugger.errors import UnreadableArtifact
from experiment_debugger.evidence import FileEvidence, RunEvidence
from experiment_debugger.project import Project
from experiment_debugger.readers.facts import FactReader
from experiment_debugger.readers.files import SNIFF_BYTES, is_text, open_artifact, sniff
from experiment_debugger.readers.lines import Scan, ScanStats
from experiment_debugger.readers.matches import MatchReader
from experiment_debugger.readers.numbers import NUMBER_KINDS, has_numbers, read_numbers
from experiment_debugger.readers.own import OwnDialect
from experiment_debugger.readers.progress import NO_DIALECT, ProgressReader
from experiment_debugger.readers.timestamps import Clock, find_year
from experiment_debugger.readers.tracebacks import TracebackReader
from experiment_debugger.run import TEXT_KINDS, Artifact, ArtifactKind, Attempt, Run
from experiment_debugger.settings import Settings

FACT_KINDS: tuple[ArtifactKind, ...] = ("config", "job", "status", "environment", "code", "gpu-log")
BINARY = frozenset({"tensorboard", "wandb"})
LARGEST_FACT_FILE = 4 << 20  # bytes; configs, job files and code beyond that are data


@dataclass
class Collector:
    """Reads files with the matcher that rules have made; `own` is the project's dialect of progress lines."""

    literals: tuple[bytes, ...]
    new_matcher: Callable[[], MatchReader]
    own: OwnDialect = NO_DIALECT

    def run(self, run: Run) -> RunEvidence:
        """Every text artifact of the run, once and completely; what cannot be read is named."""
        evidence = RunEvidence(run, [], [], self._logs.index.engine)
        year = next((year for artifact in run.texts if (year := _year(artifact))), None)
        texts = set(run.texts)
        for artifact, paths in sources_of(run):
            try:
                if artifact in texts:
                    evidence.files.append(self._text(artifact, Clock(year)))
                self._take(evidence, artifact, paths, Clock(year))
            except UnreadableArtifact as problem:
                evidence.unreadable.append(f"{artifact.name}: {str(problem).split(': ', 1)[-1]}")
        evidence.unreadable += run.unreadable
        evidence.not_looked_at += run.not_looked_at
        evidence.unreadable += [
            f"{entry.name}: {entry.stats.problem} after line {entry.stats.lines}"
            for entry in evidence.all_files()
            if entry.stats.problem
        ]
        evidence.unreadable += [
            f"{entry.name}: {lost}" for entry in evidence.numbers for lost in entry.recorded.problems
        ]
        return evidence

    def text(self, text: str) -> RunEvidence:
        """Evidence of pasted text; its path is `-`."""
        raw = text.encode("utf-8", "replace")
        artifact = Artifact(Path("-"), "-", "log", len(raw), 0.0, "pasted")
        run = Run("-", "pasted text", Project(root=Path()), (artifact,), (Attempt(0, "-", ("-",)),))
        entry = self._log(artifact, io.BytesIO(raw), Clock(find_year(raw[:SNIFF_BYTES])))
        return RunEvidence(run, [entry], [], self._logs.index.engine, pasted=raw)

    @cached_property
    def _logs(self) -> Scan:
        progress = (*ProgressReader.literals, *self.own.literals)
        return Scan([self.literals, TracebackReader.literals, progress, FactReader.literals])

    @cached_property
    def _facts(self) -> Scan:
        return Scan([self.literals, FactReader.literals])

    def _take(self, evidence: RunEvidence, artifact: Artifact, paths: Sequence[Path], clock: Clock) -> None:
        numeric = artifact.kind in NUMBER_KINDS and has_numbers(artifact.path, artifact.kind)
        if numeric:
            evidence.numbers.append(self._numbers(artifact, paths))
        if artifact.kind in FACT_KINDS and artifact.size <= LARGEST_FACT_FILE:
            evidence.facts.append(self._fact_file(artifact, clock))
        elif not numeric and artifact.kind not in {"other", *TEXT_KINDS}:
            evidence.not_looked_at.append(artifact.name)

    def _text(self, artifact: Artifact, clock: Clock) -> FileEvidence:
        _require_text(artifact)
        with open_artifact(artifact.path) as stream:
            return self._log(artifact, stream, clock)

    def _log(self, artifact: Artifact, stream: IO[bytes], clock: Clock) -> FileEvidence:
        matcher, tracebacks, facts = self.new_matcher(), TracebackReader(), FactReader()
        progress = ProgressReader(self.own)
        stats = self._logs.run_stream(stream, [matcher, tracebacks, progress, facts], clock)
        last_time = clock.last
        for _, text in stats.tail:
            last_time = clock.read(text) or last_time
        return FileEvidence(
            artifact, stats, matcher.matches, matcher.counts, tracebacks.blocks, progress, last_time, facts.facts
        )

    def _numbers(self, artifact: Artifact, paths: Sequence[Path]) -> FileEvidence:
        recorded = read_numbers(paths, artifact.kind)
        recorded.give_roles(self.own.roles)
        stats = ScanStats(0 if artifact.kind in BINARY else recorded.records, recorded.bytes, ())
        return FileEvidence(artifact, stats, [], {}, recorded=recorded)

    def _fact_file(self, artifact: Artifact, clock: Clock) -> FileEvidence:
        matcher, facts = self.new_matcher(), FactReader()
        stats = self._facts.run(artifact.path, [matcher, facts], clock)
        return FileEvidence(artifact, stats, matcher.matches, matcher.counts, facts=facts.facts)


def sources_of(run: Run) -> Iterator[tuple[Artifact, tuple[Path, ...]]]:
    """The artifacts of a run, each with its files: the event files of one folder and attempt are one source."""
    folders: dict[tuple[Path, int], list[Artifact]] = {}
    for artifact in run.artifacts:
        if artifact.kind == "tensorboard":
            folders.setdefault((artifact.path.parent, artifact.attempt), []).append(artifact)
    for artifact in run.artifacts:
        if artifact.kind != "tensorboard":
            yield artifact, (artifact.path,)
            continue
        files = folders.pop((artifact.path.parent, artifact.attempt), None)
        if files:
            folder = str(PurePath(artifact.name).parent) if len(files) > 1 else artifact.name
            size, newest = sum(file.size for file in files), max(file.mtime for file in files)
            yield replace(artifact, name=folder, size=size, mtime=newest), tuple(file.path for file in files)


def dialect_of(settings: Settings) -> OwnDialect:
    """The project's own progress pattern and key roles."""
    pattern = re.compile(settings.log_pattern) if settings.log_pattern else None
    return OwnDialect(pattern, settings.key_roles)


def _year(artifact: Artifact) -> int | None:
    try:
        return find_year(sniff(artifact.path))
    except (UnreadableArtifact, OSError, EOFError):
        return None


def _require_text(artifact: Artifact) -> None:
    try:
        head = sniff(artifact.path)
    except (OSError, EOFError) as problem:
        raise UnreadableArtifact(f"{artifact.name}: {problem}") from None
    if not is_text(head):
        raise UnreadableArtifact(f"{artifact.name}: expected a text log, found binary data")
