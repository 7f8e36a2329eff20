"""The diagnosis of one run, step by step: read, find, rank, choose a cause, say what would refute it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from experiment_debugger.collection import Collector, dialect_of
from experiment_debugger.diagnose.causes import choose_cause
from experiment_debugger.diagnose.competition import competitors, last_attempt
from experiment_debugger.diagnose.findings import all_outcomes, risk_fingerprint, suppress
from experiment_debugger.diagnose.hypotheses import (
    consequences_of,
    determinism_of,
    healthy_summary,
    hypothesis_of,
    inconclusive_summary,
    mode_of,
    results_of,
)
from experiment_debugger.diagnose.outcome import Ending, ending_of
from experiment_debugger.diagnose.ranking import LEVELS, Ranked, rank
from experiment_debugger.evidence import RunEvidence
from experiment_debugger.models import (
    Checked,
    Consequence,
    Coverage,
    Diagnosis,
    Finding,
    Hypothesis,
    Mode,
    Outcome,
    Verdict,
)
from experiment_debugger.rules.matcher import plan_of
from experiment_debugger.rules.rulebook import Rulebook, load_rulebook
from experiment_debugger.run import Risk, Run

MOST_HYPOTHESES = 3
MOST_CONSEQUENCES = 6
TRACKERS = frozenset({"tensorboard", "wandb", "metrics"})
"""Kinds of artifacts that may hold the losses of a run."""


@dataclass(frozen=True, slots=True)
class Examination:
    """All that was read of a run, what became of every rule (the suppressed aside), and the diagnosis."""

    evidence: RunEvidence
    findings: tuple[Finding, ...]
    diagnosis: Diagnosis
    outcomes: tuple[Outcome, ...]


def examine(run: Run, *, mode: Mode | None = None) -> Examination:
    """Read a run once and diagnose it; `mode` is a hint, tested first and never believed blindly."""
    book = load_rulebook(run.project.own_signatures)
    plan = plan_of(tuple(book.signatures.values()))
    evidence = Collector(plan.literals, plan.reader, dialect_of(run.project.settings)).run(run)
    return _examination(evidence, book, mode)


def investigate(run: Run, *, mode: Mode | None = None) -> tuple[RunEvidence, Diagnosis]:
    """All that was read of a run, and its diagnosis."""
    done = examine(run, mode=mode)
    return done.evidence, done.diagnosis


def diagnose(run: Run, *, mode: Mode | None = None) -> Diagnosis:
    """The diagnosis of a run."""
    return investigate(run, mode=mode)[1]


def diagnose_text(text: str, *, mode: Mode | None = None, own_signatures: Path | None = None) -> Diagnosis:
    """The diagnosis of a pasted traceback or log; `own_signatures` is the project's folder of them."""
    book = load_rulebook(own_signatures)
    plan = plan_of(tuple(book.signatures.values()))
    return diagnose_evidence(Collector(plan.literals, plan.reader).text(text), book, mode=mode)


def diagnose_evidence(evidence: RunEvidence, book: Rulebook, *, mode: Mode | None = None) -> Diagnosis:
    """The diagnosis from what was read; `mode` is a hint."""
    return _examination(evidence, book, mode).diagnosis


def _examination(evidence: RunEvidence, book: Rulebook, mode: Mode | None) -> Examination:
    outcomes, suppressed = suppress(all_outcomes(evidence, book), evidence.run.project.settings.suppressions)
    findings = [finding for outcome in outcomes for finding in outcome.findings]
    competing = competitors(findings, evidence, book)
    failures = [finding for finding in competing if finding.role in {"root", "symptom"}]
    ranked = rank(competing, book)
    ending = ending_of(evidence, findings, failures, book)
    roots = _hinted_first(ranked, mode)
    hypotheses, beyond = _hypotheses(roots, ranked, findings, evidence, book)
    consequences = consequences_of(ranked, hypotheses)
    verdict = _verdict(hypotheses, ending, evidence)
    diagnosis = Diagnosis(
        run_id=evidence.run.id,
        run_state=ending.state,
        verdict=verdict,
        summary=_summary(verdict, hypotheses, ending, evidence, findings),
        modes=tuple(hypotheses) if verdict == "failure" else (),
        determinism=determinism_of(roots[0], findings, evidence) if roots else "unknown",
        consequences=consequences[:MOST_CONSEQUENCES],
        next_skill=_next_skill(roots, hypotheses, findings, book),
        seen_before=_seen_before(hypotheses, roots, evidence.run.risks),
        checked=_checked(outcomes, suppressed),
        coverage=_coverage(evidence),
        omitted=_omitted(beyond, consequences),
    )
    return Examination(evidence, tuple(findings), diagnosis, tuple(outcomes))


def _hinted_first(ranked: Ranked, hint: Mode | None) -> list[Finding]:
    """The roots in order; a hint moves the first error of its mode to the front, and nothing else."""
    roots = list(ranked.roots)
    grave = [root for root in roots if LEVELS[root.level] <= LEVELS["error"]] or roots
    hinted = next((root for root in grave if root.mode in meant_by(hint)), None)
    return roots if hinted is None else [hinted, *(root for root in roots if root is not hinted)]


def meant_by(hint: Mode | None) -> tuple[Mode | None, ...]:
    """The modes that a suspicion covers: who says "slow" cannot know yet whether the data is."""
    return ("slow-training", "slow-data") if hint == "slow-training" else (hint,)


def _hypotheses(
    roots: Sequence[Finding], ranked: Ranked, findings: Sequence[Finding], evidence: RunEvidence, book: Rulebook
) -> tuple[list[Hypothesis], int]:
    """One hypothesis for each distinct mode and cause, the first few of them, and how many more there are."""
    made: list[Hypothesis] = []
    distinct: set[tuple[Mode, str | None]] = set()
    for root in roots:
        choice = choose_cause(root, findings, book)
        about = mode_of(root, choice), choice.cause.id if choice.cause else None
        if about not in distinct and len(made) < MOST_HYPOTHESES:
            made.append(hypothesis_of(root, choice, ranked, findings, evidence, book, first=not made))
        distinct.add(about)
    return made, len(distinct) - len(made)


def _verdict(hypotheses: Sequence[Hypothesis], ending: Ending, evidence: RunEvidence) -> Verdict:
    if hypotheses:
        return "failure"
    if ending.state in _BAD_STATES or _nonfinite_at_end(evidence):
        return "inconclusive"
    if (ending.normal or (ending.progressing and evidence.trained)) and _saw_the_loss(evidence):
        return "healthy"
    return "inconclusive"


def _saw_the_loss(evidence: RunEvidence) -> bool:
    """Whether the losses that the run logs were seen: in text or tables, or nothing is left that may hold them."""
    if any(True for _ in evidence.series("loss", "eval-loss", "metric")):
        return True
    read = {path for entry in evidence.numbers for path in (entry.name, f"{entry.name}/")}
    return not any(
        artifact.kind in TRACKERS and artifact.name not in read and f"{artifact.name.rpartition('/')[0]}/" not in read
        for artifact in evidence.run.artifacts
    )


def _nonfinite_at_end(evidence: RunEvidence) -> bool:
    """Whether a reported loss ends non-finite without being a finding (a perplexity that overflows)."""
    last = last_attempt(evidence)
    return any(
        not math.isfinite(series.values[-1])
        for entry, series in evidence.series("loss", "eval-loss")
        if entry.artifact.attempt >= last
    )


_BAD_STATES = frozenset({"failed", "cancelled", "timeout", "preempted"})


def _summary(
    verdict: Verdict,
    hypotheses: Sequence[Hypothesis],
    ending: Ending,
    evidence: RunEvidence,
    findings: Sequence[Finding],
) -> str:
    if verdict == "failure":
        return hypotheses[0].summary
    if verdict == "healthy":
        return healthy_summary(ending, evidence, findings)
    return inconclusive_summary(ending, evidence)


def _next_skill(
    roots: Sequence[Finding], hypotheses: Sequence[Hypothesis], findings: Sequence[Finding], book: Rulebook
) -> str | None:
    if not roots or not hypotheses:
        return "result-diagnosis" if results_of(findings) else None
    cause = book.causes.get(hypotheses[0].cause or "")
    if cause is not None:
        return cause.next_skill
    return "data-pipeline-manager" if roots[0].symptom_class == "data-invalid" else None


def risk_fingerprints(done: Examination) -> tuple[str, ...]:
    """What a risk about the first hypothesis is known by: that of the finding it quotes first, then of its likes."""
    if not done.diagnosis.modes:
        return ()
    first = done.diagnosis.modes[0]
    places = {(item.path, item.line) for item in first.evidence}
    alike = [finding for finding in done.findings if finding.rule == first.rules[0]]
    alike.sort(key=lambda finding: (finding.position.path, finding.position.line) not in places)
    return tuple(dict.fromkeys(risk_fingerprint(first.cause, finding) for finding in alike))


def _seen_before(hypotheses: Sequence[Hypothesis], roots: Sequence[Finding], risks: Sequence[Risk]) -> tuple[str, ...]:
    """Ids of the risks on the project's board that one of the hypotheses repeats."""
    known = {
        risk_fingerprint(hypothesis.cause, root)
        for hypothesis in hypotheses
        for root in roots
        if root.rule == hypothesis.rules[0]
    }
    return tuple(dict.fromkeys(risk.id for risk in risks if risk.fingerprint in known))


def _checked(outcomes: Sequence[Outcome], suppressed: int) -> Checked:
    missing: dict[str, int] = {}
    for outcome in outcomes:
        if outcome.status == "not_applicable":
            missing[outcome.reason or ""] = missing.get(outcome.reason or "", 0) + 1
    return Checked(
        fired=tuple(outcome.rule for outcome in outcomes if outcome.status == "fired"),
        error=tuple(f"{outcome.rule}: {outcome.reason}" for outcome in outcomes if outcome.status == "error"),
        not_applicable=missing,
        clear=sum(outcome.status == "clear" for outcome in outcomes),
        suppressed=suppressed or None,
    )


def _coverage(evidence: RunEvidence) -> Coverage:
    read = list({entry.name: entry for entry in reversed([*evidence.all_files()])}.values())
    slow = "scanned with the standard library; install hyperscan for speed" if evidence.engine != "hyperscan" else None
    return Coverage(
        files=len(read),
        lines=sum(entry.stats.lines for entry in read),
        bytes=sum(entry.stats.bytes for entry in read),
        points=sum(len(series) for entry in evidence.numbers for series in entry.recorded) or None,
        unreadable=tuple(evidence.unreadable),
        not_looked_at=tuple(evidence.not_looked_at),
        note=slow,
    )


def _omitted(hypotheses: int, consequences: Sequence[Consequence]) -> dict[str, int]:
    counts = {"hypotheses": hypotheses, "consequences": max(0, len(consequences) - MOST_CONSEQUENCES)}
    return {key: count for key, count in counts.items() if count}
