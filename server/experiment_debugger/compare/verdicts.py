"""What the differences of two runs say together, and the test that settles what they leave open.

Same seed and different results is never luck: settings, code, environment, the checkpoint, data order or sums in
another order; in that order they are looked at here, because each explains what follows it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from experiment_debugger.compare.divergence import Divergence
from experiment_debugger.models import Evidence
from experiment_debugger.results import Difference

NEUTRAL = "neutral"
MOST_NAMED = 3
Found = Mapping[str, Sequence[Difference]]


def verdict_of(found: Found, first: Divergence | None, said: Evidence | None, *, common: bool, resumed: bool) -> str:
    """What explains a difference first, and what would settle it.

    `said` is the first line from before training that the second log says otherwise, `common` whether the curves can be
    compared at all, `resumed` whether one of the runs went on from a checkpoint.
    """
    settings = [one for name in ("config", "command", "data") for one in found.get(name, ()) if one.group != NEUTRAL]
    seeds = [one for one in settings if one.key.rpartition(".")[2].lower().endswith("seed")]
    others = [one for one in settings if one not in seeds]
    where = _where(first, common=common)
    if others:
        return f"Not the same experiment: {_named(others)}. {where}"
    if found.get("code"):
        return f"The settings agree and the code differs: {_named(found['code'])}. {where}"
    if seeds:
        return f"Only the seed differs: {_named(seeds)}. {where} {SEEDS}"
    if found.get("environment"):
        named = _named(found["environment"])
        return f"Settings and code agree and the environment differs: {named}. {where} {ENVIRONMENT}"
    if found.get("checkpoint"):
        return f"They start from different checkpoints: {_named(found['checkpoint'])}. {where}"
    if first is None:
        return "No difference found." if common else f"No difference found, and {where[0].lower()}{where[1:]}"
    early = f" {said.path}:{said.line} differs before the first step; look there first." if said else ""
    cause = _open_cause(first, resumed=resumed)
    return f"Settings, code and environment agree, as far as they are known. {where}{early} {cause}"


SEEDS = "Whether the gap is more than seeds make: compare with two more seeds of the same settings."
ENVIRONMENT = "Settle it with the second run's command in the first run's environment."


def _open_cause(first: Divergence, *, resumed: bool) -> str:
    """Data order, framework, environment or resume: which one is left, and the test that tells."""
    if resumed:
        return (
            "One of them was resumed: data order, random state or optimizer state were not restored. Settle it by "
            "resuming twice from the same checkpoint and comparing the first batch and the first loss."
        )
    if first.from_start:
        return (
            "Initialisation or data order: a seed set after the model was built, or an order that comes from a set, a "
            "dict or the file system. Settle it with a checksum of the parameters before step 1 and of the first "
            "batch, in two runs."
        )
    return (
        "Workers' random state, the order of a later epoch, or sums in another order on the device. Settle it with "
        "run-smoke-test --try deterministic, then --try workers=0."
    )


def _where(first: Divergence | None, *, common: bool) -> str:
    if first is None:
        return "Their curves agree at every common step." if common else "They have no metric at a common step."
    if first.from_start:
        return f"Their curves differ from the first report on ({first.key}, step {first.step})."
    return f"Their curves agree up to step {first.equal_up_to} and part at {first.step} ({first.key})."


def _named(differences: Sequence[Difference]) -> str:
    shown = [f"{one.key} {' | '.join(map(_value, one.values))}" for one in differences]
    rest = len(shown) - MOST_NAMED
    return "; ".join(shown[:MOST_NAMED]) + (f" and {rest} more" if rest > 0 else "")


def _value(value: object) -> str:
    return "not set" if value is None else str(value)[:60]
