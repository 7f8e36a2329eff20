"""A log whose last words are an end: `[first] finished in 65.8 s`, `bye (0)`, `all done`.

In the middle of a log the same words mean one epoch, one download or one evaluation; only as the last line they speak
for the run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from experiment_debugger.evidence import RunEvidence, quote_of
from experiment_debugger.models import Evidence, Finding, Position
from experiment_debugger.rules.base import run_detector
from experiment_debugger.rules.rulebook import Rulebook

_END = re.compile(
    r"(?i)\b(?:all done|finished|completed?|done|succe(?:ss|eded)(?:fully)?|bye|total (?:run|training|wall) ?time"
    r"|exit(?:ed)?(?: with)?(?: code)?[ :=]+0)\b"
)
_PART = re.compile(
    r"(?i)\b(?:epoch|step|iter\w*|eval\w*|valid\w*|checkpoint|sav\w+|load\w*|download\w*|worker|rank|init\w*|compil\w*"
    r"|build\w*|setup|prepar\w*|cach\w*|token\w*|index\w*|warm\w*|start\w*|waiting|not|fail\w*|error|abort\w*|kill\w*|un\w+ed)\b"
)
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
        last = [(number, text.rsplit("\r", 1)[-1]) for number, text in entry.stats.tail[-LAST:]]
        found = next(((number, text) for number, text in reversed(last) if _END.search(text)), None)
        if found is None or any(_PART.search(text) for number, text in last if number >= found[0]):
            continue
        yield Finding(
            rule="log-last-words-end",
            mode=None,
            symptom_class="completed",
            role="ending",
            level="info",
            title="the last line of the log says that the run is finished",
            position=Position(path=entry.name, line=found[0], time=entry.last_time, attempt=entry.artifact.attempt),
            evidence=(Evidence(path=entry.name, line=found[0], quote=quote_of(found[1])),),
        )
