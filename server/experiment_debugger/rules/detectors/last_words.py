"""A log whose last words are an end: `[first] finished in 65.8 s`, `bye (0)`, `all done`.

    Test accuracy: 97.31                    Saved model to out/model.pt        mean acc over folds: 0.94
    Final test loss 0.081                   Training time 0:12:33              Best epoch: 17, val loss 0.42

In the middle of a log the same words mean one epoch, one download or one evaluation; only as the last line they speak
for the run, and results and files only where the log never spoke of them before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from experiment_debugger.evidence import FileEvidence, RunEvidence, quote_of
from experiment_debugger.models import Evidence, Finding, Position
from experiment_debugger.readers.last_report import NEARLY
from experiment_debugger.rules.base import run_detector
from experiment_debugger.rules.detectors.tracker_plan import planned_epochs, planned_steps
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
_WHOLE = re.compile(
    r"(?i)\bfinal\b[^\d\n]{0,60}(?=\d)|\bbest epoch\b"
    r"|\b(?:over|across) (?:all )?(?:\d+ )?(?:folds|seeds|runs|trials)\b"
    r"|\b(?:total|training|wall(?:[ -]?clock)?)[ _]time\b"
    r"|\btraining (?:complete in|took)\b|\btotal\b[^\d\n]{0,20} elapsed\b"
)
"""What only the whole of a run has."""
_KEPT = r"(?:model|encoder|weights|network|policy|adapter|embeddings|results|metrics|predictions)"
_RESULT = re.compile(
    r"(?i)\btest(?:ing)?(?:[ _-]?set)?\b[ _:-]{0,3}(?:results?\W{0,3})?"
    r"(?:loss|acc(?:uracy)?|error|f1|auc|mae|rmse|mse|ppl|perplexity|score|metrics?)\b|\btest_(?:loss|acc\w*|f1|auc)\b"
    r"|\bbest (?:val\w*|test|dev|acc\w*|score|loss|metric|result)\b"
    r"|\baccuracy of the network on the (?:\d+ )?test"
    rf"|\b(?:saved|wrote|exported)\b[^\n]{{0,30}}?\b{_KEPT}\b"
    rf"|\b{_KEPT}\b[^\n]{{0,20}}? (?:saved|written|exported)\b"
)
"""What a run has at its end, or at every evaluation."""
_AGAIN = re.compile(
    r"(?i)\b(?:checkpoint\w*|ckpt\w*|step|iter\w*|so far|new|improv\w*|current|every|at epoch)\b|[_-]\d+\.\w+\b"
)
"""A result or file that is due again."""
_STOPPED = re.compile(
    r"(?i)\b(?:fail\w*|exception\w*|abort\w*|kill\w*|crash\w*|traceback|interrupt\w*|terminat\w*|sig[a-z]{3,4}|signal"
    r"|cancel\w*|preempt\w*|time ?out|warning|stopped)\b|Error\b"
)
"""Words behind the last report that tell of another end than the planned one."""
FEWEST_EPOCHS = 3
"""Epochs, or reports where no epochs are counted, without such a line: then it is not one of every epoch."""
FEWEST_REPORTS = 5
SHORTEST_STEM = 6
"""Characters without digits by which a line is looked for further up."""
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


@run_detector(
    id="log-last-words-result",
    title="the log ends with results of the whole run",
    mode=None,
    symptom_class="completed",
    role="ending",
    level="info",
    why="Scripts evaluate on the test set, save the model and print how long they took once, behind their loop.",
    confirm=["Check that the final checkpoint or result file of the run exists."],
    false_positives=["A first evaluation or save right before the process was killed."],
    references=[
        "https://github.com/facebookresearch/mae/blob/main/main_pretrain.py",
        "https://github.com/tkipf/pygcn/blob/master/pygcn/train.py",
        "https://pytorch.org/tutorials/beginner/transfer_learning_tutorial.html",
    ],
    verified="source",
)
def log_last_words_result(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """One finding for each training log whose last lines are said once only, behind its last report."""
    for entry in evidence.files:
        found = _result_line(entry)
        if found is None or not _has_trained(entry):
            continue
        number, text, stem = found
        if (_WHOLE.search(text) or not _is_short(entry, evidence)) and evidence.says_once(entry, stem):
            yield log_last_words_result.info.finding(
                Position(path=entry.name, line=number, time=entry.last_time, attempt=entry.artifact.attempt),
                [Evidence(path=entry.name, line=number, quote=quote_of(text))],
            )


def _result_line(entry: FileEvidence) -> tuple[int, str, str] | None:
    """(number, text, words to look for further up) of a result among the last lines behind the last report."""
    progress = entry.progress
    last = max((line for line, later in zip(progress.lines, progress.evaluation, strict=True) if not later), default=0)
    words = [(number, text) for number, text in _last_words(entry, len(entry.stats.tail)) if number >= last]
    if not last or any(_STOPPED.search(text) for _, text in words):
        return None
    for number, text in reversed(words[-LAST:]):
        found = _WHOLE.search(text) or (None if _AGAIN.search(text) else _RESULT.search(text))
        stem = re.split(r"\d", found.group(), maxsplit=1)[0] if found else ""
        if len(stem) >= SHORTEST_STEM:
            return number, text, stem
    return None


def _has_trained(entry: FileEvidence) -> bool:
    """Whether so much was reported that a line of every epoch or evaluation would have come twice."""
    loop = entry.progress.loop
    if loop.first_epoch is not None and loop.last_epoch is not None and not loop.began_again:
        return loop.last_epoch - loop.first_epoch >= FEWEST_EPOCHS - 1
    return len(entry.progress.lines) >= FEWEST_REPORTS


def _is_short(entry: FileEvidence, evidence: RunEvidence) -> bool:
    """Whether the plan, where one is known, was not met."""
    progress = entry.progress
    if progress.total_steps or progress.epochs:
        return not (progress.stands_at_total or progress.reached_plan)
    steps, epochs = planned_steps(evidence), planned_epochs(evidence)
    if epochs is not None and progress.last_epoch is not None:
        return not progress.loop.stands_at_epoch(epochs.count)
    return steps is not None and (evidence.last_step or 0) < NEARLY * steps.count


def _last_words(entry: FileEvidence, count: int = LAST) -> list[tuple[int, str]]:
    """The last lines as they stood on the screen, without debug messages."""
    words = [(number, text.rsplit("\r", 1)[-1]) for number, text in entry.stats.tail if not _DEBUG.search(text)]
    return words[-count:]


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
