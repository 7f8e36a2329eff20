"""Changes to how batches are loaded: their size, and the number of worker processes."""

from __future__ import annotations

import functools
import inspect
from typing import Any, Callable

from .change import Change

_NEEDS_WORKERS = ("prefetch_factor", "persistent_workers", "multiprocessing_context", "timeout")
"""Arguments that a DataLoader without workers refuses."""


def scale_batches(change: Change, torch: Any) -> None:
    """Of every DataLoader and BatchSampler, rounded down, never below 1."""

    def scale(arguments: dict[str, Any]) -> None:
        size = arguments.get("batch_size")
        if isinstance(size, int) and not isinstance(size, ScaledSize):
            arguments["batch_size"] = scaled = ScaledSize(max(1, int(size * change.wanted)))
            if scaled != size:
                change.took_effect(f"batch size {size} -> {scaled}", before=size, after=int(scaled))

    _adjust_arguments(torch.utils.data.DataLoader, change.agent.safely(scale))
    _adjust_arguments(torch.utils.data.BatchSampler, change.agent.safely(scale))


def set_workers(change: Change, torch: Any) -> None:
    """Of every DataLoader; with none, its data is loaded in the training process itself."""

    def set_number(arguments: dict[str, Any]) -> None:
        before, after = arguments.get("num_workers", 0), int(change.wanted)
        arguments["num_workers"] = after
        if after == 0:
            for name in _NEEDS_WORKERS:
                arguments.pop(name, None)
        if before != after:
            change.took_effect(f"DataLoader workers {before} -> {after}", before=before, after=after)

    _adjust_arguments(torch.utils.data.DataLoader, change.agent.safely(set_number))


class ScaledSize(int):
    """A size that was scaled: frameworks make loaders anew with the size of an old one, which must not shrink twice."""

    def __reduce__(self) -> tuple[type[int], tuple[int]]:
        return int, (int(self),)


def _adjust_arguments(kind: Any, adjust: Callable[[dict[str, Any]], None]) -> None:
    """Let `adjust` change the arguments with which objects of a class are made."""
    initialize = kind.__init__
    signature = inspect.signature(initialize)

    @functools.wraps(initialize)
    def initialized(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            bound = signature.bind(self, *args, **kwargs)
        except TypeError:
            initialize(self, *args, **kwargs)  # says what is wrong with them
            return
        adjust(bound.arguments)
        initialize(*bound.args, **bound.kwargs)

    kind.__init__ = initialized
