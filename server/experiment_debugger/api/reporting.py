"""How the verbs that write work together: one case, computed anew each time, told by the report, boards and hand-offs.

Everything that belongs together is written under one lock, so that two servers never tell half of each other's story.
"""

from __future__ import annotations

from datetime import date
from pathlib import Path

from experiment_debugger.case import Case, Told
from experiment_debugger.diagnose import Examination, risk_fingerprints
from experiment_debugger.errors import DebuggerError
from experiment_debugger.metrics import Wanted, chart_of, read_metrics
from experiment_debugger.models import Mode
from experiment_debugger.project import Project
from experiment_debugger.report.debug_report import report_sections
from experiment_debugger.report.plot import draw
from experiment_debugger.results import HandoffResult, ReportResult, RiskResult
from experiment_debugger.verify.casework import case_of
from experiment_debugger.verify.handoff import consumer_named, handoff_of
from experiment_debugger.verify.sanity import open_questions
from experiment_debugger.writeback.files import update, writing
from experiment_debugger.writeback.handoffs import given_values, payload_file, take_incoming, write_handoff
from experiment_debugger.writeback.recording import Recorded
from experiment_debugger.writeback.reports import Written, picture_file, report_file, told_in, write_report
from experiment_debugger.writeback.risks import RiskWish, record_risk

_KINDS: dict[Mode, str] = {"repro-failure": "reproducibility", "metric-error": "evaluation"}
FEWEST_POINTS = 3
"""A curve of fewer points says no more than its numbers."""


def report_on(done: Examination, told: Told) -> ReportResult:
    """Write the report of an examined run with what was told now and before."""
    run = done.evidence.run
    with writing(run.project):
        picture = _picture(done)
        written = _written(done, told, picture)
        notes = _taken(done)
    return ReportResult(
        run_id=run.id,
        path=written.path,
        status=written.case.status,
        summary=_summary(written.case),
        sanity_check=written.case.sanity_check,
        changed=written.changed,
        picture=run.project.show(picture) if picture else None,
        notes=notes,
    )


def risk_of(place: Project, done: Examination | None, wish: RiskWish) -> RiskResult:
    """Record a risk; with an examined run its diagnosis fills what the user did not give, and its report tells it."""
    with writing(place):
        recorded = _recorded(place, done, wish)
        notes = _refreshed(done) if done is not None else ()
    return RiskResult(
        id=recorded.id, path=recorded.path, action=recorded.action, row=recorded.row, notes=(*recorded.notes, *notes)
    )


def _recorded(place: Project, done: Examination | None, wish: RiskWish) -> Recorded:
    if done is None:
        return record_risk(place, wish, today=_today())
    prints = risk_fingerprints(done)
    defaults = _defaults(done, told_in(place, done.diagnosis.run_id))
    return record_risk(place, wish, defaults, prints[0] if prints else None, today=_today())


def handed_off(done: Examination, to: str) -> HandoffResult:
    """Write the hand-off of an examined run to a sibling skill, and tell the report of it."""
    run, consumer = done.evidence.run, consumer_named(to)
    project = run.project
    with writing(project):
        case = case_of(done, told_in(project, run.id))
        report = report_file(project, run.id)
        payload = payload_file(project, run.id, consumer)
        found = handoff_of(
            run,
            case,
            consumer,
            project.show(report) if report.exists() else None,
            project.show(payload),
            given_values(project, run.id, consumer),
        )
        row = write_handoff(project, run.id, consumer, found.values, found.row, _today())
        notes = _refreshed(done)
    return HandoffResult(
        id=row.id,
        to=consumer,
        status=found.status,
        action=row.action,
        paths=(row.path, project.show(payload)),
        missing=found.missing,
        notes=(*row.notes, *notes),
    )


def _refreshed(done: Examination) -> tuple[str, ...]:
    """Tell a report that is there what has happened since; says so when it changed."""
    run = done.evidence.run
    if not report_file(run.project, run.id).exists():
        return ()
    written = _written(done, Told(), picture_file(run.project, run.id))
    return (f"{written.path} was brought up to date; its status is {written.case.status}.",) if written.changed else ()


def _taken(done: Examination) -> tuple[str, ...]:
    """Mark what was handed over to us as consumed; a damaged board does not undo the report."""
    run = done.evidence.run
    try:
        taken = take_incoming(run.project, run.id, _today())
    except DebuggerError as problem:
        return (str(problem),)
    return tuple(f"{name} was addressed to experiment-debugger and is marked consumed." for name in taken)


def _written(done: Examination, told: Told, picture: Path | None) -> Written:
    run = done.evidence.run
    pictures = (picture.name,) if picture is not None and picture.exists() else ()
    return write_report(
        run.project,
        run.id,
        lambda before: case_of(done, before.then(told), pictures),
        report_sections,
        _today(),
    )


def _picture(done: Examination) -> Path | None:
    """The picture of what the evidence quotes from curves; one that is there stays. None where no curve tells it."""
    run = done.evidence.run
    path = picture_file(run.project, run.id)
    if path.exists():
        return path
    first = done.diagnosis.modes[0] if done.diagnosis.modes else None
    keys = dict.fromkeys(item.key for item in (first.evidence if first else ()) if item.key)
    if not keys:
        return None
    try:
        view = read_metrics(done, Wanted(keys=",".join(key for key in keys if "," not in key)))
    except DebuggerError:  # a key that no series has: it was a column of text
        return None
    if max((len(one.curve) for one in view.shown), default=0) < FEWEST_POINTS:
        return None
    update(run.project, path, lambda _raw: draw(chart_of(view, chosen=True)))
    return path


def _defaults(done: Examination, told: Told) -> dict[str, str]:
    """What the diagnosis, and the root cause once it was told, say about the risk."""
    diagnosis = done.diagnosis
    first = diagnosis.modes[0] if diagnosis.modes else None
    values = {"Threatens": f"run {diagnosis.run_id}"}
    if first is None:
        return {**values, **({"Summary": told.root_cause} if told.root_cause else {})}
    return {
        **values,
        "Kind": _KINDS.get(first.mode, "execution"),
        "Severity": "high" if diagnosis.run_state != "completed" else "medium",
        "Probability": "high" if diagnosis.determinism == "deterministic" else "medium",
        "Summary": told.root_cause or first.summary,
        "Certainty": "inferred" if first.confidence == "low" else "observed",
    }


def _summary(case: Case) -> str:
    left = open_questions(case)
    if case.status == "diagnosed":
        healthy = case.diagnosis.verdict == "healthy" and not case.told.root_cause
        return "Healthy: nothing is known that needs a fix." if healthy else "Diagnosed; no fix is known yet."
    if not left:
        return {"fixed": "Fixed: all four checks pass."}.get(case.status, "Fixed, not fully verified: see the reasons.")
    return f"Not fixed yet: {left[0]}" + (f" ({len(left) - 1} more)" if len(left) > 1 else "")


def _today() -> str:
    return date.today().isoformat()  # noqa: DTZ011 (the day people write beside it)
