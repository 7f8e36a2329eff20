"""The root, not the loudest line.

Findings are ordered only as far as the artifacts allow: step, then time on one host, then line in one file; otherwise
the order is unknown. A finding is explained when an earlier one (or one of a class that is reported late) can lead to
it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from experiment_debugger.models import Finding, Position
from experiment_debugger.rules.rulebook import Rulebook, effects

CLOCK_SLACK = 2.0
"""Seconds: stamps of two processes that are closer than this do not order them."""
SLOWLY_REACHED = frozenset({"scheduler-ended", "no-progress"})
"""Ends that a mere warning can lead to: a run on the CPU meets the time limit."""
OFTEN_HARMLESS = frozenset(
    {
        "config-invalid",
        "environment-broken",
        "checkpoint-invalid",
        "data-invalid",
        "access-denied",
        "storage-unreachable",
    }
)
LEVELS = {"fatal": 0, "error": 1, "warning": 2, "info": 3}


def comes_before(one: Finding, other: Finding) -> bool | None:
    """True or False where the order is known, None where it is not."""
    a, b = one.position, other.position
    if a.attempt != b.attempt:
        return a.attempt < b.attempt
    if a.path == b.path and a.line is not None and b.line is not None and a.line != b.line:
        return a.line < b.line
    by_time = _by_time(a, b)
    if by_time is not None:
        return by_time
    if a.step is not None and b.step is not None and a.step != b.step and a.path != b.path:
        return a.step < b.step
    return None


def _by_time(a: Position, b: Position) -> bool | None:
    """Order by stamps; a line without its own stamp is only known to be not before an earlier one."""
    if a.time is not None and (b.time or b.not_before or -math.inf) - a.time > CLOCK_SLACK:
        return True
    if b.time is not None and (a.time or a.not_before or -math.inf) - b.time > CLOCK_SLACK:
        return False
    return None


@dataclass(frozen=True)
class Ranked:
    """Findings by what they are to each other."""

    roots: tuple[Finding, ...]
    """Unexplained ones, most likely root first."""
    explained: tuple[tuple[Finding, Finding], ...]
    """(effect, its explanation)."""


def rank(findings: Sequence[Finding], book: Rulebook) -> Ranked:
    """Roots and effects among findings that compete (no context, no recovered ones)."""
    reach = {name: effects(book.symptoms, name) for name in {finding.symptom_class for finding in findings}}
    explained: list[tuple[Finding, Finding]] = []
    roots: list[Finding] = []
    for finding in findings:
        reason = _explanation(finding, findings, reach, book)
        if reason is None and finding.role != "teardown":
            roots.append(finding)
        elif reason is not None:
            explained.append((finding, reason))
    return Ranked(tuple(_ordered(roots, book)), tuple(explained))


def _explanation(
    finding: Finding, findings: Sequence[Finding], reach: dict[str, frozenset[str]], book: Rulebook
) -> Finding | None:
    """The most root-like finding that can have caused this one."""
    able = [
        other
        for other in findings
        if other is not finding
        and other.role != "teardown"
        and finding.symptom_class in reach[other.symptom_class]
        and _is_grave_enough(other, finding)
        and (book.symptoms[other.symptom_class].late or comes_before(finding, other) is not True)
    ]
    if not able and finding.role == "teardown":
        able = [other for other in findings if other.role != "teardown" and comes_before(finding, other) is not True]
    return min(able, key=lambda other: book.symptoms[other.symptom_class].rank, default=None)


def _is_grave_enough(reason: Finding, finding: Finding) -> bool:
    """A mere warning about settings, packages or data does not explain a crash; a caught memory error does."""
    return (
        LEVELS[reason.level] <= LEVELS["error"]
        or reason.symptom_class not in OFTEN_HARMLESS
        or finding.symptom_class in SLOWLY_REACHED
    )


def _ordered(roots: list[Finding], book: Rulebook) -> list[Finding]:
    """Earlier first where the order is known; else root roles, grave levels and root-like classes first."""

    def weight(finding: Finding) -> tuple[int, int, int]:
        return (
            finding.role != "root",
            LEVELS[finding.level] > LEVELS["error"],
            book.symptoms[finding.symptom_class].rank,
        )

    ordered: list[Finding] = []
    for finding in sorted(roots, key=weight):
        at = len(ordered)
        while at > 0 and weight(ordered[at - 1])[:2] == weight(finding)[:2] and comes_before(finding, ordered[at - 1]):
            at -= 1
        ordered.insert(at, finding)
    return ordered
