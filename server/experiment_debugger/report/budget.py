"""Fit every answer into its budget: a hard cap in tokens (UTF-8 bytes / 4), and a count of what was left out.

An answer is cut by a plan, a list of steps from the least to the most painful, until it fits:

    PLAN = (Cut("consequences", 5), Cut("modes.0.evidence", 5, "evidence"), Clip("modes.*.evidence.*.quote", 120))
    data, left_out = shrink(data, PLAN, measure, cap)     # left_out == Counter({"evidence": 7, "consequences": 2})

A path walks through keys and lists: `*` is every item, `0` the first, `1+` all but the first.
"""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

BYTES_PER_TOKEN = 4
DEFAULT_TOKENS = 1500
MIN_TOKENS = 200
MAX_TOKENS = 50_000
CUT = "\u2026"
LONGEST_ERROR = 1200  # characters
SHORTEST = 40
"""Strings up to this length are never clipped: names, states and enumerated values are among them."""

Tree = dict[str, Any]
Measure = Callable[[Tree, "Counter[str]"], int]


def size(text: str) -> int:
    """Bytes that a text costs."""
    return len(text.encode("utf-8", "backslashreplace"))


def tokens(text: str) -> int:
    """Tokens that a text costs, rounded up."""
    return -(-size(text) // BYTES_PER_TOKEN)


def capacity(max_tokens: int) -> int:
    """Bytes that an answer may cost; one is kept for the newline that ends it."""
    return max_tokens * BYTES_PER_TOKEN - 1


def compact(data: Any) -> str:
    """JSON as it leaves: compact, readable characters, no NaN."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def error_line(message: str) -> str:
    """A complaint as one line; what somebody typed is in the middle of it and may be of any length and content."""
    line = "".join(mark if mark.isprintable() else " " for mark in speakable(message))
    line = " ".join(line.split())
    half = LONGEST_ERROR // 2
    return line if len(line) <= LONGEST_ERROR else f"{line[:half]} {CUT} {line[-half:]}"


def speakable(value: Any) -> Any:
    """The same data without lone surrogates, which come from file names and logs and would kill the MCP server."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, dict):
        return {speakable(key): speakable(item) for key, item in value.items()}
    return [speakable(item) for item in value] if isinstance(value, (list, tuple)) else value


@dataclass(frozen=True)
class TextAnswer:
    """The answer of a text verb: `shown` and `left_out` count by kind, `more` says how to get the rest.

    `verdict` (of `debug`) and `code` (an exit status, of `score`) are for the command line only.
    """

    text: str
    shown: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    more: str = ""
    verdict: str | None = None
    code: int = 0

    def as_json(self) -> Tree:
        """What `--json` prints."""
        return {"text": self.text, "shown": self.shown, "left_out": self.left_out, "more": self.more}

    def size(self) -> int:
        """Bytes in its larger form, which is JSON."""
        return size(compact(self.as_json()))


@dataclass(frozen=True, slots=True)
class Picture:
    """The answer of a verb that was asked for an image: a PNG, which stands outside the token budget."""

    png: bytes


@dataclass(frozen=True, slots=True)
class Cut:
    """Keep the first items of a list."""

    path: str
    keep: int
    name: str = ""

    def apply(self, data: Tree, left_out: Counter[str]) -> None:
        """Cut in place and count."""
        for holder, key in _places(data, self.path.split(".")):
            items = holder[key]
            if len(items) > self.keep:
                left_out[self.name or self.path.rsplit(".", 1)[-1]] += len(items) - self.keep
                holder[key] = _head(items, self.keep)


@dataclass(frozen=True, slots=True)
class Clip:
    """Shorten a string."""

    path: str
    length: int

    def apply(self, data: Tree, _left_out: Counter[str]) -> None:
        """Clip in place; the sign at the cut says it, so nothing is counted."""
        for holder, key in _places(data, self.path.split(".")):
            if isinstance(holder[key], str):
                holder[key] = clip(holder[key], self.length)


@dataclass(frozen=True, slots=True)
class Drop:
    """Leave a key out."""

    path: str

    def apply(self, data: Tree, left_out: Counter[str]) -> None:
        """Drop in place and count."""
        for holder, key in _places(data, self.path.split(".")):
            del holder[key]
            left_out[str(key)] += 1


@dataclass(frozen=True, slots=True)
class Squeeze:
    """The last resort: every string and every list, wherever it stands."""

    length: int
    keep: int

    def apply(self, data: Tree, left_out: Counter[str]) -> None:
        """Squeeze in place and count the list items."""
        for key, value in list(data.items()):
            data[key] = self._squeezed(value, key, left_out)

    def _squeezed(self, value: Any, name: str, left_out: Counter[str]) -> Any:
        if isinstance(value, str):
            return clip(value, self.length)
        if isinstance(value, list):
            if len(value) > self.keep:
                left_out[name] += len(value) - self.keep
            return [self._squeezed(item, name, left_out) for item in value[: self.keep]]
        if isinstance(value, dict):
            return {key: self._squeezed(item, str(key), left_out) for key, item in value.items()}
        return value


Step = Cut | Clip | Drop | Squeeze


def shrink(data: Tree, plan: Iterable[Step], measure: Measure, cap: int) -> tuple[Tree, Counter[str]]:
    """A copy of the data after as few steps of the plan as it takes to fit, with what was left out by kind."""
    data, left_out = copy.deepcopy(data), Counter[str]()
    for step in plan:
        if measure(data, left_out) <= cap:
            break
        step.apply(data, left_out)
    return data, left_out


def clip(text: str, length: int) -> str:
    """The text, or its beginning with a sign where it was cut."""
    length = max(length, SHORTEST)
    return text if len(text) <= length else text[: length - 1].rstrip(CUT) + CUT


def fit_lines(lines: Sequence[str], cap: int, more: Callable[[int], str]) -> tuple[str, int]:
    """The first lines that fit together with `more(number left out)`, and that number."""
    kept = len(lines)
    while kept:
        left_out = len(lines) - kept
        text = "\n".join([*lines[:kept], more(left_out)] if left_out else lines)
        # Every line costs at least its newline, so the surplus says how many lines must go at most at once.
        surplus = size(compact(text)) - cap
        if surplus <= 0:
            return text, left_out
        kept -= max(1, _lines_worth(lines[:kept], surplus))
    return clip(more(len(lines)), max(SHORTEST, cap // 2)), len(lines)


def _lines_worth(lines: Sequence[str], surplus: int) -> int:
    """How many of the last lines can go without cutting more than the surplus."""
    count = 0
    for line in reversed(lines):
        surplus -= size(compact(line)) + 2
        if surplus < 0:
            break
        count += 1
    return count


def _head(items: Any, keep: int) -> Any:
    return dict(list(items.items())[:keep]) if isinstance(items, dict) else items[:keep]


def _places(holder: Any, parts: Sequence[str]) -> Iterator[tuple[Any, Any]]:
    """Every (container, key) that a path reaches."""
    for key in _keys(holder, parts[0]):
        if len(parts) == 1:
            yield holder, key
        else:
            yield from _places(holder[key], parts[1:])


def _keys(holder: Any, part: str) -> list[Any]:
    if isinstance(holder, dict):
        return list(holder) if part == "*" else [part] if holder.get(part) is not None else []
    if isinstance(holder, list) and part == "*":
        return list(range(len(holder)))
    if isinstance(holder, list) and part.rstrip("+").isdigit():
        first = int(part.rstrip("+"))
        return list(range(first, len(holder) if part.endswith("+") else min(first + 1, len(holder))))
    return []
