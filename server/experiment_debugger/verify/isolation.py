"""`--try`: the same command, seed and bounds with one change; the difference speaks for or against a hypothesis.

--try fp32        the failure is gone:    for reduced precision        still there: against it
--try half-batch  bytes = a + b * batch over the runs, and the largest batch that fits
"""

from __future__ import annotations

from experiment_debugger.command import Call
from experiment_debugger.results import Isolation, SmokeVerdict
from experiment_debugger.smoke.changes import Change
from experiment_debugger.smoke.isolations import Reading
from experiment_debugger.verify.answer import answer_of
from experiment_debugger.verify.plan import Plan
from experiment_debugger.verify.sameness import fail_alike
from experiment_debugger.verify.trial import Trial, run_trial
from experiment_debugger.verify.verdict import Judgement, judge

FAILED = frozenset({"reproduced", "different-failure"})


def isolate(plan: Plan, whole: Trial, base: Judgement, change: Change, call: Call) -> tuple[Trial, Isolation]:
    """Run the plan once more with one change, and say what the pair tells."""
    trial = run_trial(plan, call, change)
    judged = judge(trial)
    answer_of(trial, judged)
    speaks = speaks_for(base.verdict, judged.verdict, change, took_effect=took_effect(trial))
    if speaks == change.failed and judged.verdict == "different-failure" and not fail_alike(whole, trial):
        speaks = "nothing"
    return trial, Isolation(
        change=change.name,
        id=trial.records.id,
        verdict=judged.verdict,
        speaks=speaks,
        about=change.about,
        says=_says(trial, base, judged, speaks),
    )


def took_effect(trial: Trial) -> bool:
    """Whether the change was seen: made on the command line or in the environment, or told by a record of the probe."""
    if trial.change is None or not trial.change.inside:
        return trial.change is not None
    return bool(trial.probed.changed)


def speaks_for(base: SmokeVerdict, changed: SmokeVerdict, change: Change, *, took_effect: bool) -> Reading:
    """What two verdicts say together: only a failure that was there can go away."""
    if not took_effect or base not in FAILED:
        return "nothing"
    if changed == "passed":
        return change.passed
    return change.failed if changed == base else "nothing"


def _says(trial: Trial, base: Judgement, judged: Judgement, speaks: Reading) -> str:
    what = trial.change.says if trial.change else ""
    if not took_effect(trial):
        return f"{what}: it was not seen to take effect, so nothing follows"
    if base.verdict not in FAILED:
        return f"{what}: without the change it did not fail either ({base.verdict}), so nothing follows"
    outcome = {"for": "the failure is gone", "against": "it still fails", "nothing": judged.because}[speaks]
    return f"{what}: {outcome}"
