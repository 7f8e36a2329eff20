"""A log whose last words are an end: `[first] finished in 65.8 s`, `bye (0)`, `all done`.

In the middle of a log the same words mean one epoch, one download or one evaluation; only as the last line they speak
for the run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from experiment_debugger.evidence import FileEvidence, RunEvidence, quote_of
from experiment_debugger.models import Evidence, Finding, Position
from experiment_debugger.rules.base import run_detector
from experiment_debugger.rules.rulebook import Rulebook

_END = re.compile(
    r"(?i)\b(?:all (?:done|good)|finished|completed?|done|succe(?:ss|eded)(?:fully)?|bye"
    r"|total (?:run|training|wall) ?time)\b"
)
_LIMIT = r"max(?:imum)?[-_ ]?(?:epochs?|steps?|iter\w*|duration)\b"
_PLAIN_END = re.compile(
    rf"(?i)\bexit(?:ing|ed)? (?:normally|cleanly)\b|\b{_LIMIT}[^.]{{0,40}}\breached\b|\breached (?:the )?{_LIMIT}"
    r"|\bexit(?:ing|ed)?(?: with)?[ _]?(?:code)?[\"' :=]+0\b|\bearly[ -]?stopping(?: triggered|, best iteration|[.!]?$)"
    r"|training[ _](?:loop )?(?:is |was |has )?(?:ended|finished|completed?|done)\b|\bdestroying process group\b"
)
"""An end that no part of a run reports, whatever else the line says."""
_PART = re.compile(
    r"(?i)\b(?:epoch|step|iter\w*|eval\w*|valid\w*|checkpoint|sav\w+|load\w*|download\w*|worker|rank|init\w*|compil\w*"
    r"|build\w*|setup|prepar\w*|cach\w*|token\w*|index\w*|warm\w*|start\w*|waiting|not|fail\w*|error|abort\w*|kill\w*|un\w+ed)\b"
)
_NO_TROUBLE = re.compile(r"(?i)\b\w*(?:fail|err)\w*\s*[:=]\s*0\b|\b(?:no|0|without) (?:fail|err)\w*")
"""Counts of nothing: `failures=0 errors=0`."""
_BAD = re.compile(r"(?i)\b(?:fail\w*|err\w*|exception\w*|abort\w*|kill\w*|crash\w*|nan)\b")
_DEBUG = re.compile(r"\bDEBUG\b|^D\d{4,8}[ -]")
"""Libraries close their connections after the program has said its last word."""
LAST = 3
"""Last lines that may say it; what follows the end must not speak of a part or a failure."""
FARTHEST = 200
"""Lines between the last report and the end: summaries, exports and tables of a final evaluation."""


@run_detector(
    id="log-last-words-end",
    title="the last line of the log says that the run is finished",
    mode=None,
    symptom_class="completed",
    role="ending",
    level="info",
    why="A script that prints an end of its own has usually reached it.",
    confirm=["Check that the final checkpoint or result file of the run exists."],
    false_positives=["A phase that ended right before the process was killed."],
    references=["https://docs.python.org/3/howto/logging.html"],
    verified="run",
)
def log_last_words_end(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """One finding for each training log that ends so."""
    for entry in evidence.files:
        if not entry.progress.lines or entry.stats.last_line - entry.progress.lines[-1] > FARTHEST:
            continue
        found = _end_line(_last_words(entry))
        if found is None:
            continue
        yield log_last_words_end.info.finding(
            Position(path=entry.name, line=found[0], time=entry.last_time, attempt=entry.artifact.attempt),
            [Evidence(path=entry.name, line=found[0], quote=quote_of(found[1]))],
        )


def _last_words(entry: FileEvidence) -> list[tuple[int, str]]:
    """The last lines as they stood on the screen, without debug messages."""
    words = [(number, text.rsplit("\r", 1)[-1]) for number, text in entry.stats.tail if not _DEBUG.search(text)]
    return words[-LAST:]


def _end_line(last: list[tuple[int, str]]) -> tuple[int, str] | None:
    """The line among the last ones that speaks for the whole run."""
    plain = next(
        (
            line
            for line in reversed(last)
            if _PLAIN_END.search(line[1]) and not _BAD.search(_NO_TROUBLE.sub("", line[1]))
        ),
        None,
    )
    if plain is not None:
        return plain
    end = next((line for line in reversed(last) if _END.search(line[1])), None)
    if end is None or any(_PART.search(_NO_TROUBLE.sub("", text)) for number, text in last if number >= end[0]):
        return None
    return end
