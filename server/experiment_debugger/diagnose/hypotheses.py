"""One ranked explanation from a root finding: evidence, confidence, contradiction, and what would refute it."""

from __future__ import annotations

from collections.abc import Sequence

from experiment_debugger.diagnose.causes import CauseChoice
from experiment_debugger.diagnose.findings import strongest
from experiment_debugger.diagnose.onset import onset_of, traceback_at
from experiment_debugger.diagnose.outcome import Ending
from experiment_debugger.diagnose.quotes import with_quotes
from experiment_debugger.diagnose.ranking import Ranked, comes_before
from experiment_debugger.evidence import FileEvidence, RunEvidence, quote_of
from experiment_debugger.models import Confidence, Consequence, Determinism, Evidence, Finding, Hypothesis, Mode, Onset
from experiment_debugger.readers.roles import role_of
from experiment_debugger.rules.detectors.tracker_plan import planned_epochs, planned_steps
from experiment_debugger.rules.rulebook import Rulebook

MOST_EVIDENCE = 5
MOST_LINES = 3
_ENDS_THAT_ARE_SEEN = frozenset({"planned-end-reached", "log-last-words-result"})
"""Rules of an end that the run does not call one: their title says what was seen."""
LEADING_LINES = 12


def hypothesis_of(
    root: Finding,
    choice: CauseChoice,
    ranked: Ranked,
    findings: Sequence[Finding],
    evidence: RunEvidence,
    book: Rulebook,
    *,
    first: bool,
) -> Hypothesis:
    """The hypothesis that this finding is the root of the failure."""
    info = book.info(root.rule)
    cause = choice.cause
    effects_of_root = [effect for effect, reason in ranked.explained if reason is root]
    same = [other for other in ranked.roots if other is not root and other.symptom_class == root.symptom_class]
    rivals = [other for other in ranked.roots if other.symptom_class != root.symptom_class]
    mode = mode_of(root, choice)
    onset = onset_of(root, evidence, book)
    checks = [cause.confirm] if cause else []
    checks += [text for text in (info.confirm if info else ()) if text not in checks]
    return Hypothesis(
        mode=mode,
        cause=cause.id if cause else None,
        confidence=_confidence(root, choice, effects_of_root, same, rivals, first=first),
        summary=_summary(root, choice),
        onset=onset,
        evidence=_evidence(root, choice, [*leading_context(root, findings), *same, *effects_of_root], evidence),
        against=_against(choice, rivals),
        unknown=_unknown(choice, onset, evidence),
        refute_with=checks[0] if checks else None,
        next_checks=tuple(checks[1 : 1 + MOST_LINES]),
        rules=tuple(dict.fromkeys([root.rule, *(finding.rule for finding in choice.support)])),
    )


def mode_of(root: Finding, choice: CauseChoice) -> Mode:
    """The mode of the cause where one is known, else of the symptom."""
    return choice.cause.mode if choice.cause else root.mode or "crash"


def leading_context(root: Finding, findings: Sequence[Finding]) -> list[Finding]:
    """Warnings right before the root: numpy's word on the operation that made the NaN, a setting that failed."""
    line = root.position.line or 0
    return [
        finding
        for finding in findings
        if finding.role == "context"
        and finding.mode in {root.mode, None}
        and finding.level == "warning"
        and finding.position.path == root.position.path
        and 0 <= line - (finding.position.line or 0) <= LEADING_LINES
    ]


def _summary(root: Finding, choice: CauseChoice) -> str:
    seen = f"{_sentence(root)} ({_at(root)})."
    return f"{choice.cause.text.rstrip('.')}. {seen}" if choice.cause else seen


def _sentence(root: Finding) -> str:
    """The title with a capital, unless it begins with a name (of a metric, a file) rather than a word."""
    word = root.title.split(" ", 1)[0]
    is_name = not word.isalpha() or root.title.startswith(root.values.get("key", "\0"))
    return root.title if is_name else root.title[:1].upper() + root.title[1:]


def _evidence(
    root: Finding, choice: CauseChoice, caused: Sequence[Finding], evidence: RunEvidence
) -> tuple[Evidence, ...]:
    """The root first, then what speaks for the cause, where the exception chain ends, companions, and effects."""
    items = [root.evidence[0]]
    items += [item for finding in choice.support if finding is not root for item in finding.evidence[:1]]
    items += _chain(root, evidence)
    items += root.evidence[1:]
    items += [finding.evidence[0] for finding in caused]
    return with_quotes(strongest(items, MOST_EVIDENCE), evidence)


def _chain(root: Finding, evidence: RunEvidence) -> list[Evidence]:
    """First and last exception line of the chain that the root's line belongs to, and the user's deepest frame."""
    block = traceback_at(root.position.path, root.position.line, evidence)
    if block is None:
        return []
    found = []
    while block.wrapped_by is not None:
        block = block.wrapped_by
    lines = [(block.root.last, block.root.prefix + block.root.text), (block.last, block.prefix + block.text)]
    for line, text in lines:
        found.append(Evidence(path=root.position.path, line=line, quote=quote_of(text)))
    return found


def _confidence(
    root: Finding,
    choice: CauseChoice,
    caused: Sequence[Finding],
    same: Sequence[Finding],
    rivals: Sequence[Finding],
    *,
    first: bool,
) -> Confidence:
    """High needs a specific symptom, something independent that agrees, and nothing against."""
    grave = [rival for rival in rivals if rival.level in {"fatal", "error"} and rival.role == "root"]
    unordered = [rival for rival in grave if comes_before(root, rival) is not True]
    if choice.against or root.role == "symptom" or not first or unordered:
        return "low" if root.role == "symptom" or not first else "medium"
    specific = root.rule != "python-exception"
    witnesses = any(_is_independent(other, root) for other in (*same, *choice.support))
    agrees = bool(caused or root.count > 1 or witnesses)
    if root.level in {"warning", "info"}:
        return "medium" if agrees else "low"
    return "high" if specific and agrees and not grave and not choice.by_default else "medium"


def _is_independent(other: Finding, root: Finding) -> bool:
    """Whether a finding is a witness of its own: not the same quantity, of whatever source, looked at twice."""
    keys = other.values.get("key"), root.values.get("key")
    return other is not root and (None in keys or role_of(keys[0] or "") != role_of(keys[1] or ""))


def _against(choice: CauseChoice, rivals: Sequence[Finding]) -> tuple[str, ...]:
    """What speaks against the hypothesis, each sort of finding once with how often it was seen."""
    grave = [rival for rival in rivals if rival.level in {"fatal", "error"}]
    lines = [
        *_told(choice.against, "speaks against it: "),
        *_told(grave, "not explained by it: "),
    ]
    return tuple(lines[:MOST_LINES])


def _told(findings: Sequence[Finding], lead: str) -> list[str]:
    by_rule: dict[str, list[Finding]] = {}
    for finding in findings:
        by_rule.setdefault(finding.rule, []).append(finding)
    return [
        f"{lead}{same[0].title} ({place_of(same[0])}" + (f" and {len(same) - 1} more)" if len(same) > 1 else ")")
        for same in by_rule.values()
    ]


def _unknown(choice: CauseChoice, onset: Onset, evidence: RunEvidence) -> tuple[str, ...]:
    lines = [f"{cause.id}? {cause.confirm}" for cause in choice.open[:MOST_LINES]]
    if choice.cause is None and not choice.open:
        lines.append("why it happened: the artifacts show the failure, not its cause")
    if onset.step is None and evidence.trained:
        lines.append("at which step it began")
    return tuple(lines)


def consequences_of(ranked: Ranked, hypotheses: Sequence[Hypothesis]) -> tuple[Consequence, ...]:
    """Loud lines and what explains them, one a rule and file."""
    if not hypotheses:
        return ()
    top = hypotheses[0]
    name = f"{top.mode}/{top.cause}" if top.cause else top.mode
    seen: set[tuple[str, str]] = set()
    made = []
    for effect, reason in ranked.explained:
        key = (effect.rule, effect.position.path)
        if key in seen:
            continue
        seen.add(key)
        by = name if reason.rule in top.rules else reason.rule
        made.append(
            Consequence(rule=effect.rule, path=effect.position.path, line=effect.position.line, explained_by=by)
        )
    return tuple(made)


def determinism_of(root: Finding, findings: Sequence[Finding], evidence: RunEvidence) -> Determinism:
    """Whether the attempts of the run failed alike: same rule at the same step, or not."""
    attempts = {artifact.attempt for artifact in evidence.run.artifacts if artifact.kind == "log"}
    if len(attempts) < 2:
        return "unknown"
    steps = {
        finding.position.attempt: finding.position.step
        for finding in findings
        if finding.fingerprint == root.fingerprint or finding.rule == root.rule
    }
    if set(steps) != attempts:
        return "intermittent"
    return "deterministic" if len(set(steps.values())) == 1 else "intermittent"


def healthy_summary(ending: Ending, evidence: RunEvidence, findings: Sequence[Finding]) -> str:
    """What makes the run healthy, in one or two sentences."""
    end = _end_of(ending)
    seen = any(True for _ in evidence.series("loss", "eval-loss"))
    losses = ", and its losses are finite" if seen else "; no loss stands in its text"
    recovered = sum(finding.recovered and finding.role in {"root", "symptom"} for finding in findings)
    step = f", last step {evidence.last_step}" if evidence.last_step is not None else ""
    note = f" {recovered} errors on the way were followed by progress." if recovered else ""
    science = "".join(
        f" To look at, though no failure: {_told_result(finding)}." for finding in results_of(findings)[:2]
    )
    return f"No failure found: {end}{step}{losses}.{note}{science}"


def results_of(findings: Sequence[Finding]) -> list[Finding]:
    """Findings about valid but disappointing results, one of a rule."""
    return list({finding.rule: finding for finding in reversed(findings) if finding.kind == "science"}.values())[::-1]


def _told_result(finding: Finding) -> str:
    return f"{finding.title} ({_at(finding)})"


def _at(finding: Finding) -> str:
    """Step and place of a finding."""
    step = f"step {finding.position.step}, " if finding.position.step is not None else ""
    return step + place_of(finding)


def _end_of(ending: Ending) -> str:
    if ending.progressing:
        return "it is still running and its log ends in progress"
    if ending.said_by is None:
        return "its last report stands at the planned end"
    place = place_of(ending.said_by)
    if ending.said_by.rule in _ENDS_THAT_ARE_SEEN:
        return f"{ending.said_by.title} ({place})"
    return f"it says that it ended normally ({place})"


def inconclusive_summary(ending: Ending, evidence: RunEvidence) -> str:
    """What is missing for an answer."""
    if not evidence.files:
        return "Inconclusive: no readable log belongs to this run."
    if all(entry.stats.lines == 0 for entry in evidence.files):
        return "Inconclusive: the logs of this run are empty."
    if ending.state in {"failed", "cancelled", "timeout", "preempted"}:
        return f"Inconclusive: the run ended as {ending.state}, and its artifacts do not show why."
    if ending.stops:
        return f"Inconclusive: {_stop_of(evidence)}."
    if ending.normal and not any(True for _ in evidence.series("loss", "eval-loss", "metric")):
        return "Inconclusive: the run says that it ended normally, but its losses stand in files that were not read."
    if ending.normal:
        return "Inconclusive: the run says that it ended normally, but a value of a loss at its end is not finite."
    return "Inconclusive: no failure that evidence supports, and no normal end either."


def _stop_of(evidence: RunEvidence) -> str:
    """Where the last report stands in the plan, where that is known: only then is it in mid-training."""
    planned = next((found for entry in evidence.files if (found := _short_of(entry, evidence))), None)
    if planned is not None:
        return f"the log stops at {planned} without an error; nothing shows why, or that it still runs"
    step = f" of step {evidence.last_step}" if evidence.last_step is not None else ""
    return (
        f"the log ends with a report{step}, without an error or a word of the end;"
        " nothing shows whether more was planned, or that it still runs"
    )


def _short_of(entry: FileEvidence, evidence: RunEvidence) -> str | None:
    """`step 575 of 600` or `epoch 3 of 10` of the last report of a log that did not reach its plan."""
    progress, loop = entry.progress, entry.progress.loop
    if not progress.lines or loop.began_again:
        return None
    steps, epochs = planned_steps(evidence), planned_epochs(evidence)
    total = progress.total_steps or (steps.count if steps else None)
    last = entry.steps_before(progress.lines[-1])
    if total is not None and last is not None and last < total:
        return f"step {last} of {total}"
    whole = progress.epochs or (epochs.count if epochs else None)
    end = (whole or 0) - (loop.first_epoch != 1)
    return f"epoch {loop.last_epoch:g} of {whole}" if loop.last_epoch is not None and loop.last_epoch < end else None


def place_of(finding: Finding) -> str:
    """Where a finding stands, as a reader can look it up."""
    position = finding.position
    return position.path if position.line is None else f"{position.path}:{position.line}"
