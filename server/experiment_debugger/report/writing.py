"""The answers of the verbs that write: what stands where now, what became of each check, what is missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeVar

from experiment_debugger.models import Frozen, as_dict
from experiment_debugger.report.answers import LAST_RESORT
from experiment_debugger.report.budget import Clip, Cut, Step, Tree, capacity, compact, shrink, size, speakable
from experiment_debugger.report.quoting import one_line
from experiment_debugger.results import HandoffResult, ReportResult, RiskResult

REPORT_PLAN: tuple[Step, ...] = (
    Cut("changed", 6),
    Clip("sanity_check.*.evidence.*", 300),
    Clip("sanity_check.*.reason", 160),
    Cut("sanity_check.*.evidence", 2, "evidence"),
    Clip("summary", 300),
    Clip("sanity_check.*.evidence.*", 120),
    Cut("changed", 0),
    Cut("sanity_check.*.evidence", 1, "evidence"),
    *LAST_RESORT,
)
RISK_PLAN: tuple[Step, ...] = (Clip("row.*", 200), Clip("row.*", 80), *LAST_RESORT)
HANDOFF_PLAN: tuple[Step, ...] = (Clip("missing.*", 300), Cut("missing", 6), Clip("missing.*", 120), *LAST_RESORT)
Result = TypeVar("Result", ReportResult, RiskResult, HandoffResult)


def fitted_report(result: ReportResult, max_tokens: int) -> ReportResult:
    """The result cut so that both its JSON and its Markdown fit; `omitted` counts what is missing."""
    return _fitted(result, REPORT_PLAN, report_markdown, max_tokens)


def fitted_risk(result: RiskResult, max_tokens: int) -> RiskResult:
    """Likewise for a risk."""
    return _fitted(result, RISK_PLAN, risk_markdown, max_tokens)


def fitted_handoff(result: HandoffResult, max_tokens: int) -> HandoffResult:
    """Likewise for a hand-off."""
    return _fitted(result, HANDOFF_PLAN, handoff_markdown, max_tokens)


def _fitted(result: Result, plan: Sequence[Step], show: Callable[[Result], str], max_tokens: int) -> Result:
    def build(data: Tree, left_out: Counter[str]) -> Result:
        return type(result).model_validate({**data, "omitted": dict(left_out)})

    def measure(data: Tree, left_out: Counter[str]) -> int:
        kept: Frozen = build(data, left_out)
        return max(size(compact(as_dict(kept))), size(show(build(data, left_out))))

    return build(*shrink(speakable(as_dict(result)), tuple(plan), measure, capacity(max_tokens)))


def report_markdown(result: ReportResult) -> str:
    """Path and status first, then each check."""
    lines = [f"# {one_line(result.path)}: {result.status}", one_line(result.summary, 600), ""]
    for one in result.sanity_check:
        reason = f" (reason: {one_line(one.reason)})" if one.reason and one.result != "pass" else ""
        lines.append(f"- {one.check}: {one.result}. {one_line('; '.join(one.evidence), 800)}{reason}")
    lines.append(f"- changed: {', '.join(result.changed) or 'nothing'}")
    if result.picture:
        lines.append(f"- picture: {one_line(result.picture)}")
    return "\n".join([*lines, *_notes(result.notes)])


def risk_markdown(result: RiskResult) -> str:
    """Id and what became of it, then the row."""
    lines = [f"# {result.id} {result.action} in {one_line(result.path)}"]
    lines += [f"- {one_line(name, 60)}: {one_line(value, 400)}" for name, value in result.row.items() if value]
    return "\n".join([*lines, *_notes(result.notes)])


def handoff_markdown(result: HandoffResult) -> str:
    """Id, consumer and state, then where it stands and what is missing."""
    lines = [f"# {result.id} to {result.to}: {result.status} ({result.action})"]
    lines += [f"- {one_line(path)}" for path in result.paths]
    lines += [f"- missing: {one_line(item, 400)}" for item in result.missing]
    return "\n".join([*lines, *_notes(result.notes)])


def _notes(notes: Sequence[str]) -> list[str]:
    return [f"- {one_line(note, 400)}" for note in notes]
