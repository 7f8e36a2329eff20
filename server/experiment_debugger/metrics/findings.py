"""What the rules say about each series, and in one line about the whole run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from experiment_debugger.evidence import quote_of
from experiment_debugger.metrics.course import anomalies, rounded
from experiment_debugger.metrics.selection import Curve
from experiment_debugger.models import Diagnosis, Evidence, Finding

NOTHING = "No anomaly found."


def about_series(findings: Sequence[Finding]) -> list[Finding]:
    """The findings that quote a point of a series, those that did not recover first."""
    told = [finding for finding in findings if any(one.key for one in finding.evidence)]
    return sorted(told, key=lambda finding: finding.recovered)


@dataclass(frozen=True, slots=True)
class Told:
    """One series and the findings about it, each with the point that it names first."""

    curve: Curve
    findings: tuple[tuple[Finding, Evidence], ...] = ()

    def anomalies(self) -> list[dict[str, Any]]:
        """What the rules found, then what is odd by itself."""
        return [*(_told(finding, point) for finding, point in self.findings), *anomalies(self.curve)]


def tell(curves: Iterable[Curve], findings: Sequence[Finding]) -> list[Told]:
    """Every curve with what was found about it."""
    return [Told(curve, tuple(_about(curve, findings))) for curve in curves]


def _about(curve: Curve, findings: Sequence[Finding]) -> Iterable[tuple[Finding, Evidence]]:
    for finding in findings:
        if curve.rank is not None and finding.position.rank not in {None, curve.rank}:
            continue
        point = next((one for one in finding.evidence if one.key == curve.key and one.path == curve.path), None)
        if point is not None and (point.step is None or curve.steps[0] <= point.step <= max(curve.steps)):
            yield finding, point


def _told(finding: Finding, point: Evidence) -> dict[str, Any]:
    value = rounded(point.value) if isinstance(point.value, float) else point.value
    fact = {"kind": "finding", "rule": finding.rule, "step": point.step, "value": value}
    fact |= {"recovered": True} if finding.recovered else {}
    return {key: item for key, item in fact.items() if item is not None}


def headline(told: Sequence[Told], diagnosis: Diagnosis | None) -> str:
    """What stands below a picture: the root if its series is shown, else the diagnosis, else the first finding."""
    roots = diagnosis.modes[0].rules if diagnosis is not None and diagnosis.modes else ()
    found = [pair for one in told for pair in one.findings]
    for finding, point in found:
        if roots and finding.rule == roots[0]:
            return _line(finding, point)
    if diagnosis is not None and diagnosis.modes:
        return f"{quote_of(diagnosis.summary).rstrip('.')} ({roots[0]})"
    return next((_line(*pair) for pair in found if not pair[0].recovered), None) or _oddest(told)


def _line(finding: Finding, point: Evidence) -> str:
    at = f", step {point.step}" if point.step is not None else ""
    return f"{quote_of(finding.title)} ({finding.rule}{at})"


def _oddest(told: Sequence[Told]) -> str:
    """The first value that is not finite, or the first spike, in words."""
    odd = [(one.curve, fact) for one in told if one.curve.role for fact in anomalies(one.curve)]
    for kind, says in (
        ("nonfinite", "is"),
        ("spike", "jumps to"),
        ("jump", "goes to"),
        ("drop", "drops to"),
        ("overflow", "falls to"),
    ):
        for curve, fact in odd:
            if fact["kind"] == kind:
                return (
                    f"{quote_of(curve.key)} {says} {fact['value']} at {curve.axis} {fact['step']}; no rule fired on it."
                )
    return NOTHING
