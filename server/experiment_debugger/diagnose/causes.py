"""Which cause of the taxonomy the evidence reaches, if exactly one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from experiment_debugger.models import Finding
from experiment_debugger.rules.base import Cause
from experiment_debugger.rules.rulebook import Rulebook


@dataclass(frozen=True)
class CauseChoice:
    """The named cause (or None), what speaks for and against it, and the other causes still open.

    `by_default`: nothing but the root itself speaks for the cause, and the vocabulary has others for such a root.
    """

    cause: Cause | None
    support: tuple[Finding, ...] = ()
    against: tuple[Finding, ...] = ()
    open: tuple[Cause, ...] = ()
    by_default: bool = False


def choose_cause(root: Finding, findings: Sequence[Finding], book: Rulebook) -> CauseChoice:
    """The cause of a root finding: the one with most support, if no other has as much."""
    by_rule: dict[str, list[Finding]] = {}
    for finding in findings:
        by_rule.setdefault(finding.rule, []).append(finding)
    scored = []
    for cause in book.causes.values():
        if not _eligible(cause, root, by_rule, book):
            continue
        support = [rule for rule in cause.supported_by if rule in by_rule]
        against = [rule for rule in cause.contradicted_by if rule in by_rule]
        scored.append((len(support) - 2 * len(against), cause, support, against))
    if not scored:
        return CauseChoice(None)
    scored.sort(key=lambda entry: -entry[0])
    best = scored[0][0]
    leaders = [entry for entry in scored if entry[0] == best and best > 0]
    if len(leaders) != 1:
        return CauseChoice(None, open=tuple(entry[1] for entry in scored[:4]))
    _, cause, support, against = leaders[0]
    others = [other for other in book.causes.values() if root.rule in other.supported_by and other is not cause]
    by_default = len(support) == 1 and bool(others)
    return CauseChoice(
        cause,
        tuple(finding for rule in support for finding in by_rule[rule][:1]),
        tuple(finding for rule in against for finding in by_rule[rule][:1]),
        tuple(others[:2]) if by_default else (),
        by_default,
    )


def _eligible(cause: Cause, root: Finding, by_rule: dict[str, list[Finding]], book: Rulebook) -> bool:
    """A cause competes when the root itself supports it and all that it requires has been seen."""
    if root.rule not in cause.supported_by:
        return False
    if root.rule in book.detectors and not any(rule in by_rule for rule in cause.supported_by if rule != root.rule):
        return False  # what a detector sees (a NaN, a stop) has many causes: one needs a witness of its own
    if root.mode is not None and cause.mode != root.mode and root.role == "root" and not cause.requires:
        return False
    return not cause.requires or any(rule in by_rule for rule in cause.requires)
