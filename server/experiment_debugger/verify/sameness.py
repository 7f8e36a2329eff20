"""Whether a smoke test failed of the same thing as the run: mode and cause; where a cause is open, the same sign."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePath

from experiment_debugger.diagnose import Examination
from experiment_debugger.diagnose.onset import traceback_of
from experiment_debugger.models import Hypothesis
from experiment_debugger.verify.plan import is_host_memory
from experiment_debugger.verify.trial import Trial

SILENT = frozenset({"no-progress", "rank-stalled", "collective-timeout"})
"""Symptom classes of a run that hung: a test that falls silent at the same place has reproduced it."""
NAMED = frozenset({"FileNotFoundError", "ModuleNotFoundError", "ImportError", "KeyError", "PermissionError"})
"""Exceptions that say the same of different things: what they name must be the same, too."""
_QUOTED = re.compile(r"['\"`]([^'\"`\n]{1,200})['\"`]")


_CHANGING = re.compile(r"0x[0-9a-f]+|[-+]?\d[\d.,e+-]*|/\S+")
"""What differs between two messages of one failure: addresses, numbers and paths."""


@dataclass(frozen=True, slots=True)
class Sign:
    """How a failure shows: symptom class, exception, where in the user's code it was raised, and its words."""

    symptom_class: str | None
    exception: str | None = None
    place: tuple[str, str] | None = None
    names: frozenset[str] = frozenset()
    message: str = ""


def same_failure(trial: Trial, failure: Hypothesis | None) -> bool:
    """Whether the test shows the failure of the run."""
    known, original = trial.plan.failure, trial.plan.original
    if known is None or original is None or trial.examination is None:
        return False
    sign = sign_of(known, original)
    if sign.symptom_class in SILENT and _fell_silent_at(trial, known):
        return True
    if is_host_memory(known, original) and trial.result.get("stopped") == "memory":
        return True
    return failure is not None and alike(known, original, failure, trial.examination)


def alike(known: Hypothesis, original: Examination, failure: Hypothesis, test: Examination) -> bool:
    """Whether two diagnosed failures are the same."""
    a, b = sign_of(known, original), sign_of(failure, test)
    if failure.mode != known.mode or not _same_names(a, b):
        return False
    if known.cause is not None and failure.cause is not None:
        return known.cause == failure.cause
    if a.exception is not None and b.exception is not None:
        return (a.exception, a.place, a.message) == (b.exception, b.place, b.message)
    same_rule = failure.rules[0] in known.rules
    return same_rule or (a.symptom_class is not None and a.symptom_class == b.symptom_class)


def fail_alike(one: Trial, other: Trial) -> bool:
    """Whether two tests have failed of the same thing."""
    a, b = one.examination, other.examination
    if a is None or b is None or not a.diagnosis.modes or not b.diagnosis.modes:
        return False
    return alike(a.diagnosis.modes[0], a, b.diagnosis.modes[0], b)


def _fell_silent_at(trial: Trial, known: Hypothesis) -> bool:
    """Whether the test fell silent, not before the place at which the run did."""
    if trial.result.get("stopped") != "timeout" or not trial.stalled:
        return False
    last = trial.examination.evidence.last_step if trial.examination else None
    return known.onset.step is None or (last is not None and last >= known.onset.step)


def _same_names(a: Sign, b: Sign) -> bool:
    return (
        a.exception not in NAMED or a.exception != b.exception or not (a.names and b.names) or bool(a.names & b.names)
    )


def sign_of(hypothesis: Hypothesis, examination: Examination) -> Sign:
    """The sign of a hypothesis in the files that it was read from."""
    found = next((one for one in examination.findings if one.rule == hypothesis.rules[0]), None)
    symptom_class = found.symptom_class if found else None
    for item in hypothesis.evidence:
        block = traceback_of(item.path, item.line, examination.evidence) if item.line is not None else None
        if block is not None:
            frame = block.root.user_frame
            place = (PurePath(frame.file).name, frame.function) if frame else None
            names = frozenset(PurePath(name).name for name in _QUOTED.findall(block.root.message))
            message = _CHANGING.sub("", _QUOTED.sub("", block.root.message))
            return Sign(symptom_class, block.root.exception.rpartition(".")[2], place, names, message)
    return Sign(symptom_class)
