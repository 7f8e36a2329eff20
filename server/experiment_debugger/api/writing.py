"""The verbs that write into the project: the debug report, the risk board and the hand-offs."""

# No `from __future__ import annotations` here: the surfaces read the annotations of these functions as objects.

from typing import TYPE_CHECKING

from experiment_debugger.api.places import examined, project_of, run_of
from experiment_debugger.arguments import (
    Actions,
    Certainty,
    FixCommit,
    Hypotheses,
    Kind,
    MaxTokens,
    Mitigation,
    Note,
    OneRunId,
    Probability,
    ProjectDir,
    Reasons,
    RiskId,
    RiskStatus,
    RootCause,
    RunId,
    Severity,
    Summary,
    Threatens,
    To,
    WhyUnchanged,
)
from experiment_debugger.report.budget import DEFAULT_TOKENS

if TYPE_CHECKING:
    from experiment_debugger.results import HandoffResult, ReportResult, RiskResult


def write_debug_report(
    run_id: OneRunId,
    root_cause: RootCause = None,
    fix_commit: FixCommit = None,
    why_unchanged: WhyUnchanged = None,
    hypothesis: Hypotheses = None,
    note: Note = None,
    reason: Reasons = None,
    project: ProjectDir = None,
    max_tokens: MaxTokens = DEFAULT_TOKENS,
) -> "ReportResult":
    """Create or update docs/ops/runs/RUN-debug.md: evidence, smoke tests, fix and the final sanity check, whose status
    is computed. What people wrote stays; what was told before is remembered.
    """
    from experiment_debugger.api.reporting import report_on
    from experiment_debugger.api.telling import told_of
    from experiment_debugger.report.writing import fitted_report
    from experiment_debugger.verify.casework import told_commit

    run = run_of(run_id, project_of(project))
    told = told_of(root_cause, told_commit(run, fix_commit), why_unchanged, hypothesis, note, reason)
    return fitted_report(report_on(examined(run), told), max_tokens)


def append_risk_board(
    run_id: RunId = None,
    id: RiskId = None,  # noqa: A002 (the column's name)
    kind: Kind = None,
    status: RiskStatus = None,
    severity: Severity = None,
    probability: Probability = None,
    summary: Summary = None,
    threatens: Threatens = None,
    mitigation: Mitigation = None,
    actions: Actions = None,
    certainty: Certainty = None,
    project: ProjectDir = None,
    max_tokens: MaxTokens = DEFAULT_TOKENS,
) -> "RiskResult":
    """Record a risk in memory/risk-board.md; a run's diagnosis fills what is not given. One already there (same cause
    or summary) is updated, not doubled.
    """
    from experiment_debugger.api.reporting import risk_of
    from experiment_debugger.report.writing import fitted_risk
    from experiment_debugger.writeback.risks import RiskWish

    place = project_of(project)
    wish = RiskWish(
        id, kind, status, severity, probability, summary, threatens, mitigation, actions, certainty
    )  # fmt: skip
    done = examined(run_of(run_id, place)) if run_id is not None else None
    return fitted_risk(risk_of(place, done, wish), max_tokens)


def hand_off(
    run_id: OneRunId,
    to: To = "run-experiment",
    project: ProjectDir = None,
    max_tokens: MaxTokens = DEFAULT_TOKENS,
) -> "HandoffResult":
    """Hand a run to a sibling skill: a row in memory/handoff-board.md and a YAML payload; ready only when the skill can
    act without asking, else the answer lists what is missing.
    """
    from experiment_debugger.api.reporting import handed_off
    from experiment_debugger.report.writing import fitted_handoff

    return fitted_handoff(handed_off(examined(run_of(run_id, project_of(project))), to), max_tokens)
