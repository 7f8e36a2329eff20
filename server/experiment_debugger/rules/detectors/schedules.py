"""Learning rates that are zero, gone too early, or never leave the warm-up.

step    0 lr 0.05        step   44 lr 0.00049    step 1200 lr 6e-57    a schedule of epochs, stepped every batch
step    0 lr 0.0         step  119 lr 7.1e-05                          a warm-up of 5000 steps in a run of 120
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from experiment_debugger.evidence import FileEvidence, RunEvidence
from experiment_debugger.models import Evidence, Finding, as_value
from experiment_debugger.readers.series import Series
from experiment_debugger.rules.base import run_detector, series_detector
from experiment_debugger.rules.curves import bins, finite
from experiment_debugger.rules.plans import (
    EPOCHS,
    LEARNING_RATE,
    WARMUP_STEPS,
    falls_after,
    planned_end,
    reached_end,
    remaining_loss,
    setting_of,
)
from experiment_debugger.rules.rulebook import Rulebook
from experiment_debugger.rules.series import series_finding

FEWEST_POINTS = 8
"""Reports of a learning rate below which nothing is said about its schedule."""
LEARNS = 0.9
"""Level of the loss at the end over that at the start, below which something is learned: then the rate is not zero."""
LONG_AT_ZERO = 0.3
"""Share of the run at the end with a rate of zero; linear and cosine decays meet zero in the last report only."""
FLOOR = 0.01
"""Share of the peak at which a rate is gone; usual floors are a tenth, or are met at the end."""
EARLY = 0.25
"""Share of the run in which no schedule that was meant for it is gone: one-cycle falls over 70 % of it."""
EARLY_STEPS = 0.05
"""The same for a rate that falls in a few big steps: a plateau needs some evaluations to be seen."""
NEARLY_PEAK, FEWEST_HELD, HALVED = 0.999, 3, 0.5
"""Share of the peak and number of reports that count as held, and the share of it that one step leaves at most."""
FEW_LEVELS = 8
"""Different values of a rate that falls in steps."""
BARELY_WARM = 0.5
"""Share of the rate that was set, below which the run that ends in its warm-up has hardly trained."""
_BASE = re.compile(r"(?i)^(?:base|initial|init|min|max)_?lr")


def _rates(evidence: RunEvidence) -> Iterator[tuple[FileEvidence, list[Series]]]:
    """Every source with the learning rates that it has enough reports of."""
    for entry in (*evidence.files, *evidence.numbers):
        rates = [series for series in entry.series if series.role == "learning-rate" and not _BASE.match(series.key)]
        if rates and max(len(series) for series in rates) >= FEWEST_POINTS:
            yield entry, rates


def _last_nonzero(series: Series) -> int:
    return next((at for at in range(len(series) - 1, -1, -1) if series.values[at] != 0.0), -1)


@run_detector(
    id="learning-rate-zero",
    title="the learning rate is exactly zero while training goes on",
    mode="silent-error",
    symptom_class="no-learning",
    role="root",
    level="error",
    needs=["series"],
    within="optimizer",
    why="An update of zero times the gradient changes nothing; loss and metrics only show the noise of the batches.",
    confirm=[
        "Print optimizer.param_groups[i]['lr'] in the loop and a checksum of the weights before and after a step."
    ],
    false_positives=["Only one group of parameters is reported, and it is frozen on purpose."],
    references=["https://docs.pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"],
    verified="run",
)
def learning_rate_zero(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """Sources in which every rate is zero, always or for a long time up to the end, and nothing is learned."""
    remaining = remaining_loss(evidence)
    for entry, rates in _rates(evidence):
        series = max(rates, key=_last_nonzero)
        start = _last_nonzero(series) + 1
        if len(series) - start < FEWEST_POINTS or _may_be_rounded(entry, series, evidence):
            continue
        if start == 0 and (remaining is None or remaining > LEARNS):
            title = f"{series.key} is 0 in all {len(series)} reports"
            yield series_finding(entry, series, 0, learning_rate_zero.info, title=title, also=(len(series) - 1,))
        elif start and len(series) - start >= LONG_AT_ZERO * len(series) and _is_over(evidence, series):
            began = _decay_from(series, evidence)
            title = f"{series.key} is 0 from report {start + 1} of {len(series)} on"
            if began is not None and began < start:
                title = f"{series.key} falls from {series.values[began - 1]:.3g}, in the end to 0 for good"
            also = (start, len(series) - 1) if began is None else (began - 1, start, len(series) - 1)
            index = start if began is None else began
            yield series_finding(entry, series, index, learning_rate_zero.info, title=title, also=also)


def _is_over(evidence: RunEvidence, series: Series) -> bool:
    """Whether the zeros are not those of a schedule that comes back: it went down once."""
    return sum(after > before for before, after in pairwise(series.values) if before == 0.0) <= 1


def _may_be_rounded(entry: FileEvidence, series: Series, evidence: RunEvidence) -> bool:
    """Whether the zeros of a text log may be small numbers: 3e-5 as %.4f is 0.0000; a config that says zero decides."""
    if entry.artifact.kind not in {"log", "notebook", "scheduler"}:
        return False
    told = setting_of(evidence, LEARNING_RATE)
    if told is not None and told[1] == 0.0:
        return False
    written = re.compile(re.escape(series.key) + r"['\"]?\s*[:=]?\s*['\"]?(0(?:\.\d+)?(?:e[-+]?\d+)?)(?![\d.])")
    shown = [found[1] for _, text in entry.stats.tail for found in written.finditer(text)]
    return not any("e" in text or len(text) in {1, 3} or len(text) > 9 for text in shown)


@series_detector(
    "learning-rate",
    id="learning-rate-decayed-early",
    title="the learning rate has fallen to nothing in the first part of the run",
    mode="silent-error",
    symptom_class="no-learning",
    role="root",
    level="warning",
    within="optimizer",
    why="The schedule is far shorter than the run: stepped every batch but meant for epochs, or in other units.",
    confirm=[
        "Count the calls of scheduler.step() in one epoch and compare with the unit of T_max, milestones or gamma."
    ],
    false_positives=["A schedule that reacts to a plateau, or a run that was prolonged at its smallest rate."],
    references=["https://docs.pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"],
    verified="run",
)
def learning_rate_decayed_early(entry: FileEvidence, series: Series, evidence: RunEvidence) -> Iterator[Finding]:
    """Rates below FLOOR of their peak from an early step up to the end."""
    if len(series) < FEWEST_POINTS or _adapts(evidence) or _BASE.match(series.key):
        return
    start, peak = _gone_from(series)
    if start is None or len(series) - start < FEWEST_POINTS or series.values[start] == 0.0 == series.values[-1]:
        return
    share = _share_of_run(series, start, evidence)
    if falls_after(evidence, start / len(series)):
        return
    if share <= (EARLY_STEPS if _falls_in_steps(series) else EARLY):
        course = f"{series.values[peak]:.3g} to below {FLOOR:.0%} of it within {share:.0%} of the run"
        title = f"{series.key} went from {course}"
        index = _first_fall(series, start, peak) or start
        also = (index - 1, start, len(series) - 1)
        yield series_finding(entry, series, index, learning_rate_decayed_early.info, title=title, also=also)


def _decay_from(series: Series, evidence: RunEvidence) -> int | None:
    """Where a rate that is gone EARLY in the run leaves what it was: its first fall, else where it is gone."""
    gone, peak = _gone_from(series)
    if gone is None or _share_of_run(series, gone, evidence) > EARLY:
        return None
    return _first_fall(series, gone, peak) or gone


def _first_fall(series: Series, gone: int, peak: int) -> int | None:
    """Where a rate that was held at its peak falls in one step; a smooth decay has no such moment."""
    values, level = series.values, series.values[peak]
    first = next((at for at in range(peak + 1, gone + 1) if values[at] < NEARLY_PEAK * level), gone)
    held = sum(value >= NEARLY_PEAK * level for value in values[peak:first])
    return first if held >= FEWEST_HELD and values[first] <= HALVED * level else None


def _gone_from(series: Series) -> tuple[int | None, int]:
    """(index from which on the rate stays below FLOOR of its peak, index of the peak)."""
    if series.values[-1] >= FLOOR * max(series.values):
        return None, 0
    known = finite(series)
    if not known:
        return None, 0
    peak = max(known, key=lambda at: series.values[at])
    start = next((at for at in reversed(known) if series.values[at] >= FLOOR * series.values[peak]), -1) + 1
    return (start if peak < start < len(series) and series.values[peak] > 0 else None), peak


def _share_of_run(series: Series, index: int, evidence: RunEvidence) -> float:
    """How much of the run had passed at a point: of the plan where it is known, else of what was reported."""
    first, last = series.steps[0], series.steps[-1]
    planned = planned_end(evidence) or 0
    if series.axis == "step" and series.steps[index] > first >= 0:
        return (series.steps[index] - first) / max(last - first, planned - first, 1)
    return index / len(series)


def _falls_in_steps(series: Series) -> bool:
    return len(set(series.values[: 50 * FEW_LEVELS])) <= FEW_LEVELS


def _adapts(evidence: RunEvidence) -> bool:
    """Whether a config names a schedule that reacts to the loss."""
    return any("plateau" in f"{setting.key} {setting.value}".lower()[:200] for setting in evidence.settings)


@series_detector(
    "learning-rate",
    id="learning-rate-warmup-unfinished",
    title="the run ended while the learning rate was still warming up",
    mode="silent-error",
    symptom_class="no-learning",
    role="root",
    level="warning",
    within="optimizer",
    why="A warm-up longer than the run: the model never saw the learning rate that was set.",
    confirm=["Compare warmup_steps with the number of optimizer steps of the run, not of batches or samples."],
    false_positives=["A learning-rate finder, or a short trial with the settings of the long run."],
    references=["https://huggingface.co/docs/transformers/main_classes/optimizer_schedules"],
    verified="run",
)
def learning_rate_warmup_unfinished(entry: FileEvidence, series: Series, evidence: RunEvidence) -> Iterator[Finding]:
    """Rates that rise from the first report to the last of a run that reached its end, far below what was set."""
    if len(series) < FEWEST_POINTS or not _rises_evenly(series) or not reached_end(evidence):
        return
    last, rate, warmup = len(series) - 1, setting_of(evidence, LEARNING_RATE), setting_of(evidence, WARMUP_STEPS)
    if rate is None or series.values[last] > BARELY_WARM * rate[1]:
        return
    index = _planned_peak(series, warmup[1]) if warmup is not None else 0
    title = f"{series.key} rises to the end, where it is {series.values[last]:.3g}; {rate[0].key} is {rate[1]:g}"
    if warmup is not None and index:
        title = f"{warmup[0].key} is {warmup[1]:g}, but {title}"
    found = series_finding(entry, series, index, learning_rate_warmup_unfinished.info, title=title, also=(0, last))
    told = [
        Evidence(path=setting.path, key=setting.key, value=as_value(value))
        for setting, value in (one for one in (rate, warmup) if one is not None)
    ]
    yield found.model_copy(update={"evidence": (*found.evidence, *told)})


def _planned_peak(series: Series, warmup: float) -> int:
    """Where the warm-up should have ended: the first report of that step; 0 where the run is no longer than it."""
    if series.axis != "step":
        return 0
    return next((at for at, step in enumerate(series.steps) if step >= warmup > 0), 0)


def _rises_evenly(series: Series) -> bool:
    """Whether a rate climbs on a straight line; a finder climbs exponentially."""
    values = series.values
    if any(after < before for before, after in pairwise(values)) or values[-1] <= values[0]:
        return False
    middle = bins(values, 5)[2]
    return len(values) - 1 > 0 and 0.3 <= (middle - values[0]) / (values[-1] - values[0]) <= 0.7


@run_detector(
    id="schedule-gone-within-first-epoch",
    title="the learning rate is gone before the first epoch has ended",
    symptom_class="observation",
    role="context",
    level="warning",
    needs=["series"],
    why="No schedule of epochs can do that unless it is stepped every batch.",
    confirm=["Steps of one epoch against the step at which the rate is gone."],
    references=["https://docs.pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"],
    verified="run",
)
def schedule_gone_within_first_epoch(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """Rates that meet FLOOR within the first of several epochs that the settings name."""
    epochs = setting_of(evidence, EPOCHS)
    for entry, series in evidence.series("learning-rate") if epochs is not None and epochs[1] >= 2 else ():
        start, _ = _gone_from(series) if len(series) >= FEWEST_POINTS else (None, 0)
        if epochs is not None and start is not None and _share_of_run(series, start, evidence) < 1 / epochs[1]:
            title = f"{series.key} is gone within the first of {epochs[1]:g} epochs"
            yield series_finding(entry, series, start, schedule_gone_within_first_epoch.info, title=title)
