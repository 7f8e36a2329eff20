"""How far a test without a failure has come, and whether what would have shown the failure was looked at.

A run that lost its loss at step 18,400 is not proven right by 50 clean steps, and a metric that was never computed is
not proven right by a clean log.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from experiment_debugger.diagnose import Examination
from experiment_debugger.models import Hypothesis
from experiment_debugger.verify.level_memory import memory_stayed_level
from experiment_debugger.verify.plan import WHOLE_RUN, is_host_memory, report_interval
from experiment_debugger.verify.trial import Trial

AT_ONCE = frozenset({"startup", "step-0"})


def ended_by_itself(trial: Trial) -> bool:
    """Whether nobody stopped it: neither the test from outside nor the step limit inside its process."""
    return trial.result.get("stopped") is None and trial.probed.stopped_at is None


def passed_onset(trial: Trial) -> tuple[bool, str]:
    """Whether the test went past the place of the failure, and where it ended, in words."""
    last = furthest(trial)
    end = f"at step {last}" if last is not None else "before any step was seen"
    known, original = trial.plan.failure, trial.plan.original
    if known is None or original is None:
        return _preflight_end(trial, last, end)
    if known.mode in WHOLE_RUN:
        return _whole_run(trial, original, last, end)
    if known.onset.step is not None and known.onset.phase not in AT_ONCE:
        reached = last is not None and last >= known.onset.step + _beyond(trial, known, original)
        return reached, f"{end}, {'past' if reached else 'not past'} the onset at step {known.onset.step}"
    return _without_step(trial, known, original, last, end)


def _beyond(trial: Trial, known: Hypothesis, original: Examination) -> int:
    """Steps that must follow the onset: none where it is a value that was seen, or where nothing was left to do.

    The step of a crash is the last one that was reported before it: it may have come anywhere up to the next report.
    """
    planned = original.evidence.planned_steps
    at_the_end = ended_by_itself(trial) and planned is not None and (known.onset.step or 0) >= planned
    return 0 if known.mode == "nan-gradient" or at_the_end else report_interval(original)


def _without_step(
    trial: Trial, known: Hypothesis, original: Examination, last: int | None, end: str
) -> tuple[bool, str]:
    """Without a step to compare with, a normal end says something only of a program that did its work."""
    if last is None and not _did_its_work(trial, original):
        return False, f"{end}: nothing was tested"
    if ended_by_itself(trial):
        return True, "it ran to its normal end"
    if known.onset.phase in AT_ONCE and last:
        return True, f"{end}, past the start at which the run failed"
    place = f"the {known.onset.phase}" if known.onset.phase != "unknown" else "the place of the failure"
    return False, f"{end}, and nothing tells that it came to {place}; let it run to its end"


def _did_its_work(trial: Trial, original: Examination) -> bool:
    """A program that trains nothing (an evaluation, a conversion) tells by its last words that it is done."""
    healthy = trial.examination is not None and trial.examination.diagnosis.verdict == "healthy"
    return original.evidence.last_step is None and healthy


def _whole_run(trial: Trial, original: Examination, last: int | None, end: str) -> tuple[bool, str]:
    """These failures show in the course of a run: less than what the run showed proves nothing."""
    before = original.evidence.last_step
    if last is None:
        return False, f"{end}: nothing was tested"
    if before is None:
        return ended_by_itself(trial), end
    far = last >= before
    return far, f"{end}, {'as far as' if far else 'not as far as'} the run (step {before})"


def _preflight_end(trial: Trial, last: int | None, end: str) -> tuple[bool, str]:
    if last is None:
        return False, "without a single step: nothing was tested"
    if ended_by_itself(trial):
        return True, "it ran to its normal end"
    wanted = trial.plan.bounds.steps
    if wanted is not None and last >= wanted:
        return True, f"{last} steps without a failure"
    return False, f"{end}; it had not come to its end" + (f" or to {wanted} steps" if wanted else "")


def furthest(trial: Trial) -> int | None:
    """The last step in the run's own numbering: of the log where the run's log names steps, else of the optimizer.

    Steps of an optimizer are no steps of a log: one may count epochs, samples or accumulated batches.
    """
    logged = trial.examination.evidence.last_step if trial.examination and _has_steps(trial.examination) else None
    if logged is not None:
        return logged
    original = trial.plan.original
    return None if original is not None and _has_steps(original) else trial.probed.step or None


def _has_steps(examination: Examination) -> bool:
    return any(step >= 0 for entry in examination.evidence.files for step in entry.progress.steps)


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
    return _rule_is_silent(trial, known.rules[0])


def _rule_is_silent(trial: Trial, rule: str) -> tuple[bool, str]:
    """Whether the rule that told the failure of the run has looked at the test and found nothing."""
    outcomes = trial.examination.outcomes if trial.examination else ()
    outcome = next((one for one in outcomes if one.rule == rule), None)
    if outcome is None:
        return False, f"a look of {rule}"
    if outcome.status == "fired" and all(finding.recovered for finding in outcome.findings):
        return True, f"{rule} found only what was recovered"
    if outcome.status != "clear":
        return False, f"a look of {rule} that finds nothing ({outcome.reason or outcome.status})"
    return True, f"{rule} looked and found nothing"


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
