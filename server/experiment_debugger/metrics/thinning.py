"""Fewer points of a series, without losing what matters: no spike and no NaN is ever thinned away.

    1.9 1.8 1.9 41.0 1.8 nan nan 1.7 1.8 1.7     ->     1.9 41.0 nan nan 1.7

Every bucket of consecutive points keeps its smallest and its largest value; each stretch of values that are not finite
keeps its two ends.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

FEWEST = 4
"""First, last, smallest and largest are always there."""


def thinned(values: Sequence[float], most: int) -> list[int]:
    """Indices of at most about `most` points in order: bucket extremes, both ends, and the edges of every NaN stretch.

    Where there are more NaN stretches than points, each bucket keeps the first and the last value that is not finite.
    """
    if len(values) <= max(most, FEWEST):
        return list(range(len(values)))
    edges = set(nonfinite_edges(values, most // 2))
    rest = max(most - len(edges) - 2, 2)
    per_bucket = 2 if len(edges) < most // 2 else 4
    buckets = max(rest // per_bucket, 1)
    kept = edges | {0, len(values) - 1}
    for at in range(buckets):
        kept.update(_remarkable(values, len(values) * at // buckets, len(values) * (at + 1) // buckets, per_bucket))
    return sorted(kept)


def nonfinite_edges(values: Sequence[float], most: int) -> Iterator[int]:
    """The first and the last index of every stretch that is not finite, at most so many."""
    count, before = 0, True
    for index, value in enumerate(values):
        finite = math.isfinite(value)
        if finite != before:
            yield index if before else index - 1
            count += 1
            if count >= most:
                return
        before = finite
    if not before:
        yield len(values) - 1


def _remarkable(values: Sequence[float], low: int, high: int, most: int) -> Iterator[int]:
    """The extremes of a bucket, and the ends of what is not finite in it where the edges are too many to keep."""
    smallest, largest = math.inf, -math.inf
    at_smallest = at_largest = first = last = -1
    for index in range(low, high):
        value = values[index]
        if not math.isfinite(value):
            first, last = index if first < 0 else first, index
            continue
        if value < smallest:
            smallest, at_smallest = value, index
        if value > largest:
            largest, at_largest = value, index
    kept = (at_smallest, at_largest) if most == 2 and at_smallest >= 0 else (at_smallest, at_largest, first, last)
    yield from (index for index in kept if index >= 0)
