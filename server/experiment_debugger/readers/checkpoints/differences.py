"""Two checkpoints: keys that only one has, keys that only have another prefix, other shapes, and what never moved.

module.head.weight against head.weight     renamed: `module.` was added by DataParallel or DDP
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from experiment_debugger.readers.checkpoints.checkpoint import Checkpoint
from experiment_debugger.readers.checkpoints.values import values_of

_PREFIX = re.compile(
    r"^(?:module\.|_orig_mod\.|model\.|net\.|_forward_module\.|base_model\.model\.)+|(?<=\.)_orig_mod\."
)


@dataclass(frozen=True, slots=True)
class CheckpointDifference:
    """What a second checkpoint has otherwise than a first. `renamed` pairs the two names of the same tensor.

    `frozen` are floating-point tensors whose numbers are the same in both, `moved` how many are not.
    """

    missing: tuple[str, ...]
    unexpected: tuple[str, ...]
    renamed: tuple[tuple[str, str], ...]
    reshaped: tuple[tuple[str, str], ...]
    frozen: tuple[str, ...]
    moved: int


def compare_checkpoints(first: Checkpoint, second: Checkpoint) -> CheckpointDifference:
    """The difference; all numbers of both are read once, a chunk at a time."""
    ours, theirs = ({tensor.key: tensor for tensor in one.tensors} for one in (first, second))
    missing, unexpected = ({key for key in one if key not in other} for one, other in ((ours, theirs), (theirs, ours)))
    bare = {_PREFIX.sub("", key): key for key in unexpected}
    renamed = [(key, bare[_PREFIX.sub("", key)]) for key in ours if key in missing and _PREFIX.sub("", key) in bare]
    pairs = [*((key, key) for key in ours if key in theirs), *renamed]
    reshaped = [
        (key, f"{list(ours[key].shape)} {ours[key].dtype} -> {list(theirs[other].shape)} {theirs[other].dtype}")
        for key, other in pairs
        if (ours[key].shape, ours[key].dtype) != (theirs[other].shape, theirs[other].dtype)
    ]
    frozen, moved = [], 0
    for key, other in pairs:
        if "float" not in ours[key].dtype or any(key == one for one, _ in reshaped):
            continue
        values = [values_of(tensor) for tensor in (ours[key], theirs[other])]
        if None in values:
            continue
        same = values[0] == values[1]
        frozen += [key] if same else []
        moved += not same
    named = {key for pair in renamed for key in pair}
    return CheckpointDifference(
        missing=tuple(sorted(missing - named)),
        unexpected=tuple(sorted(unexpected - named)),
        renamed=tuple(renamed),
        reshaped=tuple(reshaped),
        frozen=tuple(frozen),
        moved=moved,
    )
