"""What a resume lost: weights, the schedule, the position in the data.

step 179 loss 0.21 | step 180 loss 2.41        strict=False hides that no key of the checkpoint fits
step 299 lr 0.0036 | step 300 lr 0.0 ... 0.01  the schedule begins anew
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from experiment_debugger.evidence import RunEvidence
from experiment_debugger.models import Finding
from experiment_debugger.readers.roles import is_exponential, is_part
from experiment_debugger.rules.base import RuleInfo, run_detector
from experiment_debugger.rules.curves import finite, median, noise
from experiment_debugger.rules.rulebook import Rulebook
from experiment_debugger.rules.seams import Seam, seams
from experiment_debugger.rules.series import point, series_finding

FEWEST_BEFORE, FEWEST_AFTER = 8, 3
"""Points on both sides of a resume that are needed to know a level."""
RECENT = 20
"""Points right before a resume that give its level; the noise is that of five times as many."""
FIRST = 5
"""Points right behind a resume: the optimizer's lost moments need longer to be made good."""
NOISES = 6.0
"""Standard deviations between two points that a jump must exceed."""
LOST = 0.5
"""Share of what had been learned that the jump takes back; a lost optimizer state or a warm-up takes less."""
LOST_ALL = 0.8
LEAST_LEARNED = 0.1
"""Fall of the loss before the resume, relative to its start, without which a jump means nothing."""
REPEATED = 0.9
"""Level of the loss behind a resume over that before, of samples that were seen already."""
RAISED = 1.2
"""Growth over the rate that the schedule had reached, which no warm-up back to it needs."""
DECAYED = 0.9
"""Share of its peak to which a rate must have come down before it can be said to restart."""


@run_detector(
    id="resume-loss-jump",
    title="the training loss jumped back up where the run was resumed",
    mode="repro-failure",
    symptom_class="checkpoint-invalid",
    role="root",
    level="warning",
    needs=["series"],
    within="checkpoint",
    why="A resume continues at the loss it left: a jump back means that weights or optimizer state were not restored.",
    confirm=["Evaluate the checkpoint right after loading, and print missing and unexpected keys of load_state_dict."],
    false_positives=["Another data set or loss from there on, by intention."],
    references=["https://docs.pytorch.org/tutorials/beginner/saving_loading_models.html"],
    verified="run",
)
def resume_loss_jump(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """Losses that stand behind a resume at least half-way back at the level of the start."""
    for seam in _losses(evidence, book):
        start, before, after, wobble = _levels(seam)
        learned = start - before
        if learned < max(NOISES * wobble, LEAST_LEARNED * abs(start)) or after - before < NOISES * wobble:
            continue
        share = (after - before) / learned
        if share >= LOST:
            level = "error" if share >= LOST_ALL else "warning"
            title = "{key} is {after} behind {sign}, after {before}; at its start it was {start}"
            yield _at_seam(seam, resume_loss_jump.info, title, level=level)


@run_detector(
    id="resume-data-repeat",
    title="the training loss dropped at once where the run was resumed",
    symptom_class="observation",
    role="context",
    level="warning",
    needs=["series"],
    within="data",
    why="Samples that were trained on already look easier: the resumed part may begin its data anew.",
    confirm=["Compare sample ids of the first batches behind the resume with those of the same epoch before."],
    false_positives=["A schedule that lowers the learning rate there."],
    references=["https://docs.pytorch.org/data/main/torchdata.stateful_dataloader.html"],
    verified="thread",
)
def resume_data_repeat(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """Losses that are lower behind a resume than noise and trend explain."""
    for seam in _losses(evidence, book):
        _, before, after, wobble = _levels(seam)
        if after < before - NOISES * wobble and 0 < after < REPEATED * before:
            yield _at_seam(seam, resume_data_repeat.info, "{key} is {after} behind {sign}, after {before}")


def _at_seam(seam: Seam, info: RuleInfo, title: str, **facts: Any) -> Finding:
    """A finding at the first value of the second try, next to the last and the first one of the try before."""
    old, new = seam.before, seam.after
    known = finite(old.series, old.start, old.end)
    first = finite(new.series, new.start, new.end)[0]
    places = ((new, first), (old, known[-1]), (old, known[0]))
    after, before, start = (f"{stretch.series.values[index]:.4g}" for stretch, index in places)
    told = title.format(key=new.series.key, sign=seam.sign, after=after, before=before, start=start)
    found = series_finding(new.entry, new.series, first, info, title=told, **facts)
    others = (point(stretch.entry, stretch.series, index) for stretch, index in places[1:])
    return found.model_copy(update={"evidence": (*found.evidence, *others)})


def _losses(evidence: RunEvidence, book: Rulebook) -> Iterator[Seam]:
    """Seams of training losses that go on and have points enough on both sides."""
    for seam in seams(evidence, book, "loss"):
        series = seam.after.series
        if series.evaluation or is_part(series.key) or is_exponential(series.key) or seam.from_scratch:
            continue
        known = seam.known_before()
        if known.end - known.start >= FEWEST_BEFORE and seam.after.end - seam.after.start >= FEWEST_AFTER:
            yield Seam(known, seam.after, seam.sign)


def _levels(seam: Seam) -> tuple[float, float, float, float]:
    """(level at the start, right before and right behind the seam, noise)."""
    series, low, high = seam.before.series, seam.before.start, seam.before.end
    start = median(_finite(series.values[low : low + FIRST]))
    before = _finite(series.values[max(low, high - RECENT) : high])
    wobble = noise(_finite(series.values[max(low, high - 5 * RECENT) : high]))
    after = _finite(seam.after.series.values[seam.after.start : min(seam.after.end, seam.after.start + FIRST)])
    return start, median(before), median(after), wobble


@run_detector(
    id="learning-rate-restarted",
    title="the learning rate jumped back up where the run was resumed",
    mode="silent-error",
    symptom_class="checkpoint-invalid",
    role="root",
    level="warning",
    needs=["series"],
    within="checkpoint",
    why="The state of the schedule was not saved or not loaded, so it starts from its beginning.",
    confirm=["Look for the scheduler in the checkpoint's keys, and print scheduler.last_epoch after loading."],
    false_positives=["A schedule that was changed on purpose for the rest of the run."],
    references=["https://docs.pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"],
    verified="run",
)
def learning_rate_restarted(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """Rates that had decayed before a resume and exceed that level behind it."""
    for seam in seams(evidence, book, "learning-rate"):
        before, after = seam.known_before().values(), seam.after.values()
        if seam.from_scratch or len(before) < FEWEST_BEFORE or len(after) < FEWEST_AFTER or _comes_back(before):
            continue
        reached, peak, key = before[-1], max(after), seam.after.series.key
        if 0 <= reached < DECAYED * max(before) and peak > RAISED * reached and _restarts(after, reached):
            yield series_finding(
                seam.after.entry,
                seam.after.series,
                seam.after.start,
                learning_rate_restarted.info,
                title=f"{key} goes up to {peak:.3g} behind {seam.sign}, having come down to {reached:.3g}",
                also=(seam.after.start + max(range(len(after)), key=after.__getitem__),),
            )


def _finite(values: Sequence[float]) -> list[float]:
    return [value for value in values if math.isfinite(value)]


def _restarts(after: Sequence[float], reached: float) -> bool:
    """Whether the rate is above the level before at once, or warms up again from next to nothing."""
    return after[0] > RAISED * reached or after[0] < reached / RAISED


def _comes_back(before: Sequence[float]) -> bool:
    """Whether a schedule goes up again by itself once it came down: cycles and warm restarts."""
    peak = max(range(len(before)), key=before.__getitem__)
    lowest = before[peak]
    for value in before[peak:]:
        if value > RAISED * lowest:
            return True
        lowest = min(lowest, value)
    return False
