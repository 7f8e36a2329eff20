"""Text in a picture: names of lines that stay apart when they are cut, and signs that the font can draw."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from functools import lru_cache
from itertools import takewhile

from experiment_debugger.report.quoting import one_line

LEGEND_WIDTH = 686
"""Pixels in one row of a legend."""
CHARACTER, SIGN = 6.6, 58
"""Pixels of a character and of what stands between two names of a legend."""
LONGEST_LABEL = 40


def columns(names: Sequence[str]) -> int:
    """How many names fit side by side."""
    return max(1, min(len(names), int(LEGEND_WIDTH / (max(map(len, names)) * CHARACTER + SIGN))))


def shortened(name: str, length: int = LONGEST_LABEL) -> str:
    """A long name without its middle: both ends of a metric's name tell it apart."""
    half = (length - 1) // 2
    return name if len(name) <= length else f"{name[:half]}\u2026{name[-half:]}"


def told_apart(names: Sequence[str], length: int) -> list[str]:
    """Names of at most `length` characters: those that are longer lose what they share in front and behind."""
    long = [name for name in names if len(name) > length]
    if len(long) > 1:
        ahead, behind = _shared(long), _shared([name[::-1] for name in long])
        behind = min(behind, min(map(len, long)) - ahead)
        names = [_without(name, ahead, behind, length) if name in long else name for name in names]
    return [shortened(name, length) for name in names]


def _shared(names: Sequence[str]) -> int:
    """The number of letters with which all names begin."""
    return sum(1 for _ in takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False)))


def _without(name: str, ahead: int, behind: int, length: int) -> str:
    """A name without what is shared behind, and if that is not enough, without what is shared in front."""
    if behind > 1:
        name = f"{name[: len(name) - behind]}\u2026"
    return f"\u2026{name[ahead:]}" if len(name) > length and ahead > 1 else name


def wrapped(text: str, width: int) -> str:
    """Text in lines of at most `width` characters, three of them at most."""
    return "\n".join(textwrap.wrap(drawable(text), width, max_lines=3, placeholder=" \u2026"))


def drawable(text: str) -> str:
    """Text without what cannot be seen, and with a question mark for signs that the font does not have."""
    return "".join(mark if ord(mark) in _glyphs() else "?" for mark in one_line(text, 1000))


@lru_cache(maxsize=1)
def _glyphs() -> frozenset[int]:
    """The signs that the font has; for others matplotlib warns and draws empty boxes."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    return frozenset(get_font(findfont(FontProperties())).get_charmap())
