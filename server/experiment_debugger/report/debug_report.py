"""The sections of docs/ops/runs/42-debug.md, from a case whose facts are already there.

# Debug report: run 42

- Status: fixed
- Mode and cause: nan-gradient, amp-overflow (high confidence)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from experiment_debugger.case import Case, Changed, SmokeTest, Tried
from experiment_debugger.readers.pipe_tables import escaped
from experiment_debugger.report.context import context_lines
from experiment_debugger.report.markdown import consequence_lines, evidence_lines, onset_words
from experiment_debugger.report.quoting import code, fence, one_line

SHORT = 12
_LEADING = re.compile(r"^(?:[#>+=~-]|\d+(?=[.)]))")
"""What makes a heading, a list, a quotation or a rule at the beginning of a line."""
MOST_FILES = 20
MOST_TESTS = 8


def report_sections(case: Case, today: str) -> dict[str, str]:
    """The sections by name, in their order; `today` is the date (YYYY-MM-DD) of the last change."""
    return {
        "head": _head(case, today),
        "evidence": _section("Evidence", _evidence(case)),
        "effects": _section(
            "Effects, not causes", consequence_lines(case.diagnosis.consequences)[1:] or ["None seen."]
        ),
        "hypotheses": _section("Hypotheses tried", _hypotheses(case)),
        "reproduction": _section("Reproduction", _reproduction(case.tested)),
        "root-cause": _section("Root cause", _root_cause(case)),
        "fix": _section("Fix", _fix(case)),
        "sanity-check": _section("Sanity check", _sanity_check(case)),
        "risk": _section("Risk and hand-off", _risk(case)),
        "notes": _section("Notes", [f"- {_said(note)}" for note in case.told.notes] or ["None."]),
    }


def _section(title: str, lines: Sequence[str]) -> str:
    return "\n".join([f"## {title}", "", *lines])


def _head(case: Case, today: str) -> str:
    diagnosis = case.diagnosis
    first = diagnosis.modes[0] if diagnosis.modes else None
    lines = [f"# Debug report: run {one_line(case.run_id, 80)}", "", f"- Status: {case.status}"]
    if first:
        lines.append(f"- Mode and cause: {first.mode}, {first.cause or 'cause open'} ({first.confidence} confidence)")
        lines.append(f"- Onset: {onset_words(first.onset)}; determinism {diagnosis.determinism}")
    else:
        lines.append(f"- Diagnosis: {diagnosis.verdict}")
    # What is checked out now is no fact of the run: the report would change with every commit.
    lines += context_lines(case.context.model_copy(update={"commit_now": None, "dirty": None}))
    return "\n".join([*lines, f"- Updated: {today}"])


def _evidence(case: Case) -> list[str]:
    diagnosis = case.diagnosis
    first = diagnosis.modes[0] if diagnosis.modes else None
    lines = [one_line(first.summary if first else diagnosis.summary, 600), ""]
    lines += fence(evidence_lines(first.evidence)) if first else []
    if first:
        lines += [f"- Against: {one_line(text)}" for text in first.against]
        lines += [f"- Unknown: {one_line(text)}" for text in first.unknown]
        if first.refute_with:
            lines.append(f"- Could be refuted by: {one_line(first.refute_with, 500)}")
    for picture in case.pictures:
        lines += ["", f"![Metrics of run {one_line(case.run_id, 80)} around the onset]({picture})"]
    return lines


def _hypotheses(case: Case) -> list[str]:
    others = [
        Tried(
            hypothesis=f"{one.mode}, {one.cause or 'cause open'}: {one.summary}",
            test="the run's files",
            result="weaker",
        )
        for one in case.diagnosis.modes[1:]
    ]
    isolations = [tried for test in case.tested[:MOST_TESTS] for tried in test.isolations]
    rows = [*case.told.hypotheses, *isolations, *others]
    if not rows:
        return ["None recorded."]
    cells = ((one.hypothesis, one.test or "not tested", one.result or "open") for one in rows)
    return ["| hypothesis | test | result |", "|---|---|---|", *(_row(*row) for row in cells)]


def _reproduction(tested: Sequence[SmokeTest]) -> list[str]:
    if not tested:
        return ["No smoke test of this run."]
    rows = (
        (
            one.id,
            one.verdict,
            one.proves,
            (one.commit or "none")[:SHORT] + (" (dirty)" if one.dirty else ""),
            one.command,
        )
        for one in tested[:MOST_TESTS]
    )
    head = ["| smoke test | verdict | proves | commit | command |", "|---|---|---|---|---|"]
    rest = len(tested) - MOST_TESTS
    more = ["", f"{rest} older not shown."] if rest > 0 else []
    return [*head, *(_row(*row) for row in rows), *more]


def _fix(case: Case) -> list[str]:
    fix, changes = case.fix, case.changes
    if fix is None:
        return ["No fix commit yet."]
    named = "" if fix.told else " (the commit that the smoke test has proven)"
    lines = [f"Commit {fix.commit[:SHORT]}{named}: {_said(fix.subject)}", ""]
    lines += [f"- {code(path)}" for path in fix.files[:MOST_FILES]]
    if len(fix.files) > MOST_FILES:
        lines.append(f"- and {len(fix.files) - MOST_FILES} more")
    if changes is not None:
        against = f"Settings against the failing run's commit {(fix.base or '')[:SHORT]}"
        lines += ["", f"{against}:" if changes.settings else f"{against}: no change.", *_settings(changes.settings)]
    why = case.told.why_unchanged
    return [*lines, "", f"Why the experiment stays the same: {_said(why) if why else 'not argued yet.'}"]


def _settings(changed: Sequence[Changed]) -> list[str]:
    if not changed:
        return []
    rows = ((one.key, one.before or "not set", one.after or "not set", one.group, one.path) for one in changed)
    return ["", "| setting | before | after | group | where |", "|---|---|---|---|---|", *(_row(*row) for row in rows)]


def _sanity_check(case: Case) -> list[str]:
    rows = []
    for one in case.sanity_check:
        reason = f". Reason given: {one.reason}" if one.reason and one.result != "pass" else ""
        rows.append(_row(one.check, one.result, "; ".join(one.evidence) + reason))
    return ["| check | result | evidence |", "|---|---|---|", *rows]


def _risk(case: Case) -> list[str]:
    known = [f"- Risk: {', '.join(case.risks) or 'none recorded'}"]
    return [*known, f"- Hand-off: {', '.join(case.handoffs) or 'none yet'}"]


def _row(*cells: str) -> str:
    return "| " + " | ".join(escaped(one_line(cell, 600)) for cell in cells) + " |"


def _said(text: str) -> str:
    """What somebody told, as it may stand in a line of ours: words, in which nothing is markup."""
    return _LEADING.sub(r"\\\g<0>", escaped(one_line(text, 2000)))


def _root_cause(case: Case) -> list[str]:
    """What somebody told, paragraph by paragraph; before that, what the diagnosis takes it for."""
    if case.told.root_cause:
        return list(_paragraphs(case.told.root_cause))
    first = case.diagnosis.modes[0] if case.diagnosis.modes else None
    if first is None or first.cause is None:
        return ["Not known yet."]
    return [f"Not confirmed yet; the diagnosis takes it for {first.cause} ({first.confidence} confidence)."]


def _paragraphs(text: str) -> Iterator[str]:
    for index, paragraph in enumerate(part for part in text.split("\n\n") if part.strip()):
        if index:
            yield ""
        yield _said(paragraph)
