"""What a user tells write-debug-report, from options to what a report remembers; secrets do not get that far.

--hypothesis "fp16 overflow | saved batch without autocast | refuted: still NaN"
--reason "experiment-unchanged=the new key only renames the output folder"
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from experiment_debugger.case import Told, Tried
from experiment_debugger.errors import DebuggerError
from experiment_debugger.redaction import redact
from experiment_debugger.results import CHECKS, CheckName

SHORTEST = 8  # characters of a reason that says something
LONGEST = 4000  # characters of one text; a report is not a log


def told_of(
    root_cause: str | None,
    fix_commit: str | None,
    why_unchanged: str | None,
    hypotheses: Sequence[str] | None,
    note: str | None,
    reasons: Sequence[str] | None,
) -> Told:
    """What was told, checked; raises `DebuggerError` with what was expected."""
    return Told(
        root_cause=_text(root_cause, "root-cause"),
        fix_commit=fix_commit,
        why_unchanged=_text(why_unchanged, "why-unchanged"),
        hypotheses=tuple(_tried(text) for text in hypotheses or ()),
        notes=tuple(text for text in [_text(note, "note")] if text),
        reasons=dict(_reasons(reasons or ())),
    )


def _text(text: str | None, name: str) -> str | None:
    if text is None or not text.strip():
        return None
    if len(text) > LONGEST:
        raise DebuggerError(
            f"expected at most {LONGEST} characters for {name}; found {len(text)}; write the rest into the report "
            "yourself, it stays there"
        )
    return redact(text.strip())


def _tried(text: str) -> Tried:
    parts = [redact(part.strip()) for part in text.split("|")]
    if not parts[0] or len(parts) > 3:
        raise DebuggerError(
            f"expected a hypothesis as 'WHAT | TEST | RESULT' (the last two may be missing); found '{text[:80]}'; "
            "write it so"
        )
    return Tried(
        hypothesis=parts[0], test=parts[1] if len(parts) > 1 else "", result=parts[2] if len(parts) > 2 else ""
    )


def _reasons(texts: Iterable[str]) -> Iterable[tuple[CheckName, str]]:
    for text in texts:
        name, _, reason = text.partition("=")
        check = next((one for one in CHECKS if one == name.strip()), None)
        if check is None or len(reason.strip()) < SHORTEST:
            raise DebuggerError(
                f"expected a reason in words as CHECK=TEXT with CHECK one of {', '.join(CHECKS)}; found "
                f"'{text[:80]}'; write it so"
            )
        yield check, _text(reason, f"reason for {check}") or ""
