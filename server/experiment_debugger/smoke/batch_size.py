"""The batch size of a command, and how much memory a batch takes.

--per_device_train_batch_size 8 --eval_batch_size 64      8
[(64, 9812 MiB), (32, 5310 MiB)]                          808 MiB + 140.7 MiB a sample; 24,000 MiB hold batch 156
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from experiment_debugger.readers.configs import settings_of
from experiment_debugger.smoke.launchers import Read
from experiment_debugger.smoke.options import Option, options_of, spelled
from experiment_debugger.smoke.order import Command
from experiment_debugger.smoke.shell_words import script_words

HEADROOM = 0.05
"""Share of the memory that stays free: fragments of the allocator, longer sequences, an evaluation."""
MIB = 1 << 20
_NAMES = (
    re.compile(r"(?:train_)?(?:micro|mini)_?batch_?size(?:_per_gpu|_per_device)?|train_micro_batch_size_per_gpu"),
    re.compile(
        r"(?:per_device|per_gpu)_(?:train_)?batch_size|batch_size_per_(?:gpu|device)|samples_per_gpu|\w*ims_per_batch"
    ),
    re.compile(r"(?:train_|training_)?batch_?size|batch_size_train|bs|b|batch"),
)
"""Keys of the batch of one process, most specific first: where a smaller one is named, the others only add up to it."""


@dataclass(frozen=True, slots=True)
class BatchFit:
    """Bytes = `fixed` + `each` * batch; `largest` is the largest batch that the limit holds with HEADROOM to spare."""

    fixed: float
    each: float
    largest: int
    limit: int

    @property
    def sentence(self) -> str:
        """The fit as one sentence, in MiB."""
        line = f"memory is about {self.fixed / MIB:,.0f} MiB + {self.each / MIB:,.1f} MiB a sample of the batch"
        room = f"of {self.limit / MIB:,.0f} MiB, with {HEADROOM:.0%} to spare"
        holds = f"the largest batch that fits is {self.largest}" if self.largest else "not even batch 1 fits"
        return f"{line}; {holds} ({room})"


def largest_batch(points: Sequence[tuple[int, int]], limit_bytes: int) -> BatchFit | None:
    """The fit of (batch size, peak bytes) by least squares; None below two sizes, or where memory does not grow."""
    if len({size for size, _ in points}) < 2:
        return None
    mean_size = sum(size for size, _ in points) / len(points)
    mean_peak = sum(peak for _, peak in points) / len(points)
    spread = sum((size - mean_size) ** 2 for size, _ in points)
    each = sum((size - mean_size) * (peak - mean_peak) for size, peak in points) / spread
    fixed = mean_peak - each * mean_size
    if each <= 0 or fixed < 0:
        return None
    return BatchFit(fixed, each, max(0, int((limit_bytes * (1 - HEADROOM) - fixed) // each)), limit_bytes)


def batch_options(argv: Sequence[str]) -> list[tuple[Option, int]]:
    """The options that name the batch size of one process, with its value; the most specific kind that is there."""
    values = [(option, option.value or "") for option in options_of(argv)]
    sizes = [(option, int(value)) for option, value in values if re.fullmatch(r"[1-9]\d{0,6}", value)]
    for name in _NAMES:
        if found := [(option, size) for option, size in sizes if name.fullmatch(option.key)]:
            return found
    return []


def batch_of(command: Command, read: Read) -> int | None:
    """The batch size by command line or job script, else by the configs; None where they contradict each other."""
    texts = {name: text for name in command.files if (text := read(name)) is not None}
    if on_the_line := batch_options(command.argv):
        return _one(size for _, size in on_the_line)
    scripts = [words for name, text in texts.items() if name in command.argv for words in script_words(text)]
    if in_scripts := [size for words in scripts for _, size in batch_options(words)]:
        return _one(in_scripts)
    settings = [one for name, text in texts.items() for one in settings_of(text, name).items()]
    for pattern in _NAMES:
        sizes = [value for key, value in settings if pattern.fullmatch(spelled(key).rpartition(".")[2])]
        if whole := [value for value in sizes if isinstance(value, int) and value > 0]:
            return _one(whole)
    return None


def _one(sizes: Iterable[int]) -> int | None:
    different = set(sizes)
    return different.pop() if len(different) == 1 else None
