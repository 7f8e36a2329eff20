"""Signatures against candidate lines of one file: literals chose the line, the regex decides."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from experiment_debugger.readers.lines import Line
from experiment_debugger.readers.matches import LogMatch, MatchReader
from experiment_debugger.readers.prefixes import split_prefix
from experiment_debugger.rules.base import Signature

MOST_HITS = 4000  # of one line whose segments are tried: half of them at its beginning, half at its end
KEPT_PER_RULE = 12  # first matches of one rule in one file; the last is kept too


@dataclass(frozen=True)
class MatchPlan:
    """The literals of all signatures and who owns them; made once for all files."""

    literals: tuple[bytes, ...]
    owners: tuple[tuple[Signature, ...], ...]
    markers: tuple[tuple[str, ...], ...]
    """Per literal: ids of rules that need it within some lines of their match."""

    def reader(self) -> SignatureReader:
        """A fresh consumer for one file."""
        return SignatureReader(self)


def plan_of(signatures: Sequence[Signature]) -> MatchPlan:
    """The plan of these signatures."""
    owners: dict[str, list[Signature]] = defaultdict(list)
    markers: dict[str, list[str]] = defaultdict(list)
    for rule in signatures:
        for literal in rule.match.literals:
            owners[literal].append(rule)
        for literal in rule.match.within_lines.literals if rule.match.within_lines else ():
            markers[literal].append(rule.id)
    texts = list(dict.fromkeys([*owners, *markers]))
    return MatchPlan(
        literals=tuple(text.encode() for text in texts),
        owners=tuple(tuple(owners.get(text, ())) for text in texts),
        markers=tuple(tuple(markers.get(text, ())) for text in texts),
    )


class SignatureReader(MatchReader):
    """Collects the signature matches of one file."""

    def __init__(self, plan: MatchPlan) -> None:
        super().__init__()
        self._plan = plan
        self.literals = plan.literals
        self._marks: dict[str, list[int]] = defaultdict(list)
        self._rules: dict[str, Signature] = {}
        self._kept: dict[str, list[LogMatch]] = defaultdict(list)

    def candidate(self, line: Line, hits: Sequence[tuple[int, int]]) -> None:
        """Run the regexes that own the literals of this line."""
        tested: set[str] = set()
        found: dict[str, LogMatch] = {}
        text = ""
        for literal, offset in _bounded(hits):
            for rule_id in self._plan.markers[literal]:
                if len(self._marks[rule_id]) < 1000:
                    self._marks[rule_id].append(line.number)
            fresh = [rule for rule in self._plan.owners[literal] if rule.id not in tested]
            if fresh:
                text = line.around(offset)
            for rule in fresh:
                match = self._match(rule, line, text)
                if match is not None:
                    tested.add(rule.id)
                    found[rule.id] = match
        replaced = {parent for rule_id in found for parent in self._rules[rule_id].refines}
        for rule_id, match in found.items():
            if rule_id not in replaced:
                self._keep(match)

    def _match(self, rule: Signature, line: Line, text: str) -> LogMatch | None:
        groups = rule.groups(text)
        if groups is None:
            return None
        self._rules[rule.id] = rule
        _, rank, _ = split_prefix(text)
        return LogMatch(rule.id, line.number, text, _span(rule, text), rank, line.time, line.not_before, groups)

    def _keep(self, match: LogMatch) -> None:
        kept = self._kept[match.rule]
        self.counts[match.rule] = self.counts.get(match.rule, 0) + 1
        if len(kept) <= KEPT_PER_RULE:
            kept.append(match)
        else:
            kept[-1] = match

    def finish(self) -> None:
        """Apply what needs the whole file: neighbours and minimal counts."""
        for rule_id, kept in self._kept.items():
            match = self._rules[rule_id].match
            near = kept if match.within_lines is None else self._near(rule_id, match.within_lines.lines, kept)
            if self.counts[rule_id] < match.min_count or not near:
                self.counts.pop(rule_id)
                continue
            self.matches.extend(near)
        self.matches.sort(key=lambda entry: entry.line)

    def _near(self, rule_id: str, reach: int, kept: list[LogMatch]) -> list[LogMatch]:
        marks = self._marks[rule_id]
        return [entry for entry in kept if any(abs(mark - entry.line) <= reach for mark in marks)]


def _bounded(hits: Sequence[tuple[int, int]]) -> Sequence[tuple[int, int]]:
    """The hits; of a line with more than anybody could read, the first and the last ones of every literal."""
    if len(hits) <= MOST_HITS:
        return hits
    by_literal: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for hit in hits:
        by_literal[hit[0]].append(hit)
    half = MOST_HITS // 2
    kept = {hit for own in by_literal.values() for hit in (*own[:half], *own[-half:])}
    return sorted(kept, key=lambda hit: hit[1])


def _span(rule: Signature, text: str) -> tuple[int, int]:
    if rule.match.pattern is not None:
        found = rule.match.pattern.search(text)
        if found:
            return found.span()
    for literal in rule.match.literals:
        at = text.find(literal)
        if at >= 0:
            return at, at + len(literal)
    return 0, len(text)
