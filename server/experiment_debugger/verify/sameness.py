"""Whether a smoke test failed of the same thing as the run: mode and cause; where a cause is open, the same sign."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath

from experiment_debugger.diagnose import Examination
from experiment_debugger.diagnose.onset import traceback_of
from experiment_debugger.models import Hypothesis
from experiment_debugger.verify.plan import is_host_memory
from experiment_debugger.verify.trial import Trial

SILENT = frozenset({"no-progress", "rank-stalled", "collective-timeout", "scheduler-ended"})
"""Symptom classes of a run that hung: a test that falls silent, too, has reproduced it."""


@dataclass(frozen=True, slots=True)
class Sign:
    """How a failure shows: class of symptom, type of the exception, and where in the user's code it was raised."""

    symptom_class: str | None
    exception: str | None = None
    place: tuple[str, str] | None = None


def same_failure(trial: Trial, failure: Hypothesis | None) -> bool:
    """Whether the test shows the failure of the run."""
    known, original = trial.plan.failure, trial.plan.original
    if known is None or original is None or trial.examination is None:
        return False
    sign = sign_of(known, original)
    if sign.symptom_class in SILENT and trial.result.get("stopped") == "timeout" and trial.stalled:
        return True
    if is_host_memory(known, original) and trial.result.get("stopped") == "memory":
        return True
    if failure is None or failure.mode != known.mode:
        return False
    if known.cause is not None and failure.cause is not None:
        return known.cause == failure.cause
    return _alike(sign, sign_of(failure, trial.examination), same_rule=failure.rules[0] in known.rules)


def sign_of(hypothesis: Hypothesis, examination: Examination) -> Sign:
    """The sign of a hypothesis in the files that it was read from."""
    found = next((one for one in examination.findings if one.rule == hypothesis.rules[0]), None)
    symptom_class = found.symptom_class if found else None
    for item in hypothesis.evidence:
        block = traceback_of(item.path, item.line, examination.evidence) if item.line is not None else None
        if block is not None:
            frame = block.root.user_frame
            place = (PurePath(frame.file).name, frame.function) if frame else None
            return Sign(symptom_class, block.root.exception.rpartition(".")[2], place)
    return Sign(symptom_class)


def _alike(a: Sign, b: Sign, *, same_rule: bool) -> bool:
    """The same kind of symptom; where both were raised, the same exception at the same place."""
    if a.exception is not None and b.exception is not None:
        return a.exception == b.exception and a.place == b.place
    return same_rule or (a.symptom_class is not None and a.symptom_class == b.symptom_class)
