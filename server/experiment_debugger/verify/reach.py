"""How far a test without a failure has come, and whether what would have shown the failure was looked at.

A run that lost its loss at step 18,400 is not proven right by 50 clean steps, and a metric that was never computed is
not proven right by a clean log.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import PurePath

from experiment_debugger.models import Hypothesis, Onset
from experiment_debugger.verify.level_memory import memory_stayed_level
from experiment_debugger.verify.plan import WHOLE_RUN, is_host_memory
from experiment_debugger.verify.trial import Trial

AT_ONCE = frozenset({"startup", "step-0"})
_STEP_IN_NAME = re.compile(r"(?:step|steps|iter|checkpoint|ckpt|global_step)[-_=]?(\d+)", re.IGNORECASE)


def passed_onset(trial: Trial) -> tuple[bool, str]:
    """Whether the test went past the place of the failure, and where it ended, in words."""
    last, stopped = furthest(trial), trial.result.get("stopped")
    end = f"at step {last}" if last is not None else "before any step"
    known = trial.plan.failure
    if known is None:
        return _preflight_end(trial, last, end)
    if known.mode in WHOLE_RUN:
        return _whole_run(trial, last, end)
    if known.onset.step is not None and known.onset.phase not in AT_ONCE:
        reached = last is not None and last >= known.onset.step + _beyond(trial, known)
        relation = "past" if reached else "not past"
        return reached, f"{end}, {relation} the onset at step {known.onset.step}"
    return _without_step(known.onset, stopped, last, end)


def _beyond(trial: Trial, known: Hypothesis) -> int:
    """Steps that must follow the onset: none where it is a value that was seen, or where nothing was left to do.

    The step of a crash is the last one that was reported before it.
    """
    planned = trial.plan.original.evidence.planned_steps if trial.plan.original else None
    ended = trial.result.get("stopped") is None and planned is not None and (known.onset.step or 0) >= planned
    return 0 if known.mode == "nan-gradient" or ended else 1


def _without_step(onset: Onset, stopped: str | None, last: int | None, end: str) -> tuple[bool, str]:
    if stopped is None:
        return True, "it ran to its normal end"
    if onset.phase in AT_ONCE and last:
        return True, f"{end}, past the start at which the run failed"
    place = "the failure's place, which the run does not tell," if onset.phase == "unknown" else f"the {onset.phase}"
    return False, f"{end}, before {place} was reached for certain; let it run to its end"


def _whole_run(trial: Trial, last: int | None, end: str) -> tuple[bool, str]:
    """These failures show in the course of a run: less than what the run showed proves nothing."""
    before = trial.plan.original.evidence.last_step if trial.plan.original else None
    if before is None:
        return trial.result.get("stopped") is None, "it ran to its normal end" if last is not None else end
    far = last is not None and last >= before
    return far, f"{end}, {'as far as' if far else 'not as far as'} the run (step {before})"


def _preflight_end(trial: Trial, last: int | None, end: str) -> tuple[bool, str]:
    if last is None:
        return False, "without a single step: nothing was tested"
    if trial.result.get("stopped") is None:
        return True, "it ran to its normal end"
    wanted = trial.plan.bounds.steps
    if wanted is not None and last >= wanted:
        return True, f"{last} steps without a failure"
    return False, f"{end}; it had not come to its end" + (f" or to {wanted} steps" if wanted else "")


def furthest(trial: Trial) -> int | None:
    """The last step, of the log where it names steps, else of the optimizer.

    Where counting began anew after a resume, it is counted on from the checkpoint.
    """
    logged = trial.examination.evidence.last_step if trial.examination else None
    step = logged if logged is not None and _log_has_steps(trial) else trial.probed.step or logged
    start = resumed_step(trial.plan.resume)
    return step + start if step is not None and start is not None and step < start else step


def resumed_step(checkpoint: str | None) -> int | None:
    """The step that the name of a checkpoint tells: `checkpoint-600`, `step_600.pt`."""
    found = [_STEP_IN_NAME.search(part) for part in reversed(PurePath(checkpoint or "").parts[-2:])]
    return next((int(match[1]) for match in found if match), None)


def _log_has_steps(trial: Trial) -> bool:
    files = trial.examination.evidence.files if trial.examination else []
    return any(step >= 0 for entry in files for step in entry.progress.steps)


def looked_at(trial: Trial) -> tuple[bool, str]:
    """Whether the check that would have shown the failure did run, in words."""
    known = trial.plan.failure
    if known is None:
        return True, "nothing failed"
    if known.mode == "repro-failure":
        return False, "a second run beside it, which alone shows a difference"
    if known.mode == "oom" and trial.probed.peak_bytes is None:
        return False, "memory of a device (none was used here)"
    if known.mode == "nan-gradient":
        return _finite_losses(trial, known)
    if trial.plan.original is not None and is_host_memory(known, trial.plan.original):
        return memory_stayed_level(trial.records)
    outcome = next((one for one in _outcomes(trial) if one[0] == known.rules[0]), None)
    if outcome is not None and outcome[1] in {"not_applicable", "error"}:
        return False, f"{known.rules[0]} could not look ({outcome[2] or outcome[1]})"
    return True, f"{known.rules[0]} looked and found nothing"


def _finite_losses(trial: Trial, known: Hypothesis) -> tuple[bool, str]:
    """A loss at or behind the onset was seen, and it was finite."""
    onset = known.onset.step or 0
    logged = max((step for step in _finite_steps(trial)), default=None)
    seen = logged if logged is not None else trial.probed.finite_until
    if seen is not None and seen >= onset:
        return True, f"the loss was finite up to step {seen}"
    if trial.probed.finite_until is not None and trial.probed.finite_until >= onset:
        return True, f"the loss was finite up to step {trial.probed.finite_until}"
    return False, f"a finite loss at step {onset} or later" + (f" (last: {seen})" if seen is not None else "")


def _finite_steps(trial: Trial) -> Iterator[int]:
    if trial.examination is None:
        return
    for entry in trial.examination.evidence.files:
        for series in entry.series:
            if series.role == "loss":
                yield from (int(s) for s, v in zip(series.steps, series.values, strict=True) if math.isfinite(v))


def _outcomes(trial: Trial) -> Iterator[tuple[str, str, str | None]]:
    if trial.examination is not None:
        yield from ((one.rule, one.status, one.reason) for one in trial.examination.outcomes)
