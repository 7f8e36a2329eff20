"""A person's or a model's regular expression over log lines, without the patterns that would run for hours.

    search = line_search("loss (nan|inf)")
    search("step 3 loss nan")     # True

hyperscan searches in linear time. Where it is not installed, or does not know an operator (look-around, references),
`re` does it, for patterns of few repetitions and the beginning of long lines, and gives up after some seconds.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

from experiment_debugger.errors import DebuggerError
from experiment_debugger.readers.literals import hyperscan

LONGEST_PATTERN = 500  # characters
SEARCHED = 2000  # characters of a line, with `re`
MOST_SECONDS = 20.0
_NESTED = re.compile(r"[+*}]\)?[+*{]|\([^)]*[+*][^)]*\)[+*{]")
_UNBOUNDED = re.compile(r"(?<!\\)(?:[+*]|\{\d*,\d*\})")
_REPEATED_CHOICE = re.compile(r"\|[^()]*\)(?:[+*]|\{\d)")
MOST_UNBOUNDED = 3

Search = Callable[[str], bool]


def line_search(pattern: str) -> Search:
    """A function that says whether a line matches; `DebuggerError` when the pattern is broken, long, or too slow."""
    if len(pattern) > LONGEST_PATTERN:
        raise DebuggerError(f"Expected a pattern of at most {LONGEST_PATTERN} characters, found {len(pattern)}.")
    if _NESTED.search(pattern):
        raise _too_slow("without nested repetition such as (a+)+")
    try:
        compiled = re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as problem:
        raise DebuggerError(f"Expected a regular expression, found '{pattern[:80]}': {problem}.") from None
    return _with_hyperscan(pattern) or _with_re(compiled)


def _with_hyperscan(pattern: str) -> Search | None:
    if hyperscan is None:
        return None
    flags = (
        hyperscan.HS_FLAG_UTF8 | hyperscan.HS_FLAG_UCP | hyperscan.HS_FLAG_ALLOWEMPTY | hyperscan.HS_FLAG_SINGLEMATCH
    )
    database: Any = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    try:
        database.compile(expressions=[pattern.encode()], ids=[0], elements=1, flags=[flags])
    except (hyperscan.error, UnicodeEncodeError):
        return None  # an operator that it does not know, or too large

    def search(line: str) -> bool:
        hits: list[int] = []
        database.scan(line.encode("utf-8", "replace"), match_event_handler=lambda *hit: hits.append(hit[2]))
        return bool(hits)

    return search


def _with_re(compiled: re.Pattern[str]) -> Search:
    pattern = compiled.pattern
    if _REPEATED_CHOICE.search(pattern):
        raise _too_slow("without a repeated choice such as (a|ab)*")
    if len(_UNBOUNDED.findall(pattern)) > MOST_UNBOUNDED:
        raise _too_slow(f"with at most {MOST_UNBOUNDED} of * + {{}}")
    deadline = time.monotonic() + MOST_SECONDS

    def search(line: str) -> bool:
        if time.monotonic() > deadline:
            raise _too_slow(f"that takes less than {MOST_SECONDS:.0f} s")
        return compiled.search(line, 0, SEARCHED) is not None

    return search


def _too_slow(expected: str) -> DebuggerError:
    return DebuggerError(f"Expected a pattern {expected}; it could run for hours. Simplify it.")
