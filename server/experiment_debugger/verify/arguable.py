"""Training settings (learning rate, batch, schedule, precision) that a fix may change: only where the cause lies there.

optimizer.lr 10 -> 0.001 with the root cause "lr was 10, a typo of 1e-3"    may be argued
optimizer.lr 10 -> 0.001 with the root cause "labels start at 1"            changes the experiment
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from experiment_debugger.case import Changed

_SUBJECTS: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...] = tuple(
    (re.compile(keys, re.IGNORECASE), re.compile(causes, re.IGNORECASE))
    for keys, causes in (
        (r"lr|learning_?rate", r"\blr\b|learning.rate|diverg|explod|schedul"),
        (r"batch|accumul|world_size|nproc|devices|gpus|nodes", r"batch|accumulat|world.size|memory|\boom\b"),
        (r"sched|warmup|epoch|steps|decay|gamma|milestone", r"schedul|warm.?up|decay|learning.rate|\bsteps|epoch"),
        (r"clip|max_norm|grad_norm", r"clip|gradient|explod|overflow|diverg"),
        (r"precision|fp16|bf16|amp|dtype|scal", r"fp16|bf16|half|precision|overflow|underflow|\bamp\b|loss.scal"),
        (r"seed|determinis", r"seed|determin|random|repro"),
        (r"optim|betas?|eps|momentum|weight_decay", r"optimi[sz]|momentum|weight.decay|\beps|adam"),
    )
)  # fmt: skip
_BATCH = re.compile(r"(?i)batch_?size|micro_batch|^batch$|^bs$")
_ACCUMULATION = re.compile(r"(?i)accum")


def concerns(change: Changed, cause: str) -> bool:
    """Whether the cause (mode, cause and root cause as text) speaks of this setting."""
    name = change.key.rpartition(".")[2]
    if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", cause, re.IGNORECASE):
        return True
    return any(keys.search(name) and causes.search(cause) for keys, causes in _SUBJECTS)


def without_same_batch(changes: Sequence[Changed]) -> list[Changed]:
    """The changes without a batch that was split: half the batch and twice the accumulation are the same batch."""
    batch = [one for one in changes if _BATCH.search(one.key.rpartition(".")[2])]
    accumulation = [one for one in changes if _ACCUMULATION.search(one.key)]
    if len(accumulation) != 1 or len({(one.before, one.after) for one in batch}) != 1:
        return list(changes)
    before, after = (_product(values) for values in zip(*map(_values, (batch[0], accumulation[0])), strict=True))
    same = before is not None and before == after
    return [one for one in changes if not (same and (one in batch or one in accumulation))]


def _values(change: Changed) -> tuple[str | None, str | None]:
    """Before and after; accumulation that is not set is 1."""
    default = "1" if _ACCUMULATION.search(change.key) else None
    return change.before or default, change.after or default


def _product(values: Iterable[str | None]) -> float | None:
    product = 1.0
    for value in values:
        try:
            product *= float(value or "")
        except ValueError:
            return None
    return product
