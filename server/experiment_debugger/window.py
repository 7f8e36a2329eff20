"""A window of a run's logs: around a line, step or time, matching a pattern, or from either end.

The file is streamed; only the window is kept, whatever the size of the log.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from experiment_debugger.collection import FACT_KINDS
from experiment_debugger.errors import DebuggerError, UnreadableArtifact
from experiment_debugger.readers.files import open_artifact
from experiment_debugger.readers.lines import Scan, read_block, to_text
from experiment_debugger.readers.progress import ProgressReader
from experiment_debugger.readers.search import Search, line_search
from experiment_debugger.readers.timestamps import Clock
from experiment_debugger.redaction import redact
from experiment_debugger.report.budget import DEFAULT_TOKENS
from experiment_debugger.run import Artifact, Run

BYTES_A_LINE = 60
"""A line of a training log, on average; the answer is cut to the budget afterwards."""
MOST_LINES = 400
LINES_AROUND = 41
"""What is shown around a place unless more than the usual budget is asked for."""
LONGEST_LINE = 1 << 16  # bytes of one line that are kept for display
_PLACE = re.compile(r"^(?:(?P<line>[0-9]{1,18})|step:(?P<step>[0-9]{1,18})|time:(?P<time>.+))$")
_CURSOR = re.compile(r"^(?P<path>.+):(?P<line>[0-9]{1,18})$")


@dataclass(frozen=True, slots=True)
class WindowLine:
    """One physical line: its 1-based number and its text (the last state of a progress bar)."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class LogWindow:
    """Lines of one file, how many it has, and the cursor behind the window (None at the end)."""

    run_id: str
    path: str
    lines: tuple[WindowLine, ...]
    center: int | None
    total: int
    note: str | None
    cursor: str | None


def read_window(
    run: Run,
    *,
    around: str | None = None,
    pattern: str | None = None,
    path: str | None = None,
    rank: int | None = None,
    head: int | None = None,
    tail: int | None = None,
    cursor: str | None = None,
    max_tokens: int = 1500,
) -> LogWindow:
    """The window that was asked for; by default the end of the main log."""
    count = max(10, min(MOST_LINES, max_tokens * 4 // BYTES_A_LINE))
    if cursor is not None:
        return _from_cursor(run, cursor, count)
    logs = _logs(run, path, rank)
    if pattern is not None:
        return _matching(run, logs, pattern, count)
    if around is not None:
        return _around(run, logs, around, count if max_tokens > DEFAULT_TOKENS else min(count, LINES_AROUND))
    log = _main(logs)
    if head is not None:
        return _slice(run, log, 1, min(head, MOST_LINES))
    return _tail(run, log, min(tail or count, MOST_LINES))


def _logs(run: Run, path: str | None, rank: int | None) -> list[Artifact]:
    readable = list(run.texts)
    if path is not None:
        every = [*readable, *run.of_kind(*FACT_KINDS, "metrics")]
        found = [artifact for artifact in every if artifact.name == path] or [
            artifact for artifact in every if artifact.name.endswith(f"/{path}")
        ]
        if not found:
            raise UnreadableArtifact(f"Expected a text file of run {run.id}, found no '{path}'. {_list(readable)}")
        return found
    if rank is not None:
        own = [artifact for artifact in readable if artifact.rank == rank]
        if not own:
            raise UnreadableArtifact(
                f"Expected a log file of rank {rank} of run {run.id}, found none; use --pattern. {_list(readable)}"
            )
        return own
    return readable or _none(run)


def _none(run: Run) -> list[Artifact]:
    raise UnreadableArtifact(
        f"Expected a log of run {run.id}, found none that is text; gather-run-context lists its files."
    )


def _list(logs: list[Artifact]) -> str:
    names = ", ".join(artifact.name for artifact in logs[:8])
    return f"Its logs: {names}{' ...' if len(logs) > 8 else ''}." if logs else "It has no text log."


def lines_of(artifact: Artifact) -> Iterator[tuple[int, bytes]]:
    """(number, bytes) of every physical line; very long lines are cut to LONGEST_LINE, damaged files end early."""
    with open_artifact(artifact.path) as stream:
        number, rest = 1, b""
        while block := read_block(stream, 1 << 20)[0]:
            *complete, rest = (rest + block).split(b"\n")
            for raw in complete:
                yield number, raw[:LONGEST_LINE]
                number += 1
            rest = rest if len(rest) <= 2 * LONGEST_LINE else rest[:LONGEST_LINE]
        if rest:
            yield number, rest[:LONGEST_LINE]


def shown(raw: bytes) -> str:
    """A line as it is displayed: the last state of a bar, without escapes and secrets."""
    states = [state for state in raw.split(b"\r") if state.strip()]
    text = to_text(states[-1]) if states else ""
    return redact(text)


def _window(
    run: Run, log: Artifact, keep: list[tuple[int, bytes]], total: int, center: int | None, note: str | None = None
) -> LogWindow:
    lines = tuple(WindowLine(number, shown(raw)) for number, raw in keep)
    last = lines[-1].number if lines else total
    cursor = f"{log.name}:{last + 1}" if last < total else None
    return LogWindow(run.id, log.name, lines, center, total, note, cursor)


def _slice(
    run: Run, log: Artifact, first: int, count: int, center: int | None = None, note: str | None = None
) -> LogWindow:
    keep: list[tuple[int, bytes]] = []
    total = 0
    for number, raw in lines_of(log):
        total = number
        if first <= number < first + count:
            keep.append((number, raw))
    return _window(run, log, keep, total, center, note)


def _tail(run: Run, log: Artifact, count: int) -> LogWindow:
    keep: deque[tuple[int, bytes]] = deque(maxlen=count)
    total = 0
    for number, raw in lines_of(log):
        total = number
        keep.append((number, raw))
    return _window(run, log, list(keep), total, total or None)


def _from_cursor(run: Run, cursor: str, count: int) -> LogWindow:
    found = _CURSOR.match(cursor)
    if not found:
        raise DebuggerError(f"Expected a cursor from an earlier answer, found '{cursor[:80]}'; ask without it.")
    log = _logs(run, found["path"], None)[0]
    return _slice(run, log, int(found["line"]), count)


def _around(run: Run, logs: list[Artifact], around: str, count: int) -> LogWindow:
    found = _PLACE.match(around.strip())
    if not found:
        raise DebuggerError(f"Expected --around LINE, step:N or time:T, found '{around[:80]}'.")
    if found["line"]:
        return _around_line(run, logs, int(found["line"]), count)
    if found["step"]:
        log, line, note = _at_step(logs, int(found["step"]))
    else:
        log, line, note = _at_time(logs, found["time"])
    return _slice(run, log, max(1, line - count // 2), count, line, note)


def _around_line(run: Run, logs: list[Artifact], line: int, count: int) -> LogWindow:
    """Around a line of the main log, or of the only other log that is long enough."""
    main = _main(logs)
    totals: dict[str, int] = {}
    for log in [main, *(other for other in logs if other is not main)]:
        window = _slice(run, log, max(1, line - count // 2), count, line)
        if line <= window.total:
            return window
        totals[log.name] = window.total
    listed = ", ".join(f"{name} has {total} lines" for name, total in list(totals.items())[:8])
    raise DebuggerError(f"Expected a line of a log of run {run.id}, found {line}; {listed}.")


def _main(logs: list[Artifact]) -> Artifact:
    return max(logs, key=lambda artifact: (artifact.attempt, artifact.size))


def _at_step(logs: list[Artifact], step: int) -> tuple[Artifact, int, str | None]:
    """The report nearest to the step, preferably the last one not behind it."""
    scan = Scan([ProgressReader.literals])
    best: tuple[int, Artifact, int, int] | None = None
    for log in logs:
        progress = ProgressReader()
        scan.run(log.path, [progress], Clock())
        for line, at in zip(progress.lines, progress.steps, strict=True):
            distance = abs(at - step) * 2 + (at > step)
            if at >= 0 and (best is None or distance < best[0]):
                best = (distance, log, line, at)
    if best is None:
        raise DebuggerError(
            f"Expected a log that reports steps, found none; use --around LINE or --pattern 'step {step}'."
        )
    note = None if best[3] == step else f"No report of step {step}; the nearest is step {best[3]}."
    return best[1], best[2], note


def _at_time(logs: list[Artifact], text: str) -> tuple[Artifact, int, str | None]:
    wanted = Clock().read(text.strip() + " ")
    if wanted is None:
        raise DebuggerError(f"Expected a time such as time:2026-01-31 12:00:00, found '{text[:60]}'.")
    for log in sorted(logs, key=lambda artifact: -artifact.size):
        clock = Clock()
        for number, raw in lines_of(log):
            stamp = clock.read(to_text(raw[:200]))
            if stamp is not None and stamp >= wanted:
                return log, number, None
    raise DebuggerError(f"Expected a line at or after {text[:60]}, found none in {len(logs)} logs.")


def _matching_state(raw: bytes, search: Search) -> bytes | None:
    """The last \r segment of a line that matches: what a progress bar has overwritten is still there."""
    states = reversed([state for state in raw.split(b"\r") if state.strip()] or [b""])
    return next((state for state in states if search(shown(state))), None)


def _matching(run: Run, logs: list[Artifact], pattern: str, count: int) -> LogWindow:
    """Lines of the first log that match; the note counts the other logs."""
    search = line_search(pattern)
    best: tuple[Artifact, list[tuple[int, bytes]], int, int] | None = None
    elsewhere: list[str] = []
    for log in sorted(logs, key=lambda artifact: -artifact.size):
        keep: list[tuple[int, bytes]] = []
        hits = total = 0
        for number, raw in lines_of(log):
            total = number
            state = _matching_state(raw, search)
            if state is not None:
                hits += 1
                if len(keep) < count:
                    keep.append((number, state))
        if hits and best is None:
            best = (log, keep, hits, total)
        elif hits:
            elsewhere.append(f"{log.name} {hits}")
    if best is None:
        log = _main(logs)
        return LogWindow(run.id, log.name, (), None, 0, f"No line matches in {len(logs)} files.", None)
    log, keep, hits, total = best
    also = f" Also in: {', '.join(elsewhere[:8])}." if elsewhere else ""
    window = _window(run, log, keep, total, None, f"{hits} lines match.{also}")
    return LogWindow(run.id, window.path, window.lines, None, hits, window.note, None)
