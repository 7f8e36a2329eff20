"""What is answered when no run is named: the list of runs, or the newest one that has failed."""

from __future__ import annotations

from datetime import datetime, timezone

from experiment_debugger.diagnose import investigate
from experiment_debugger.errors import RunNotFound
from experiment_debugger.evidence import RunEvidence
from experiment_debugger.models import Diagnosis, Mode
from experiment_debugger.project import Project
from experiment_debugger.report.budget import Tree
from experiment_debugger.run import RunSummary, list_runs, resolve

NEWEST = 20
"""How many runs `debug` without RUN looks at: more would keep the user waiting."""


def newest_failed(place: Project, hint: Mode | None) -> tuple[RunEvidence, Diagnosis, list[str]]:
    """The newest run whose diagnosis is a failure, else the newest run; the note says which."""
    runs = list_runs(place)
    if not runs:
        raise RunNotFound(f"Expected a run, found none in {place.root}; give a run id or --project.")
    newest: tuple[RunEvidence, Diagnosis] | None = None
    for listed in runs[:NEWEST]:
        try:
            run = resolve(place, listed.id)
        except RunNotFound:  # a registry may name runs whose files are not here
            continue
        evidence, diagnosis = investigate(run, mode=hint)
        if diagnosis.verdict == "failure":
            return evidence, diagnosis, [f"No run was named: this is the newest failed one of {len(runs)}."]
        newest = newest or (evidence, diagnosis)
    if newest is None:
        names = ", ".join(listed.id for listed in runs[:NEWEST])
        raise RunNotFound(
            f"Expected a run with files in {place.root}, found only names: {names}; give the path of a log."
        )
    looked = min(len(runs), NEWEST)
    return *newest, [f"No run was named and none of the {looked} newest has failed: this is the newest one."]


def runs_of(place: Project) -> Tree:
    """The runs of a project, newest first."""
    return {"project": str(place.root), "runs": [_listed(run) for run in list_runs(place)]}


def _listed(run: RunSummary) -> Tree:
    """One row of the list; what is not known has no key."""
    time = datetime.fromtimestamp(run.newest, tz=timezone.utc).isoformat(timespec="seconds") if run.newest else None
    row = {"id": run.id, "state": run.state, "last_change": time, "files": run.files, "place": run.place}
    return {key: value for key, value in row.items() if value is not None}
