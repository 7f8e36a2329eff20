"""Whether what a loss measures changes while it is trained: harder data, another weight of a term, layers that thaw.

step 290 ce 0.47 curriculum/num_classes 8          ln 8  = 2.08
step 300 ce 3.61 curriculum/num_classes 32         ln 32 = 3.47: no divergence, another task
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from experiment_debugger.evidence import FileEvidence, RunEvidence
from experiment_debugger.readers.roles import words_of
from experiment_debugger.readers.series import Series
from experiment_debugger.rules.curves import Course, thinned
from experiment_debugger.rules.series import place_in

JUMP = 0.25
"""Height of a jump between two levels, in units of what was learned before."""
CAME_DOWN = 0.3
"""Share of a jump by which the loss falls again behind it."""
JUMPS = 2
"""Jumps with a fall behind each that make stages; a run that is lost jumps once."""
_QUANTITY = re.compile(
    r"\b(?:curriculum\w*|stages?|phases?|difficulty|tasks?|domains?|dataset(?: id| index)?|num ?(?:classes|tasks|envs)"
    r"|n ?classes|seq ?len(?:gth)?|sequence length|context(?: len(?:gth)?| size)?|max ?len(?:gth)?|horizon|noise level"
    r"|resolution|(?:img|image|crop) size|mask ratio|beta|alpha|gamma|lambda\w*|anneal\w*|tau|temperature|curricul\w*"
    r"|unfrozen|trainable(?: params| layers)?|\w+ (?:weight|coef\w*))\b"
)
"""Quantities of the objective or of the data, that trackers record next to the loss."""
_PLAN = re.compile(
    r"\b(?:curricul\w*|stages|phases|continual|unfreeze\w*|freeze (?:epochs?|steps?|until)|progressive\w*"
    r"|(?:kl|beta) (?:anneal\w*|warm ?up\w*)|anneal (?:kl|beta)|(?:disc|gan|adv|adversarial) start"
    r"|domain (?:switch|shift)|task sequence)\b"
)
"""Settings that plan such a change."""


def objective_changes(evidence: RunEvidence, entry: FileEvidence, loss: Series, best: int, onset: int) -> bool:
    """Whether a quantity moves from the best point of a loss to its onset, or a setting or the log tells it."""
    plans = any(setting.value and _PLAN.search(words_of(setting.key)) for setting in evidence.settings)
    if plans or _classes_change(evidence):
        return True
    low, high = place_in(loss, best), place_in(loss, onset)
    quantities = (one for one in entry.series if one.role is None and _QUANTITY.search(words_of(one.key)))
    return any(_moves(series, low, high) for series in quantities)


def _classes_change(evidence: RunEvidence) -> bool:
    """Whether one log tells several numbers of classes: `now 32 classes`."""
    told = [{fact.value for fact in entry.facts if fact.name == "classes"} for entry in evidence.files]
    return any(len(values) > JUMPS for values in told)


def _moves(series: Series, low: int, high: int) -> bool:
    """Whether a quantity has another value at one place than at an earlier one."""
    at_low = at_high = None
    for index in thinned(series):
        place = place_in(series, index)
        at_low = series.values[index] if place <= low or at_low is None else at_low
        at_high = series.values[index] if place <= high or at_high is None else at_high
    return at_low != at_high


def comes_in_stages(course: Course, fall: float) -> bool:
    """Whether the loss jumps several times and is learned down again behind each of the jumps."""
    levels = course.levels
    jumps = [at for at, (before, after) in enumerate(pairwise(levels), 1) if after - before > JUMP * fall > 0]
    starts = [at for at in jumps if at - 1 not in jumps]
    ends = [*starts[1:], len(levels)]
    return len(starts) >= JUMPS and all(
        _is_learned_down(levels[at - 1 : end]) for at, end in zip(starts, ends, strict=True)
    )


def _is_learned_down(stage: Sequence[float]) -> bool:
    """Whether a stage, with the level before it, comes down by CAME_DOWN of its jump to its end."""
    peak = max(stage[1:])
    return peak - min(stage[stage.index(peak) :]) >= CAME_DOWN * (peak - stage[0]) and stage[-1] < peak
