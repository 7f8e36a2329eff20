"""Options of an argument list, found by their name and given another value.

torchrun --nproc-per-node=4 train.py --batch_size 64 --amp optim.lr=3e-4 -j 8
    Option("nproc_per_node", "4", at=1, joined=True)     Option("batch_size", "64", at=3)     Option("amp", None, at=5)
    Option("optim.lr", "3e-4", at=6, joined=True)        Option("j", "8", at=7)
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

_OPTION = re.compile(r"--?([A-Za-z][\w./-]*)(?:=(.*))?", re.DOTALL)
SETTING = re.compile(r"[+~]{0,2}([A-Za-z_][\w./-]*)=(.*)", re.DOTALL)
_NUMBER = re.compile(r"-\d*\.?\d+(?:[eE][-+]?\d+)?")


@dataclass(frozen=True, slots=True)
class Option:
    """One option: its name without dashes (`-` as `_`, lower case), and the index `at` of its word.

    `value` is None where no value follows; a word that follows a flag (`--amp data/`) cannot be told from its value.
    `joined`: name and value are one word (`--lr=1`, `optim.lr=1`).
    """

    name: str
    value: str | None
    at: int
    joined: bool = False

    @property
    def key(self) -> str:
        """The last part of a dotted name: `lr` of `optim.lr`."""
        return self.name.rpartition(".")[2]


def options_of(argv: Sequence[str]) -> Iterator[Option]:
    """Every option and `key=value` word, in their order."""
    for index, word in enumerate(argv):
        if index and (setting := SETTING.fullmatch(word)):
            yield Option(spelled(setting[1]), setting[2], index, joined=True)
        elif option := _OPTION.fullmatch(word):
            joined = option[2] is not None
            yield Option(spelled(option[1]), option[2] if joined else _following(argv, index), index, joined)


def spelled(name: str) -> str:
    """A name as it is compared: argparse, click and tyro take `-` and `_` for each other."""
    return name.replace("-", "_").replace("/", ".").lower()


def named(argv: Sequence[str], keys: Collection[str]) -> list[Option]:
    """The options whose last part is one of these keys."""
    return [option for option in options_of(argv) if option.key in keys]


def with_value(argv: Sequence[str], option: Option, value: str) -> tuple[str, ...]:
    """The argument list with another value of an option that has one, its spelling kept."""
    words = list(argv)
    if option.joined:
        words[option.at] = words[option.at].partition("=")[0] + "=" + value
    else:
        words[option.at + 1] = value
    return tuple(words)


def without(argv: Sequence[str], option: Option, *, with_its_value: bool = False) -> tuple[str, ...]:
    """The argument list without the word of an option, and without the word of its value where that is one's own."""
    end = option.at + (2 if with_its_value and not option.joined else 1)
    return (*argv[: option.at], *argv[end:])


def _following(argv: Sequence[str], index: int) -> str | None:
    """The next word, when it can be a value."""
    word = argv[index + 1] if index + 1 < len(argv) else None
    if word is None or (word.startswith("-") and not _NUMBER.fullmatch(word)) or SETTING.fullmatch(word):
        return None
    return word
