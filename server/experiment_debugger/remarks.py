"""What `debug` says beside a diagnosis: a suspicion that nothing supports, an earlier report, what to collect next."""

from __future__ import annotations

import os

from experiment_debugger.diagnose import meant_by
from experiment_debugger.evidence import RunEvidence
from experiment_debugger.models import Diagnosis, Mode
from experiment_debugger.rules.rulebook import load_rulebook


def notes_on(evidence: RunEvidence, diagnosis: Diagnosis, hint: Mode | None) -> list[str]:
    """Lines for the head of the answer."""
    return [*_about_hint(diagnosis, hint), *_about_report(evidence)]


def to_collect(diagnosis: Diagnosis, hint: Mode | None) -> list[str]:
    """What would settle an inconclusive answer: the taxonomy's list for the suspected mode, else for a crash."""
    if diagnosis.verdict != "inconclusive" or any(hypothesis.next_checks for hypothesis in diagnosis.modes):
        return []
    return list(load_rulebook().modes[hint or "crash"].collect)


def _about_hint(diagnosis: Diagnosis, hint: Mode | None) -> list[str]:
    """What became of a suspicion that the evidence does not share."""
    if hint is None or any(hypothesis.mode in meant_by(hint) for hypothesis in diagnosis.modes):
        return []
    return [f"Suspected {hint}: no evidence for it in this run."]


def _about_report(evidence: RunEvidence) -> list[str]:
    """An earlier report on the run, which the reader should open before writing another."""
    name = f"docs/ops/runs/{evidence.run.id}-debug.md"
    exists = os.path.isfile(evidence.run.project.root / name)  # Path.is_file raises for ids of 300 characters
    return [f"An earlier report exists: {name}"] if exists else []
