"""What the columns of a table, or the keys of a row, mean: the position, the time, or a value.

    global_step, iter, train_num_updates, time/total_timesteps    position in optimizer steps
    epoch                                                         position, where nothing counts steps
    wall_time, _timestamp, date                                   time, where the cells are stamps
    train/loss, lr, mode                                          a series, where the cells are numbers

Spellings: Lightning, W&B exports, TensorBoard downloads, fairseq, Ray, stable-baselines3, detectron2, mmengine.
"""

from __future__ import annotations

import math
import re
from contextlib import suppress
from functools import lru_cache
from typing import Any, Literal

from experiment_debugger.readers.timestamps import Clock

Meaning = Literal["step", "epoch", "time", "value"]
_STEPS = (
    "global_step", "trainer/global_step", "train/global_step", "step", "steps", "_step", "train_num_updates",
    "num_updates", "iteration", "iter", "it", "iters", "iterations", "training_iteration", "time/total_timesteps",
    "total_timesteps", "timesteps_total", "valid_num_updates", "batch_idx", "update",
)  # fmt: skip
"""The earlier one counts where a row has several."""
PREFERENCE = {name: rank for rank, name in enumerate(_STEPS)}
_EPOCHS = frozenset({"epoch", "epochs", "current_epoch", "trainer/epoch"})
_TIMES = frozenset({
    "timestamp", "time", "wall_time", "wall time", "walltime", "_timestamp", "date", "datetime", "created_at", "ts",
})  # fmt: skip
_TENSOR = re.compile(r"tensor\(\s*([^\s,()]+)")
_SECONDS, _MILLISECONDS = (1e9, 4e9), (1e12, 4e12)  # since the epoch, in the years 2001 to 2096
MOST_STEPS = 1 << 62


@lru_cache(maxsize=4096)
def meaning_of(name: str) -> Meaning:
    """What a column of this name holds; a `time` may turn out to be a duration, which is a value."""
    lower = name.lower()
    if lower in PREFERENCE:
        return "step"
    if lower in _EPOCHS:
        return "epoch"
    return "time" if lower in _TIMES else "value"


def preferred(names: list[str]) -> str | None:
    """The name among these that says best at which step a row stands."""
    steps = [name for name in names if meaning_of(name) == "step"]
    return min(steps, key=lambda name: PREFERENCE[name.lower()], default=None)


def number_of(cell: Any) -> float | None:
    """A cell as a number: `1e-3`, `NaN`, `-inf`, `tensor(0.53, device='cuda:0')`; None where it is none."""
    if isinstance(cell, bool) or cell is None:
        return None
    try:
        return float(cell)
    except OverflowError:
        return math.inf if cell > 0 else -math.inf
    except (TypeError, ValueError):
        pass
    text = cell.decode("utf-8", "replace") if isinstance(cell, bytes) else cell
    tensor = _TENSOR.match(text.strip()) if isinstance(text, str) else None
    with suppress(ValueError):
        return float(tensor.group(1)) if tensor else None
    return None


def position(value: float | None) -> int:
    """A count as an integer that fits into the columns, -1 where it is none."""
    if value is None or not math.isfinite(value) or not 0 <= value < MOST_STEPS:
        return -1
    return int(value)


def stamp_of(cell: Any) -> float:
    """Seconds since the epoch of `1700000000.5`, `1700000000500` (ms) or `2024-05-08 07:00:41`, NaN for all else."""
    value = number_of(cell)
    if value is not None:
        if _SECONDS[0] <= value < _SECONDS[1]:
            return value
        return value / 1000 if _MILLISECONDS[0] <= value < _MILLISECONDS[1] else math.nan
    text = cell.decode("utf-8", "replace") if isinstance(cell, bytes) else cell
    time = Clock().read(text) if isinstance(text, str) else None
    return math.nan if time is None else time
