"""The same quantity in two sources that do not agree, and evaluations that a config asks for and nothing shows.

    logs/run-8.log            step 100  loss 2.31        step 110  loss 2.04
    runs/run-8/events...      step 101  train/loss 2.31  step 111  2.04      one step later: another counter

Rounding in print and running means are no disagreement.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from itertools import combinations

from experiment_debugger.evidence import FileEvidence, RunEvidence
from experiment_debugger.models import Evidence, Finding, Position
from experiment_debugger.readers.roles import is_evaluation
from experiment_debugger.readers.series import Series
from experiment_debugger.rules.base import run_detector
from experiment_debugger.rules.curves import noise
from experiment_debugger.rules.plans import planned_end
from experiment_debugger.rules.rulebook import Rulebook
from experiment_debugger.rules.series import point, position_of

FEWEST_COMMON = 5
"""Steps that two sources must share before they are compared."""
MOST_COMPARED = 4000
"""Points of one series that are looked at."""
ROUNDING = 0.01
"""Relative difference that printing with three digits explains."""
AGREE, DISAGREE = 0.9, 0.5
"""Shares of common steps with equal values: above they agree, below they do not, between them nobody can tell."""
SMOOTHER = 0.6
"""Noise of one source over that of the other, below which it is a running mean."""
_COMPARED = ("loss", "eval-loss", "metric", "learning-rate")
_SPLIT = re.compile(r"(?:^|[/_. -])(?:train(?:ing)?|step|iter)(?=$|[/_. -])")
_ASKS = re.compile(
    r"(?i)^(?:eval(?:uation)?_strategy|do_eval|eval_(?:steps|interval|every)|val(?:idation)?_(?:interval|every))$"
)
_NOT_ASKED = frozenset({"no", "none", "false", "0", "0.0", ""})


@run_detector(
    id="sources-disagree",
    title="two sources record the same quantity differently",
    symptom_class="observation",
    role="context",
    level="warning",
    needs=["series"],
    why="Their steps are counted differently (from 0 or 1, micro-steps, samples), or one is of another process.",
    confirm=["Print step and value at the place where each of the two is logged."],
    false_positives=["Means over different windows."],
    references=["https://github.com/wandb/wandb/issues/9449"],
    verified="thread",
)
def sources_disagree(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """Pairs of series of one name in two sources whose values at common steps differ."""
    alike: dict[tuple[str | None, str, bool, int], list[tuple[FileEvidence, Series]]] = {}
    for entry, series in evidence.series(*_COMPARED):
        if series.axis == "step" and series.rank is None and entry.artifact.rank is None:
            name = series.role, normal(series.key), series.evaluation, entry.artifact.attempt
            alike.setdefault(name, []).append((entry, series))
    for sources in alike.values():
        for (one, first), (other, second) in combinations(sources[:4], 2):
            if one.artifact.kind != other.artifact.kind and (how := _difference(first, second)) is not None:
                at = _first_common(first, second)
                yield sources_disagree.info.finding(
                    position_of(one, first, at[0]),
                    (point(one, first, at[0]), point(other, second, at[1])),
                    title=f"{first.key} in {one.name} and {second.key} in {other.name} differ: {how}",
                )


def normal(key: str) -> str:
    """The name of a quantity whatever the source calls it: `train/loss`, `loss_step` and `loss` are one."""
    return _SPLIT.sub("", key.lower()).strip("/_. -").replace("/", "_")


def _difference(first: Series, second: Series) -> str | None:
    """How two records of one quantity differ, or None where they agree or cannot be compared."""
    one, other = _by_step(first), _by_step(second)
    common = [step for step in one if step in other]
    if (
        len(common) < FEWEST_COMMON
        or _share_equal(one, other, 0) > DISAGREE
        or _is_constant(one)
        or _is_constant(other)
    ):
        return None
    for shift in _shifts(one):
        if _share_equal(one, other, shift) >= AGREE:
            return f"the same values stand at steps {'larger' if shift > 0 else 'smaller'} by {abs(shift)}"
    calm, restless = sorted((noise(list(one.values())), noise(list(other.values()))))
    return None if calm <= SMOOTHER * restless or restless == 0 else "other values at the same steps"


def _by_step(series: Series) -> dict[int, float]:
    pairs = zip(series.steps[:MOST_COMPARED], series.values[:MOST_COMPARED], strict=True)
    return {step: value for step, value in pairs if step >= 0 and math.isfinite(value)}


def _is_constant(values: Mapping[int, float]) -> bool:
    return min(values.values()) == max(values.values())


def _shifts(one: Mapping[int, float]) -> list[int]:
    """Offsets worth trying: one step, and one logging interval."""
    steps = sorted(one)
    interval = steps[1] - steps[0]
    return [*dict.fromkeys((1, -1, interval, -interval))]


def _share_equal(one: Mapping[int, float], other: Mapping[int, float], shift: int) -> float:
    """The share of common steps at which both agree but for rounding, after a shift of the second."""
    pairs = [(value, other[step + shift]) for step, value in one.items() if step + shift in other]
    same = sum(abs(a - b) <= ROUNDING * max(abs(a), abs(b)) for a, b in pairs)
    return same / len(pairs) if len(pairs) >= FEWEST_COMMON else 0.0


def _first_common(first: Series, second: Series) -> tuple[int, int]:
    places = {step: at for at, step in enumerate(second.steps[:MOST_COMPARED])}
    at = next(at for at, step in enumerate(first.steps) if step >= 0 and step in places)
    return at, places[first.steps[at]]


@run_detector(
    id="evaluation-missing",
    title="the config asks for evaluations, and the run shows none",
    symptom_class="observation",
    role="context",
    level="warning",
    needs=["series"],
    within="evaluation",
    why="Without an evaluation there is no best checkpoint, no early stop and no measure of what was learned.",
    confirm=["Is the evaluation set empty, or its interval longer than the run? Are its values logged elsewhere?"],
    false_positives=["A run that ended before its first evaluation was due."],
    references=["https://huggingface.co/docs/transformers/main_classes/trainer"],
    verified="source",
)
def evaluation_missing(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """A setting that asks for evaluation in a run of which no value is of one."""
    asked = next(
        (one for one in evidence.settings if _ASKS.match(one.name) and str(one.value).lower() not in _NOT_ASKED), None
    )
    seen = any(series.evaluation or is_evaluation(series.key) for _, series in evidence.series())
    planned, last = planned_end(evidence), evidence.last_step
    if asked is None or seen or planned is None or last is None or last < planned - 1:
        return
    told = (Evidence(path=asked.path, key=asked.key, value=str(asked.value)),)
    title = f"{asked.key} is {asked.value}, and no value of an evaluation is recorded"
    yield evaluation_missing.info.finding(Position(path=asked.path), told, title=title)
