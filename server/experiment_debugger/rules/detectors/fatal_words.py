"""A log whose last words are a fatal error that no traceback and no signature tells.

[LightGBM] [Fatal] Machine list file doesn't contain the local machine
2024-06-11 09:00:02 CRITICAL scheduler: lost connection to the master, giving up
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from experiment_debugger.evidence import FileEvidence, RunEvidence, quote_of
from experiment_debugger.models import Evidence, Finding, Position
from experiment_debugger.rules.base import run_detector
from experiment_debugger.rules.rulebook import Rulebook

_FATAL = re.compile(r"\[(?:Fatal|FATAL|CRITICAL)\]|\b(?:FATAL|CRITICAL|PANIC)\b|^(?:fatal|panic|Fatal error):|^F\d{4} ")
TELLING = frozenset({"root", "symptom", "ending"})


@run_detector(
    id="log-last-words-fatal",
    title="the last words of the log are a fatal error",
    mode="crash",
    symptom_class="code-error",
    role="root",
    level="fatal",
    why="The program itself calls the error fatal, and nothing is logged after it.",
    confirm=["Rerun the start of the program with the same configuration and see whether the message comes again."],
    false_positives=["A library that calls a recoverable condition critical."],
    references=["https://docs.python.org/3/library/logging.html#logging-levels"],
    verified="thread",
)
def log_last_words_fatal(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """One finding for each log that ends so and has nothing better to say."""
    for entry in evidence.files:
        if entry.artifact.kind != "log" or not entry.stats.tail or _is_told(entry, book):
            continue
        found = next(((number, text) for number, text in entry.stats.tail if _FATAL.search(text)), None)
        if found is None or entry.recovered_after(found[0]):
            continue
        yield _finding(entry, *found)


def _is_told(entry: FileEvidence, book: Rulebook) -> bool:
    if any(not entry.recovered_after(block.last) for block in entry.tracebacks):
        return True
    return any(match.rule in book.signatures and book.signatures[match.rule].role in TELLING for match in entry.matches)


def _finding(entry: FileEvidence, line: int, text: str) -> Finding:
    return log_last_words_fatal.info.finding(
        Position(
            path=entry.name,
            line=line,
            step=entry.steps_before(line),
            not_before=entry.last_time,
            rank=entry.artifact.rank,
            attempt=entry.artifact.attempt,
        ),
        [Evidence(path=entry.name, line=line, quote=quote_of(text))],
    )
