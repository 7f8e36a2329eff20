"""A diagnosis as Markdown: what happened, what proves it, what speaks against it, what to do next.

    # Run 42: nan-gradient, amp-overflow (high confidence)
    ...
    Cheapest check that could refute this: run the saved batch with autocast off.

Nothing is computed here. A healthy and an inconclusive answer have their own words: what was looked at, what could
not be looked at, what to collect.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from experiment_debugger.models import Consequence, Diagnosis, Evidence, Hypothesis, Onset, RunContext
from experiment_debugger.report.context import context_lines, error_lines
from experiment_debugger.report.quoting import counted, fence, one_line, verbatim_line, word

EMPTY: Mapping[str, int] = MappingProxyType({})
MOST_NAMED = 6
"""Rules that fired without a failure, named in the answer."""


def debug_markdown(
    diagnosis: Diagnosis,
    context: RunContext | None = None,
    collect: Sequence[str] = (),
    notes: Sequence[str] = (),
    left_out: Mapping[str, int] = EMPTY,
) -> str:
    """The whole answer of `debug`: `notes` stand under the heading, `collect` is what would settle an open question."""
    parts = [
        [heading(diagnosis), *notes],
        context_lines(context) if context else [],
        diagnosis_lines(diagnosis, error_lines(context.error) if context else ()),
        collect_lines(collect),
        coverage_lines(diagnosis),
        left_out_lines(diagnosis, left_out),
    ]
    return "\n\n".join("\n".join(part) for part in parts if part)


def heading(diagnosis: Diagnosis) -> str:
    """One line with the answer."""
    run = f"# Run {one_line(diagnosis.run_id, 80)}"
    if diagnosis.verdict != "failure" or not diagnosis.modes:
        return f"{run}: {diagnosis.verdict}"
    first = diagnosis.modes[0]
    return f"{run}: {first.mode}, {first.cause or 'cause open'} ({first.confidence} confidence)"


def diagnosis_lines(diagnosis: Diagnosis, error: Sequence[str] = ()) -> list[str]:
    """The hypothesis with its proof, or why there is none."""
    first = diagnosis.modes[0] if diagnosis.modes else None
    quotes = [*evidence_lines(first.evidence if first else ()), *error]
    lines = ["## Diagnosis", _opening(diagnosis)]
    if first:
        lines += _facts(first, diagnosis)
    lines += fence(quotes)
    lines += consequence_lines(diagnosis.consequences)
    if first:
        lines += _doubts(first)
    lines += [f"Also possible: {_short(other)}" for other in diagnosis.modes[1:]]
    if diagnosis.seen_before:
        lines.append(f"Seen before: {', '.join(map(one_line, diagnosis.seen_before))} in the risk board.")
    if diagnosis.next_skill:
        lines.append(f"Next skill: {diagnosis.next_skill}")
    return lines


def _opening(diagnosis: Diagnosis) -> str:
    summary = one_line(diagnosis.summary, 600)
    if diagnosis.verdict == "inconclusive":
        return f"No root cause that the evidence supports. {summary}"
    return summary


def _facts(first: Hypothesis, diagnosis: Diagnosis) -> list[str]:
    lines = [] if one_line(first.summary, 600) in one_line(diagnosis.summary, 600) else [one_line(first.summary, 600)]
    fact = f"Onset: {onset_words(first.onset)}."
    if diagnosis.determinism != "unknown":
        fact += f" {diagnosis.determinism.capitalize()} over the attempts."
    return [*lines, f"{fact} Rules: {', '.join(first.rules)}."]


def onset_words(onset: Onset) -> str:
    """Phase, step and part of the step where a failure began."""
    step = f", step {onset.step}" if onset.step is not None else ""
    within = f", in {onset.within}" if onset.within else ""
    phase = "phase unknown" if onset.phase == "unknown" else onset.phase
    return f"{phase}{step}{within}"


def evidence_lines(evidence: Iterable[Evidence]) -> list[str]:
    """One line a piece of evidence: where it stands, then what stands there."""
    lines = []
    for item in evidence:
        place = verbatim_line(item.path) + (f":{item.line}" if item.line is not None else "")
        step = f" (step {item.step})" if item.step is not None else ""
        value = f" {one_line(item.key, 80)} = {item.value}" if item.key else ""
        quote = f"| {verbatim_line(item.quote)}" if item.quote else ""
        lines.append(f"{place}{step}{value}{quote}")
    return lines


def consequence_lines(consequences: Sequence[Consequence]) -> list[str]:
    """The loud lines that are not the cause, grouped by rule."""
    groups: dict[tuple[str, str], list[str]] = {}
    for item in consequences:
        place = one_line(item.path) + (f":{item.line}" if item.line is not None else "")
        groups.setdefault((item.rule, item.explained_by), []).append(place)
    lines = [f"- {rule} ({_few(places)}): explained by {by}" for (rule, by), places in groups.items()]
    return ["Loud, but only a consequence:", *lines] if lines else []


def _few(places: Sequence[str]) -> str:
    """The first two places, and how many more there are."""
    rest = len(places) - 2
    return ", ".join(places[:2]) + (f" and {rest} more" if rest > 0 else "")


def _doubts(first: Hypothesis) -> list[str]:
    lines = [f"Against: {one_line(text)}" for text in first.against]
    lines += [f"Unknown: {one_line(text)}" for text in first.unknown]
    if first.refute_with:
        lines.append(f"Cheapest check that could refute this: {one_line(first.refute_with, 500)}")
    if first.next_checks:
        lines += ["Next checks:", *(f"{n}. {one_line(text, 400)}" for n, text in enumerate(first.next_checks, 1))]
    return lines


def _short(other: Hypothesis) -> str:
    where = next((f"{one_line(item.path)}:{item.line}" for item in other.evidence if item.line is not None), "")
    cause = f", {other.cause}" if other.cause else ""
    return f"{other.mode}{cause} ({other.confidence}): {one_line(other.summary, 200)} {where}".rstrip()


def collect_lines(collect: Sequence[str]) -> list[str]:
    """What would settle an open question."""
    return ["What to collect next:", *(f"- {one_line(text)}" for text in collect)] if collect else []


def coverage_lines(diagnosis: Diagnosis) -> list[str]:
    """What was looked at, and what could not be looked at."""
    checked, coverage = diagnosis.checked, diagnosis.coverage
    blind = ", ".join(f"{count} ({one_line(reason, 60)})" for reason, count in checked.not_applicable.items())
    fired = counted(len(checked.fired), "rules")
    points = f", {counted(coverage.points, 'points')}" if coverage.points else ""
    lines = [
        f"Checked: {fired} fired{_harmless(diagnosis)}, {checked.clear} looked and found nothing"
        + (f"; could not look: {blind}" if blind else "")
        + (f"; failed themselves: {', '.join(checked.error)}" if checked.error else "")
        + (f"; suppressed by the project: {checked.suppressed}" if checked.suppressed else "")
        + ".",
        f"Read: {counted(coverage.files, 'files')}, {counted(coverage.lines, 'lines')}{points}, "
        f"{_bytes(coverage.bytes)}." + (f" {one_line(coverage.note)}" if coverage.note else ""),
    ]
    for label, names in (("Unreadable", coverage.unreadable), ("Not looked at", coverage.not_looked_at)):
        if names:
            lines.append(f"{label}: {'; '.join(one_line(name) for name in names)}")
    return lines


def _harmless(diagnosis: Diagnosis) -> str:
    """Which rules fired although nothing failed: a reader who saw an alarming line wants to know that it was seen."""
    fired = diagnosis.checked.fired
    if diagnosis.verdict == "failure" or not fired:
        return ""
    rest = f" and {len(fired) - MOST_NAMED} more" if len(fired) > MOST_NAMED else ""
    return f" ({', '.join(fired[:MOST_NAMED])}{rest})"


def left_out_lines(diagnosis: Diagnosis, left_out: Mapping[str, int]) -> list[str]:
    """How much more there is, and how to get it."""
    counts = Counter(left_out)
    counts.update(diagnosis.omitted)
    if not +counts:
        return []
    listed = ", ".join(counted(count, name) for name, count in counts.items() if count)
    return [f"Left out: {listed}. {more_hint(diagnosis, cut=bool(left_out))}"]


def more_hint(diagnosis: Diagnosis, *, cut: bool) -> str:
    """How to see more than this answer holds; `cut` when it was the budget that left something out."""
    run, first = word(diagnosis.run_id), diagnosis.modes[0] if diagnosis.modes else None
    place = next((item for item in (first.evidence if first else ()) if item.line is not None), None)
    ways = ["Ask again with a larger max-tokens"] if cut else []
    if place is not None and place.path != "-":
        ways.append(f"read-run-logs {run} --path {word(place.path)} --around {place.line}")
    return ", or ".join(ways or ["The rest is weaker"])


def _bytes(count: int) -> str:
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= factor:
            return f"{count / factor:.1f} {unit}"
    return f"{count} bytes"
