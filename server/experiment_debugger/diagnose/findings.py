"""From matches and detectors to findings, one outcome a rule."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from experiment_debugger.evidence import FileEvidence, RunEvidence, evidence_of
from experiment_debugger.models import Evidence, Finding, Outcome, Position
from experiment_debugger.readers.matches import LogMatch
from experiment_debugger.rules.base import Detector, Signature
from experiment_debugger.rules.rulebook import Rulebook
from experiment_debugger.settings import Suppression

QUOTED_PER_FINDING = 3
LASTING = frozenset({"slow-training", "slow-data", "metric-error", "repro-failure", "silent-error"})
"""Modes whose signs are true while training goes on: progress behind them is no recovery."""
WRITTEN_BEFORE = frozenset({"code", "config", "job", "environment"})
"""Artifacts that stand before the run: they state facts, but nothing has happened in them."""
_ARRAY_TASK = re.compile(r"(?<![\d_])\d{3,}_\d{1,6}(?![\d_])")
_MASK = re.compile(r"0x[0-9a-f]+|\d+(?:\.\d+)?|/[\w./\-]+|'[^']{1,80}'|\b[0-9a-f]{8,}\b")


def all_outcomes(evidence: RunEvidence, book: Rulebook) -> list[Outcome]:
    """What became of every rule on this run."""
    by_rule: dict[str, list[Finding]] = defaultdict(list)
    own_tasks = _own_tasks(evidence)
    for entry in evidence.all_files():
        for finding in _signature_findings(entry, own_tasks, book):
            by_rule[finding.rule].append(finding)
    errors: dict[str, str] = {}
    for detector in book.detectors.values():
        try:
            for finding in _detected(detector, evidence, book):
                by_rule[finding.rule].append(_with_fingerprint(finding))
        except Exception as problem:  # noqa: BLE001 - one broken rule must not take the diagnosis with it
            errors[detector.info.id] = f"{type(problem).__name__}: {problem}"
    return [_outcome(rule, by_rule.get(rule, []), errors.get(rule), evidence, book) for rule in book.rule_ids()]


def _detected(detector: Detector, evidence: RunEvidence, book: Rulebook) -> Iterable[Finding]:
    if detector.scope == "run":
        yield from detector.check(evidence, book)
    elif detector.scope == "series":
        for entry, series in evidence.series(*detector.roles):
            yield from detector.check(entry, series, evidence)


def suppress(outcomes: Sequence[Outcome], suppressions: Sequence[Suppression]) -> tuple[list[Outcome], int]:
    """The outcomes without findings that the project does not want to hear, and how many those were."""
    kept = [
        outcome.model_copy(
            update={"findings": tuple(one for one in outcome.findings if not _is_suppressed(one, suppressions))}
        )
        for outcome in outcomes
    ]
    dropped = sum(len(outcome.findings) for outcome in outcomes) - sum(len(outcome.findings) for outcome in kept)
    return [_clear_when_empty(outcome) for outcome in kept], dropped


def _clear_when_empty(outcome: Outcome) -> Outcome:
    """A rule whose findings are all suppressed is not told as fired."""
    if outcome.status != "fired" or outcome.findings:
        return outcome
    return outcome.model_copy(update={"status": "clear"})


def _is_suppressed(finding: Finding, suppressions: Sequence[Suppression]) -> bool:
    return any(
        finding.rule == one.rule and (one.path is None or _is_below(finding.position.path, one.path.rstrip("/")))
        for one in suppressions
    )


def _is_below(path: str, place: str) -> bool:
    """Whether a path is the place or lies in it: `logs/run-4` is not above `logs/run-42.log`."""
    return path == place or path.startswith(f"{place}/")


def _outcome(rule: str, found: list[Finding], error: str | None, evidence: RunEvidence, book: Rulebook) -> Outcome:
    if error is not None:
        return Outcome(rule=rule, status="error", reason=error)
    if found:
        return Outcome(rule=rule, status="fired", findings=tuple(found))
    reason = _not_applicable(rule, evidence, book)
    return Outcome(rule=rule, status="not_applicable" if reason else "clear", reason=reason)


def _not_applicable(rule: str, evidence: RunEvidence, book: Rulebook) -> str | None:
    """Why a rule could not have fired: what it needs is not there."""
    info = book.info(rule)
    needs = info.needs if info else ()
    available = {
        "log": bool(evidence.files),
        "scheduler": bool(evidence.files),
        "kernel": bool(evidence.files),
        "config": any(entry.artifact.kind in {"config", "job"} for entry in evidence.facts) or bool(evidence.files),
        "code": any(entry.artifact.kind == "code" for entry in evidence.facts),
        "series": any(entry.series for entry in (*evidence.files, *evidence.numbers)),
        "pair": False,
    }
    names = {"log": "log", "series": "metric series", "code": "code", "pair": "second run", "config": "config"}
    missing = [need for need in needs if not available[need]]
    return f"no {names.get(missing[0], missing[0] + ' log')}" if missing else None


def _signature_findings(entry: FileEvidence, own_tasks: frozenset[str], book: Rulebook) -> Iterable[Finding]:
    grouped: dict[tuple[str, int | None], list[LogMatch]] = defaultdict(list)
    for match in entry.matches:
        if entry.artifact.kind == "scheduler" and _is_of_other_task(match.text, own_tasks):
            continue
        rank = match.rank if match.rank is not None else entry.artifact.rank
        grouped[match.rule, rank].append(match)
    for (rule_id, rank), matches in grouped.items():
        rule = book.signatures.get(rule_id)
        if rule is not None and (rule.role == "context" or entry.artifact.kind not in WRITTEN_BEFORE):
            yield _from_matches(entry, rule, rank, matches)


def _own_tasks(evidence: RunEvidence) -> frozenset[str]:
    """Array tasks such as 9021_4 that the run's id and files name."""
    names = [evidence.run.id, *(artifact.name for artifact in evidence.run.artifacts)]
    return frozenset(task for name in names for task in _ARRAY_TASK.findall(name))


def _is_of_other_task(row: str, own_tasks: frozenset[str]) -> bool:
    """Whether a row of sacct speaks of another task of the same job array."""
    found = _ARRAY_TASK.search(row)
    return bool(own_tasks) and found is not None and found.group(0) not in own_tasks


def _from_matches(entry: FileEvidence, rule: Signature, rank: int | None, matches: list[LogMatch]) -> Finding:
    """One finding for all matches of a rule in one file and rank; it stands where the run did not recover."""
    lasting = [match for match in matches if rule.mode in LASTING or not entry.recovered_after(match.line, rank)]
    chosen = lasting or matches
    first = chosen[0]
    return rule.finding(
        Position(
            path=entry.name,
            line=first.line,
            step=entry.steps_before(first.line),
            time=first.time,
            not_before=first.not_before,
            rank=rank,
            attempt=entry.artifact.attempt,
        ),
        (evidence_of(entry, match) for match in chosen[:QUOTED_PER_FINDING]),
        count=entry.counts.get(rule.id, len(matches)),
        values=first.groups,
        recovered=not lasting,
        fingerprint=_fingerprint(rule.id, first.text),
    )


def _with_fingerprint(finding: Finding) -> Finding:
    """Known again by its line, or by its metric: the numbers of a curve are those of one run."""
    text = finding.evidence[0].quote or finding.values.get("key") or finding.title
    return finding.model_copy(update={"fingerprint": _fingerprint(finding.rule, text)})


def _fingerprint(rule: str, text: str) -> str:
    """Stable over runs: the rule and the line with numbers, paths and names masked."""
    template = _MASK.sub("#", text)[:300]
    return hashlib.sha256(f"{rule}\n{template}".encode("utf-8", "replace")).hexdigest()[:16]


def risk_fingerprint(cause: str | None, root: Finding) -> str:
    """What a risk on the board is known by: the cause (where one is named), the rule and the masked line."""
    return hashlib.sha256(f"{cause or ''}\n{root.fingerprint}".encode()).hexdigest()[:16]


def strongest(evidence: Iterable[Evidence], limit: int) -> tuple[Evidence, ...]:
    """The first `limit` pieces of evidence, each place once."""
    seen: set[tuple[str, int | None, str | None]] = set()
    kept: list[Evidence] = []
    for item in evidence:
        place = (item.path, item.line, f"{item.key} at {item.step}" if item.line is None else None)
        if place not in seen:
            seen.add(place)
            kept.append(item)
    return tuple(kept[:limit])
