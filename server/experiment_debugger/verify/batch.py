"""Memory against batch size over the runs of `--try half-batch`: bytes = a + b * batch, and the largest that fits.

batch 64: 9,812 MiB, batch 32: 5,310 MiB   ->   808 MiB + 140.7 MiB a sample; 24,000 MiB hold batch 156
"""

from __future__ import annotations

from collections.abc import Sequence

from experiment_debugger.command import Call
from experiment_debugger.smoke.changes import batch_of, largest_batch
from experiment_debugger.smoke.isolations import QUARTER_BATCH
from experiment_debugger.verify.plan import HALF_BATCH, Plan, reader_of
from experiment_debugger.verify.trial import Trial, run_trial


def batch_fit(plan: Plan, trials: Sequence[Trial], call: Call) -> str | None:
    """The fit as a sentence; None where half-batch was not tried or the batch size is not known.

    A run that ended for memory does not show how much it needs, so a third run with a quarter is made then.
    """
    halved = next((trial for trial in trials if trial.change and trial.change.name == HALF_BATCH), None)
    batch = batch_of(plan.command, reader_of(plan.place.root))
    if halved is None or batch is None:
        return None
    points = [(size, peak) for trial, size in ((trials[0], batch), (halved, batch // 2)) if (peak := _peak(trial))]
    if len(points) < 2 and batch >= 4 and not call.cancelled.is_set():
        quarter = run_trial(plan, call, QUARTER_BATCH)
        points += [(batch // 4, peak)] if (peak := _peak(quarter)) else []
    fit = largest_batch(points, _limit(trials, plan))
    return fit.sentence if fit else None


def _peak(trial: Trial) -> int | None:
    """Peak bytes: of the device where one was used, else of all processes; None when memory ended the run."""
    diagnosis = trial.examination.diagnosis if trial.examination else None
    ran_out = bool(diagnosis and diagnosis.modes and diagnosis.modes[0].mode == "oom")
    if ran_out or trial.result.get("stopped") == "memory" or not trial.probed.step:
        return None
    return trial.probed.peak_bytes or trial.result.get("peak_rss_bytes")


def _limit(trials: Sequence[Trial], plan: Plan) -> int:
    device = max((trial.probed.total_bytes or 0 for trial in trials), default=0)
    return device or plan.bounds.memory_bytes
