"""What a smoke test proves: the same engine has read its records, this compares the two diagnoses.

    reproduced          the same mode and cause
    passed              the failure is absent, its place was passed, and what would have shown it was looked at
    different-failure   it fails otherwise (without a run to compare with: it fails)
    timed-out           the wall clock ended it before its place was reached
    inconclusive        everything else, with the reason

The order of the questions matters: what the test itself caused (a missing input, a withheld variable, a write that was
blocked) is never called a failure of the code.
"""

from __future__ import annotations

from dataclasses import dataclass

from experiment_debugger.models import Hypothesis
from experiment_debugger.results import Proof, SmokeVerdict
from experiment_debugger.verify.obstacles import obstacle_of_the_machine, obstacle_of_the_test
from experiment_debugger.verify.proof import doubt_of
from experiment_debugger.verify.reach import looked_at, passed_onset
from experiment_debugger.verify.sameness import same_failure
from experiment_debugger.verify.trial import Trial

ENDED_BY_OTHERS = frozenset({"cancelled", "parent-gone", "supervisor-lost"})


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict, why, and what it may be cited for."""

    verdict: SmokeVerdict
    because: str
    proves: Proof = "nothing"


def judge(trial: Trial) -> Judgement:
    """The verdict on a test that has ended."""
    failure = _failure_of(trial)
    if trial.result.get("stopped") in ENDED_BY_OTHERS:
        return Judgement("inconclusive", f"the test was ended before it could tell: {trial.result['stopped']}")
    if (reason := obstacle_of_the_test(trial, failure)) is not None:
        return Judgement("inconclusive", reason)
    if same_failure(trial, failure):
        proves: Proof = "nothing" if trial.change or trial.touched else "the failure"
        return Judgement("reproduced", _reproduced(failure), proves)
    if (reason := obstacle_of_the_machine(trial, failure)) is not None:
        return Judgement("inconclusive", reason)
    if failure is not None:
        return Judgement("different-failure", _different(trial, failure))
    if trial.result.get("stopped") == "timeout" and trial.stalled:
        return Judgement("timed-out", f"it printed nothing and made no step for the last {trial.seen.quiet:.0f} s")
    return _without_failure(trial)


def _failure_of(trial: Trial) -> Hypothesis | None:
    diagnosis = trial.examination.diagnosis if trial.examination else None
    return diagnosis.modes[0] if diagnosis is not None and diagnosis.modes else None


def _without_failure(trial: Trial) -> Judgement:
    """No failure was found: whether that says anything depends on how far the command came and what was seen."""
    if not trial.probed.loaded or (lost := _unprobed(trial)):
        who = f"process {lost[0]}" if trial.probed.loaded else "the command"
        return Judgement("inconclusive", f"the probe was not seen to load in {who}{_why_lost(trial)}")
    if trial.result.get("left_over") and trial.probed.unfinished:
        return Judgement(
            "inconclusive", "its first process ended while others were still running: let it wait for them"
        )
    exit_code, stopped = trial.result.get("exit"), trial.result.get("stopped")
    if stopped is None and exit_code != 0:
        return _unexplained_end(trial)
    reached, where = passed_onset(trial)
    if not reached:
        if stopped == "timeout":
            return Judgement("timed-out", f"the wall clock of {trial.plan.bounds.seconds:.0f} s was over {where}")
        return Judgement("inconclusive", f"no failure, but it ended {where}")
    seen, what = looked_at(trial)
    if not seen:
        return Judgement("inconclusive", f"no failure, but what would have shown it was not there: {what}")
    doubt = doubt_of(trial)
    because = f"{where}; {what}" if doubt is None else f"{where}; {what}. It proves no fix: {doubt}"
    return Judgement("passed", because, "nothing" if doubt else "the fix")


def _unexplained_end(trial: Trial) -> Judgement:
    end = trial.result.get("signal") or f"status {trial.result.get('exit')}"
    if trial.plan.failure is None:
        return Judgement("different-failure", f"it ended with {end}, and no rule knows why: read console.log")
    return Judgement("inconclusive", f"it ended with {end}, and no rule knows why: read console.log")


def _unprobed(trial: Trial) -> list[int]:
    """Python processes of the test that have not shaken hands."""
    known = set(trial.probed.loaded)
    processes = trial.result.get("python_processes", ())
    return [row["pid"] for row in processes if row["pid"] not in known]


def _why_lost(trial: Trial) -> str:
    if not trial.result.get("python_processes") and not trial.probed.loaded:
        return " (no Python process was seen)"
    return " (python -I or -E, or a PYTHONPATH set over it): what it did is not known"


def _reproduced(failure: Hypothesis | None) -> str:
    cause = f"{failure.mode}, {failure.cause or 'cause open'}" if failure else "the same silence"
    step = f" at step {failure.onset.step}" if failure and failure.onset.step is not None else ""
    return f"{cause}{step}, as in the run"


def _different(trial: Trial, failure: Hypothesis) -> str:
    found = f"{failure.mode}, {failure.cause or 'cause open'}: {failure.summary}"
    known = trial.plan.failure
    return found if known is None else f"{found} (the run: {known.mode}, {known.cause or 'cause open'})"
