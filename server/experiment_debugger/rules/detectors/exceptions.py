"""An uncaught Python exception that no signature describes better.

    Traceback (most recent call last):
      File "train.py", line 41, in <module>
        loss = step(batch)
    KeyError: 'labels'
"""

from __future__ import annotations

from collections.abc import Iterator

from experiment_debugger.evidence import FileEvidence, RunEvidence, quote_of
from experiment_debugger.models import Evidence, Finding, Position
from experiment_debugger.readers.tracebacks import Traceback
from experiment_debugger.rules.base import Rulebook, run_detector

MESSAGE_LINES = 14
"""Lines behind the exception line that may still belong to its message (CUDA hints, lists of parameters)."""
SPEAKING = frozenset({"root", "symptom", "teardown"})
QUIET = frozenset({"KeyboardInterrupt", "SystemExit", "GeneratorExit", "BrokenPipeError"})


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


def _spoken_lines(entry: FileEvidence, book: Rulebook) -> list[int]:
    return [
        match.line
        for match in entry.matches
        if match.rule in book.signatures and book.signatures[match.rule].role in SPEAKING
    ]


def _is_spoken(block: Traceback, lines: list[int]) -> bool:
    blocks = [block]
    while blocks[-1].cause is not None:
        blocks.append(blocks[-1].cause)
    return any(part.last <= line <= part.last + MESSAGE_LINES for part in blocks for line in lines)


def _finding(entry: FileEvidence, block: Traceback) -> Finding:
    root = block.root
    rank = block.rank if block.rank is not None else entry.artifact.rank
    quoted = [(root.last, root.text)]
    if block is not root:
        quoted.append((block.last, block.text))
    interrupted = root.exception in QUIET
    return Finding(
        rule="python-exception",
        mode="crash",
        symptom_class="teardown" if interrupted else "code-error",
        role="teardown" if interrupted else "root",
        level="fatal",
        title=_title(root),
        position=Position(
            path=entry.name,
            line=root.last,
            step=entry.steps_before(root.first),
            time=root.time,
            not_before=root.not_before,
            rank=rank,
            attempt=entry.artifact.attempt,
        ),
        evidence=tuple(
            Evidence(path=entry.name, line=line, step=entry.steps_before(line), quote=quote_of(_with_prefix(root, text)))
            for line, text in quoted
        ),
        values=_values(root),
        exception=root.exception,
        recovered=entry.recovered_after(block.last, rank),
    )


def _with_prefix(block: Traceback, text: str) -> str:
    return f"{block.prefix}{text}"


def _title(block: Traceback) -> str:
    frame = block.user_frame
    where = f" at {frame.file}:{frame.line} in {frame.function}" if frame else ""
    message = f": {block.message[:160]}" if block.message else ""
    return f"{block.exception}{message}{where}"


def _values(block: Traceback) -> dict[str, str]:
    frame = block.user_frame
    values = {"exception": block.exception}
    if frame:
        values["frame"] = f"{frame.file}:{frame.line}"
        values["function"] = frame.function
    return values
