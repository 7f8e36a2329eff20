"""The newest healthy run that resembles a given one: what it is to be compared with to see what changed since."""

from __future__ import annotations

from experiment_debugger.compare.used import Used, used_by
from experiment_debugger.diagnose import Examination, examine
from experiment_debugger.errors import RunNotFound
from experiment_debugger.run import list_runs, resolve

NEWEST = 20
"""Runs that are looked at; more would keep the user waiting."""
ALIKE = 0.5
"""Share of the settings of both that must be the same; another model or data set is another experiment."""


def last_good(done: Examination) -> Examination:
    """The newest healthy run of the same kind; `RunNotFound` where there is none."""
    run = done.evidence.run
    mine, looked = used_by(done), 0
    for listed in list_runs(run.project):
        if listed.id == run.id or looked >= NEWEST:
            continue
        looked += 1
        try:
            other = examine(resolve(run.project, listed.id))
        except RunNotFound:  # a registry may name runs whose files are not here
            continue
        if other.diagnosis.verdict == "healthy" and _alike(mine, used_by(other)):
            return other
    raise RunNotFound(
        f"expected a healthy run like {run.id} among the {looked} newest in {run.project.root}; found none; name the "
        "run to compare with"
    )


def _alike(one: Used, other: Used) -> bool:
    """By settings where both have some, else by the program that was started, else by nothing that is known."""
    if one.deciding and other.deciding:
        return len(one.deciding & other.deciding) >= ALIKE * min(len(one.deciding), len(other.deciding))
    programs = [used.sections["command"].get("program") for used in (one, other)]
    return None in programs or programs[0] == programs[1]
