"""Which term of a loss is the one that is not finite, where several are logged.

step 57 loss 8.45e+28 loss_rec 1.02 loss_kl 8.45e+28
step 58 loss inf      loss_rec 0.98 loss_kl inf         the KL term alone: an exponential, no learning rate
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from experiment_debugger.evidence import FileEvidence, RunEvidence
from experiment_debugger.models import Finding, as_value
from experiment_debugger.readers.roles import is_exponential
from experiment_debugger.readers.series import Series
from experiment_debugger.rules.base import run_detector
from experiment_debugger.rules.curves import median, thinned
from experiment_debugger.rules.rulebook import Rulebook
from experiment_debugger.rules.series import place_in, series_finding, training_losses

FEWEST_BEFORE = 4
"""Reports before the onset that say what is usual."""
CALM = 3.0
"""Growth of the other term up to the onset, over its median before, that is no growth."""
OVERFLOWS = 1e6
"""Growth of a term over its median before, that only an exponential or a power makes within a few updates."""
Term = tuple[FileEvidence, Series, int, Series]
"""Source, the term that is not finite, the index from which, and a term that stays as it was."""


@run_detector(
    id="loss-term-overflows-alone",
    title="one term of the loss grew until it was not finite, another one stayed as it was",
    mode="nan-gradient",
    symptom_class="observation",
    role="context",
    level="warning",
    needs=["series"],
    why="Updates that are too large move all terms; an exponential that overflows moves its own.",
    confirm=["Maximum of the arguments of exp and pow in this term around the onset."],
    references=["https://docs.pytorch.org/docs/stable/generated/torch.exp.html"],
    verified="run",
)
def loss_term_overflows_alone(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """Terms that had grown by OVERFLOWS before they were not finite."""
    for entry, term, bad, calm in _lone_terms(evidence):
        if _growth(term, bad) > OVERFLOWS:
            yield _found(entry, term, bad, calm, loss_term_overflows_alone.info.id, book)


@run_detector(
    id="loss-term-nonfinite-alone",
    title="one term of the loss is not finite, another one stays as it was",
    mode="nan-gradient",
    symptom_class="observation",
    role="context",
    level="warning",
    needs=["series"],
    why="The operation that made the value stands in this term: a logarithm of zero, a division, a root, an overflow.",
    confirm=["Minimum and maximum of what goes into this term for the batch of the first bad step."],
    references=["https://docs.pytorch.org/docs/stable/autograd.html#anomaly-detection"],
    verified="run",
)
def loss_term_nonfinite_alone(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """Terms that were not finite from one report to the next."""
    for entry, term, bad, calm in _lone_terms(evidence):
        if not _growth(term, bad) > OVERFLOWS:
            yield _found(entry, term, bad, calm, loss_term_nonfinite_alone.info.id, book)


def _found(entry: FileEvidence, term: Series, bad: int, calm: Series, rule: str, book: Rulebook) -> Finding:
    at = _index_at(calm, place_in(term, bad))
    title = f"{term.key} turned {as_value(term.values[bad])} while {calm.key} was {calm.values[at]:.4g}"
    also = (bad - 1,) if bad else ()
    return series_finding(entry, term, bad, book.detectors[rule].info, title=title, also=also)


def _lone_terms(evidence: RunEvidence) -> Iterator[Term]:
    """The first term of each source that is not finite, next to one that is finite and calm at that place."""
    for entry in (*evidence.files, *evidence.numbers):
        losses = [series for series in training_losses(entry) if not is_exponential(series.key)]
        onsets = [(place_in(one, bad), one, bad) for one in losses if (bad := one.nonfinite_from()) is not None]
        first = min((place for place, _, _ in onsets), default=None)
        terms = [(term, bad) for place, term, bad in onsets if place == first]
        calm = next((one for one in losses if first is not None and _is_calm(one, first)), None)
        if calm is not None and len(losses) > 2 and terms:
            term, bad = min(terms, key=lambda one: _is_whole(one[0], losses))
            yield entry, term, bad, calm


def _is_whole(series: Series, losses: list[Series]) -> bool:
    """Whether a loss is the sum, by the name that all others extend: `loss` of `loss_rec`, `loss_kl`."""
    stem = series.key.lower().replace("total", "").strip("_/. -")
    return all(stem in other.key.lower() for other in losses) or "total" in series.key.lower()


def _is_calm(series: Series, place: int) -> bool:
    """Whether a loss is finite at a place and about as large as before."""
    at = _index_at(series, place)
    bad = series.nonfinite_from()
    if at < FEWEST_BEFORE or (bad is not None and bad <= at):
        return False
    usual = median([abs(series.values[index]) for index in thinned(series, 0, at)])
    return abs(series.values[at]) <= CALM * usual


def _index_at(series: Series, place: int) -> int:
    """Index of the last point up to a place, -1 where there is none."""
    return next((index for index in range(len(series) - 1, -1, -1) if place_in(series, index) <= place), -1)


def _growth(series: Series, bad: int) -> float:
    """The last finite value over the median before."""
    usual = median([abs(series.values[index]) for index in thinned(series, 0, bad)])
    return abs(series.values[bad - 1]) / usual if bad >= FEWEST_BEFORE and usual > 0 else math.nan
