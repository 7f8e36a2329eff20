"""Which findings can be the root or an effect: real, of the attempt in question, and not recovered."""

from __future__ import annotations

from collections.abc import Sequence

from experiment_debugger.diagnose.findings import LASTING
from experiment_debugger.diagnose.ranking import comes_before, rank
from experiment_debugger.evidence import FileEvidence, RunEvidence
from experiment_debugger.models import Finding
from experiment_debugger.rules.rulebook import Rulebook, effects

REPAIRABLE = frozenset({"scheduler-ended", "rank-died", "process-killed", "worker-died", "peer-lost", "hardware-fault"})
FEWEST_SURVIVED = 3
"""Tracebacks of one log that training went on after, before another one is believed to be no different."""
COMPETING = frozenset({"root", "symptom", "teardown"})


def competitors(findings: Sequence[Finding], evidence: RunEvidence, book: Rulebook) -> list[Finding]:
    """The findings that compete, in order of rules."""
    endings = [finding for finding in findings if finding.role == "ending"]
    real = [finding for finding in findings if finding.role in COMPETING and finding.kind == "bug"]
    lasting = [
        finding
        for finding in real
        if not finding.recovered
        and not _recovered_elsewhere(finding, evidence, endings)
        and not _overtaken(finding, endings)
        and not _made_good(finding, evidence, endings)
        and not _is_habit(finding, evidence, endings)
    ]
    repeated = [finding for finding in lasting if _told_twice(finding, real, lasting, evidence)]
    lasting = [finding for finding in lasting if finding not in repeated]
    lasting = _of_last_attempt(lasting, endings, evidence, book)
    return lasting + [_twin(finding, repeated) for finding in _misplaced(real, lasting, evidence, book)]


def last_attempt(evidence: RunEvidence) -> int:
    """The index of the latest attempt that wrote a log."""
    return max((entry.artifact.attempt for entry in evidence.files if entry.stats.lines), default=0)


def _of_last_attempt(
    lasting: list[Finding], endings: Sequence[Finding], evidence: RunEvidence, book: Rulebook
) -> list[Finding]:
    """Failures of the last attempt, and earlier ones that lead to them; earlier ones alone when it left no trace."""
    last = last_attempt(evidence)
    current = [finding for finding in lasting if finding.position.attempt == last]
    failed = [finding for finding in current if finding.role != "teardown"]
    if not failed:
        over = any(ending.position.attempt == last for ending in endings)
        went_on = any(entry.artifact.attempt == last and entry.progress.lines for entry in evidence.files)
        return current if over or went_on else lasting
    classes = {finding.symptom_class for finding in failed}
    rules = {finding.rule for finding in failed}
    return current + [
        finding
        for finding in lasting
        if finding.position.attempt != last
        and (finding.rule in rules or classes & effects(book.symptoms, finding.symptom_class))
    ]


def _recovered_elsewhere(finding: Finding, evidence: RunEvidence, endings: Sequence[Finding]) -> bool:
    """Whether an error in a file without progress was followed by progress or a normal end in another file."""
    own = _log(finding, evidence)
    if own is None or own.progress.lines or finding.mode in LASTING:
        return False
    attempt = finding.position.attempt
    others = [entry for entry in evidence.files if entry is not own and entry.artifact.attempt == attempt]
    when = finding.position.time
    if when is not None and any(entry.times() for entry in others):
        return sum(stamp > when + 1 for entry in others for stamp in entry.times()) >= 2
    ended = any(ending.position.path != own.name and ending.position.attempt == attempt for ending in endings)
    return ended and finding.level != "fatal"


def _told_twice(finding: Finding, real: Sequence[Finding], lasting: Sequence[Finding], evidence: RunEvidence) -> bool:
    """Whether a file without progress repeats what another one shows to be made good (Ray's error.txt)."""
    own = _log(finding, evidence)
    if own is None or own.progress.lines:
        return False
    same = [
        other
        for other in real
        if other.rule == finding.rule and other.position.path != own.name and comes_before(other, finding) is None
    ]
    return bool(same) and not any(other in lasting for other in same)


def _twin(finding: Finding, repeated: Sequence[Finding]) -> Finding:
    """The same failure in a log of its own (a rank's stderr) rather than in the console that collects all of them."""
    same = (other for other in repeated if other.rule == finding.rule and other.exception == finding.exception)
    return next(same, finding)


def _overtaken(finding: Finding, endings: Sequence[Finding]) -> bool:
    """Whether a normal end settles a finding.

    A job that was cleared away after its training was complete did not fail; an interruption or a dead helper process
    before a normal end of the same file was made good by a requeue or a retry.
    """
    if finding.symptom_class == "scheduler-ended":
        return any(comes_before(ending, finding) is True or _is_before(finding, ending) for ending in endings)
    return finding.role == "symptom" and any(_is_before(finding, ending) for ending in endings)


def _is_habit(finding: Finding, evidence: RunEvidence, endings: Sequence[Finding]) -> bool:
    """Whether the log prints tracebacks all the time (caught, or generated by a language model) and then ends well."""
    own = evidence.file(finding.position.path)
    if finding.rule != "python-exception" or own is None:
        return False
    survived = sum(own.recovered_after(block.last) for block in own.tracebacks)
    over = any(ending.position.path == own.name and _is_before(finding, ending) for ending in endings)
    return over and survived >= FEWEST_SURVIVED


def _is_before(finding: Finding, ending: Finding) -> bool:
    return comes_before(finding, ending) is True


def _made_good(finding: Finding, evidence: RunEvidence, endings: Sequence[Finding]) -> bool:
    """Whether the training itself went on to a normal end although a node, a helper or an earlier try was lost.

    Only for losses that a scheduler, an elastic launcher or a restart repairs, told in a file without progress, and
    not known to come after the end.
    """
    if finding.symptom_class not in REPAIRABLE or finding.rule.startswith("slurm-state-failed"):
        return False
    own, main = _log(finding, evidence), _main_log(evidence)
    if own is None or own.progress.lines or main is None or main is own:
        return False
    end = next((ending for ending in reversed(endings) if ending.position.path == main.name), None)
    return end is not None and comes_before(end, finding) is not True


def _log(finding: Finding, evidence: RunEvidence) -> FileEvidence | None:
    """The file that a finding stands in, unless it is a source of numbers: there the detector knows what recovered."""
    return next((entry for entry in (*evidence.files, *evidence.facts) if entry.name == finding.position.path), None)


def _main_log(evidence: RunEvidence) -> FileEvidence | None:
    """The log with most training reports."""
    return max(evidence.files, key=lambda entry: len(entry.progress.lines), default=None)


def _misplaced(
    real: Sequence[Finding], lasting: Sequence[Finding], evidence: RunEvidence, book: Rulebook
) -> list[Finding]:
    """Exceptions above all reports of their file that look recovered, when the end of the run has no other reason.

    torchrun's tee and buffered stdout print a late exception before the progress that came first.
    """
    unexplained = [root for root in rank(lasting, book).roots if root.role == "symptom"]
    if not unexplained or any(finding.role == "root" for finding in lasting):
        return []
    found = []
    for finding in real:
        own = evidence.file(finding.position.path)
        line = finding.position.line
        if finding.role != "root" or not finding.recovered or own is None or line is None:
            continue
        reach = effects(book.symptoms, finding.symptom_class)
        if own.stands_above_all_reports(line) and any(root.symptom_class in reach for root in unexplained):
            found.append(finding)
    return found
