"""What was planned for a run, by its settings, and whether it has learned: what judges of schedules and metrics ask.

max_steps: 120   trainer.max_epochs: 10   optimizer.lr: 0.003   warmup_steps: 5000   lr_scheduler_type: cosine
"""

from __future__ import annotations

import math
import re

from experiment_debugger.evidence import RunEvidence, Setting
from experiment_debugger.readers.series import Series
from experiment_debugger.rules.curves import bins, objectives, thinned

STEPS = re.compile(
    r"^(?:max_?(?:steps|iters?|iterations|updates?)|(?:num_?)?(?:total|train(?:ing)?)_?(?:steps|iters|iterations)"
    r"|n(?:um)?_?(?:steps|iters|iterations)|steps|iterations)$",
    re.IGNORECASE,
)
EPOCHS = re.compile(r"^(?:(?:max|num|n|total)_?(?:train_?)?)?epochs$", re.IGNORECASE)
LEARNING_RATE = re.compile(r"^(?:(?:max|peak|base)_?)?(?:lr|learning_?rate)0?$", re.IGNORECASE)
WARMUP_STEPS = re.compile(r"^(?:num_?)?(?:lr_?)?warm_?up_?(?:steps|iters|iterations|updates)$", re.IGNORECASE)
_PRETRAINED = re.compile(
    r"(?i)pre_?trained|model_name_or_path|fine_?tun|^(?:init|load|start|resume)_?(?:from|checkpoint|weights)|base_model"
)
_NOTHING = frozenset({"none", "false", "0", "", "null", "no"})
_DATA = re.compile(r"(?i)data|task|problem|name$")
_TOY = re.compile(r"(?i)mnist|digits|iris|wine|blobs|moons|circles|toy|synthetic|dummy|smoke")
_PLACES = frozenset(
    {"", "train", "training", "trainer", "training_args", "args", "config", "optimizer", "optim", "opt"}
)
"""Sections that speak of the training itself; `sampler.steps` and `ema.warmup_steps` do not."""
STILL_FALLS = 0.8
"""Level of a loss at the end over that at the start, below which it clearly falls."""
FEWEST_LOSSES = 6
"""Finite reports of a loss that are needed to speak of its level at start and end."""
LEVELS = 10
"""Bins of a loss whose medians are its levels: the first and the last tenth."""
NEARLY = 0.97
"""Share of the plan at which the last report of a finished run stands: it logs every so many steps."""


def setting_of(evidence: RunEvidence, names: re.Pattern[str]) -> tuple[Setting, float] | None:
    """The first setting of this name that is a number and speaks of the training, and its value."""
    for setting in evidence.settings:
        section = setting.key.rpartition(".")[0].rpartition(".")[2]
        if names.match(setting.name) and section.lower() in _PLACES:
            number = _number(setting.value)
            if number is not None:
                return setting, number
    return None


def planned_end(evidence: RunEvidence) -> int | None:
    """The planned number of optimizer steps by log, tracker or config, unless the run went on beyond it."""
    found = setting_of(evidence, STEPS)
    planned = evidence.planned_steps or (int(found[1]) if found else None)
    last = evidence.last_step
    return None if not planned or planned < 1 or (last is not None and last > planned + 1) else planned


def reached_end(evidence: RunEvidence) -> bool:
    """Whether the last reported step stands at the planned end."""
    planned, last = planned_end(evidence), evidence.last_step
    if planned is not None and last is not None:
        return last >= NEARLY * planned - 1
    return any(entry.progress.reached_plan for entry in evidence.files)


def remaining_loss(evidence: RunEvidence, since: float = 0.0) -> float | None:
    """The level of the training loss at the end over that at the start, of the longest loss; None where none tells.

    `since` is the share of the reports to leave out at the start.
    """
    longest = max(objectives(evidence), key=lambda found: len(found[1]), default=None)
    if longest is None:
        return None
    levels = _levels_of(longest[1], since)
    return levels[-1] / levels[0] if levels else None


def level_at_end(series: Series) -> float:
    """The median of the last tenth of a loss; infinite where too little of it is known."""
    levels = _levels_of(series)
    return levels[-1] if levels else math.inf


def _levels_of(series: Series, since: float = 0.0) -> list[float]:
    """Levels of a loss from start to end, none where it has too few values or is not always positive."""
    values = [series.values[index] for index in thinned(series, int(since * len(series)))]
    levels = bins(values, LEVELS)
    return levels if len(values) >= FEWEST_LOSSES and min(levels) > 0 else []


def is_easy(evidence: RunEvidence) -> bool:
    """Whether settings say that the task may be solved in its first epoch: a pre-trained model, or a toy set."""
    return any(
        (_PRETRAINED.search(setting.name) and str(setting.value).lower() not in _NOTHING)
        or (_DATA.search(setting.key) and _TOY.search(str(setting.value)[:200]))
        for setting in evidence.settings
    )


def falls_after(evidence: RunEvidence, share: float) -> bool:
    """Whether the training loss still falls behind this share of the reports: then the model is still trained."""
    remaining = remaining_loss(evidence, share)
    return remaining is not None and remaining < STILL_FALLS


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
