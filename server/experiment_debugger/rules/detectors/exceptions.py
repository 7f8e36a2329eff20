"""An uncaught Python exception that no signature describes better.

Traceback (most recent call last):
  File "train.py", line 41, in <module>
    loss = step(batch)
KeyError: 'labels'
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from experiment_debugger.evidence import FileEvidence, RunEvidence, quote_of
from experiment_debugger.models import Evidence, Finding, Position, Role
from experiment_debugger.readers.tracebacks import Traceback
from experiment_debugger.rules.base import run_detector
from experiment_debugger.rules.rulebook import Rulebook

MESSAGE_LINES = 14
"""Lines behind the exception line that may still belong to its message (CUDA hints, lists of parameters)."""
INTERRUPTED = frozenset({"KeyboardInterrupt", "SystemExit", "GeneratorExit"})
PEER_GONE = frozenset({"ConnectionResetError", "BrokenPipeError", "ConnectionAbortedError"})
"""The other end of a pipe or socket went away: the exception of a survivor."""

_PLAIN_PATH = re.compile(r"[\w./\\:+@~-]{1,160}")
_PLAIN_NAME = re.compile(r"[\w.<>]{1,80}")


@run_detector(
    id="python-exception",
    title="an uncaught Python exception ended the process",
    mode="crash",
    symptom_class="code-error",
    role="root",
    level="fatal",
    why="The first exception of the chain is the cause; what is printed after it follows from it.",
    confirm=["Read the deepest frame of your own code above the exception line and rerun only that step."],
    false_positives=["The program catches the exception, prints its traceback and goes on."],
    references=["https://docs.python.org/3/library/traceback.html"],
    verified="source",
)
def python_exception(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """One finding for each chain of tracebacks that no signature speaks for."""
    for entry in evidence.files:
        spoken = _spoken_lines(entry, book)
        seen: dict[str, int] = {}
        for block in entry.tracebacks:
            if block.wrapped_by is not None or block.ignored or _is_spoken(block, spoken):
                continue
            key = f"{block.root.exception}:{block.root.message[:80]}:{block.rank}"
            seen[key] = seen.get(key, 0) + 1
            if seen[key] <= 3:
                yield _finding(entry, block)


def _spoken_lines(entry: FileEvidence, book: Rulebook) -> dict[Role, list[int]]:
    """Lines by the role of the signature that speaks there."""
    lines: dict[Role, list[int]] = {"root": [], "symptom": [], "teardown": []}
    for match in entry.matches:
        rule = book.signatures.get(match.rule)
        if rule is not None and rule.role in lines:
            lines[rule.role].append(match.line)
    return lines


def _is_spoken(block: Traceback, lines: dict[Role, list[int]]) -> bool:
    """Whether a root signature speaks for the chain, or any other for the very exception that began it.

    A symptom on a wrapper ("Caught KeyError in DataLoader worker process 0.") leaves the wrapped exception unspoken.
    """
    chain = [block]
    while chain[-1].cause is not None:
        chain.append(chain[-1].cause)
    if any(part.last <= line <= part.last + MESSAGE_LINES for part in chain for line in lines["root"]):
        return True
    return chain[-1].last in lines["symptom"] or chain[-1].last in lines["teardown"]


def _finding(entry: FileEvidence, block: Traceback) -> Finding:
    root = block.root
    rank = block.rank if block.rank is not None else entry.artifact.rank
    quoted = [(root.last, root.text)]
    if block is not root:
        quoted.append((block.last, block.text))
    symptom_class, role = _class_of(root.exception)
    return python_exception.info.finding(
        Position(
            path=entry.name,
            line=root.last,
            step=entry.steps_before(root.first),
            time=root.time,
            not_before=root.not_before,
            rank=rank,
            attempt=entry.artifact.attempt,
        ),
        (
            Evidence(path=entry.name, line=line, step=entry.steps_before(line), quote=quote_of(root.prefix + text))
            for line, text in quoted
        ),
        symptom_class=symptom_class,
        role=role,
        title=_title(root),
        values=_values(root),
        exception=root.exception,
        recovered=entry.recovered_after(block.last, rank),
    )


def _class_of(exception: str) -> tuple[str, Role]:
    name = exception.rsplit(".", 1)[-1]
    if name in INTERRUPTED:
        return "teardown", "teardown"
    return ("peer-lost", "symptom") if name in PEER_GONE else ("code-error", "root")


def _title(block: Traceback) -> str:
    """Exception and place, but not the message: a title stands outside the fence around untrusted text."""
    frame = block.user_frame
    if frame is None or not (_PLAIN_PATH.fullmatch(frame.file) and _PLAIN_NAME.fullmatch(frame.function)):
        return f"uncaught {block.exception}"
    return f"uncaught {block.exception} at {frame.file}:{frame.line} in {frame.function}"


def _values(block: Traceback) -> dict[str, str]:
    frame = block.user_frame
    values = {"exception": block.exception}
    if frame:
        values["frame"] = f"{frame.file}:{frame.line}"
        values["function"] = frame.function
    return values
