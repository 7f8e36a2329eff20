"""The text behind points of metric series: read again from the file, so that evidence can be looked up.

step 640: data 8.10s step 9.40s   ->   logs/run-42.log:311 data = 8.1 | step 640: data 8.10s step 9.40s
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from experiment_debugger.evidence import RunEvidence, quote_of
from experiment_debugger.models import Evidence, Value
from experiment_debugger.readers.lines import to_text

_NUMBER = re.compile(r"[-+]?(?:\d[\d,]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]?(?:nan|inf(?:inity)?)", re.IGNORECASE)


def with_quotes(items: Sequence[Evidence], evidence: RunEvidence) -> tuple[Evidence, ...]:
    """The same evidence, with the text of every line that has none yet."""
    wanted: dict[str, set[int]] = {}
    for item in items:
        if item.line is not None and item.quote is None:
            wanted.setdefault(item.path, set()).add(item.line)
    texts = {path: evidence.lines(path, numbers) for path, numbers in wanted.items()}
    return tuple(_with_quote(item, texts.get(item.path, {})) for item in items)


def _with_quote(item: Evidence, lines: dict[int, bytes]) -> Evidence:
    raw = lines.get(item.line or 0)
    if item.quote is not None or raw is None:
        return item
    text, span = _segment(raw, item.key or "", item.value)
    return item.model_copy(update={"quote": quote_of(text, span)})


def _segment(raw: bytes, key: str, value: Value | None) -> tuple[str, tuple[int, int]]:
    """The \\r segment that holds the key and the value, and where; the last one that holds anything otherwise."""
    best: tuple[int, str, tuple[int, int]] = (-1, "", (0, 0))
    for part in raw.split(b"\r"):
        text = to_text(part)
        at = text.find(key)
        number = next((found for found in _NUMBER.finditer(text, max(at, 0)) if _is_same(found.group(), value)), None)
        span = number.span() if number else (max(at, 0), max(at, 0) + len(key))
        score = 2 * (number is not None) + (at >= 0)
        if text.strip() and score >= best[0]:
            best = (score, text, span)
    return best[1], best[2]


def _is_same(text: str, value: Value | None) -> bool:
    """Whether a printed number is this value; NaN is NaN."""
    try:
        number, wanted = float(text.replace(",", "")), float(str(value))
    except ValueError:
        return False
    return number == wanted or (math.isnan(number) and math.isnan(wanted))
