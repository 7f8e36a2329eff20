"""What the rules say about each series, and in one line about the whole run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiment_debugger.evidence import quote_of
from experiment_debugger.metrics.course import anomalies, rounded
from experiment_debugger.metrics.selection import Curve, place_of
from experiment_debugger.models import Diagnosis, Evidence, Finding

NOTHING = "No anomaly found."


def about_series(findings: Sequence[Finding]) -> list[Finding]:
    """The findings that quote a point of a series, those that did not recover first."""
    told = [one for one in findings if one.role != "ending" and any(point.key for point in one.evidence)]
    return sorted(told, key=lambda finding: finding.recovered)


@dataclass(frozen=True, slots=True)
class Told:
    """One series and the findings about it, each with the point that it names first."""

    curve: Curve
    findings: tuple[tuple[Finding, Evidence], ...] = ()

    @property
    def troubles(self) -> list[tuple[Finding, Evidence]]:
        """The findings that say that something is odd: remarks and what recovered are none."""
        return [(one, point) for one, point in self.findings if one.level != "info" and not one.recovered]

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
        is_placed = point is not None and point.step is not None and curve.axis != "record"
        if point is not None and (not is_placed or min(curve.steps) <= (point.step or 0) <= max(curve.steps)):
            yield finding, point


def _told(finding: Finding, point: Evidence) -> dict[str, Any]:
    value = rounded(point.value) if isinstance(point.value, float) else point.value
    fact = {"kind": "finding", "rule": finding.rule, "step": point.step, "value": value}
    fact |= {"recovered": True} if finding.recovered else {}
    return {key: item for key, item in fact.items() if item is not None}


def headline(told: Sequence[Told], diagnosis: Diagnosis | None) -> str:
    """What stands below a picture: the root if its series is shown, else the diagnosis, else the first finding.

    Of several sources that show the root the one with most points says when it began.
    """
    roots = diagnosis.modes[0].rules if diagnosis is not None and diagnosis.modes else ()
    densest = sorted(told, key=lambda one: -len(one.curve))
    shown = [pair for one in densest for pair in one.findings if roots and pair[0].rule == roots[0]]
    if shown:
        return _line(*shown[0])
    if diagnosis is not None and diagnosis.modes:
        return f"{quote_of(diagnosis.summary).rstrip('.')} ({roots[0]})"
    return next((_line(*pair) for one in told for pair in one.troubles), None) or _oddest(told)


def both_headlines(heads: Mapping[str, str]) -> str:
    """What is wrong in each of two runs, by their ids."""
    odd = [f"Run {quote_of(run_id)}: {head.rstrip('.')}." for run_id, head in heads.items() if head != NOTHING]
    return " ".join(odd) or NOTHING


def _line(finding: Finding, point: Evidence) -> str:
    at = f", step {point.step}" if point.step is not None else ""
    return f"{quote_of(finding.title)} ({finding.rule}{at})"


def _oddest(told: Sequence[Told]) -> str:
    """The first value that is not finite, or the first spike, in words."""
    ordered = sorted(told, key=lambda one: (place_of(one.curve), -len(one.curve)))
    odd = [(one, fact) for one in ordered for fact in anomalies(one.curve)]
    for kind, says in (
        ("nonfinite", "is"),
        ("spike", "jumps to"),
        ("jump", "goes to"),
        ("drop", "drops to"),
        ("overflow", "falls to"),
    ):
        for one, fact in odd:
            if fact["kind"] == kind:
                named = [finding.rule for finding, point in one.findings if point.step == fact["step"]]
                about = f" ({', '.join(named)})" if named else "; no rule fired on it"
                where = f"{one.curve.axis} {fact['step']}"
                return f"{quote_of(one.curve.key)} {says} {fact['value']} at {where}{about}."
    return NOTHING
