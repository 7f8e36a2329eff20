"""Step 1: what is known about a run, each fact with the place that says it, and what is missing."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from experiment_debugger.diagnose.onset import traceback_of
from experiment_debugger.errors import UnreadableArtifact
from experiment_debugger.evidence import RunEvidence, quote_of
from experiment_debugger.git import commit_now, uncommitted_changes
from experiment_debugger.models import (
    ArtifactFact,
    AttemptFact,
    Diagnosis,
    ErrorFact,
    RunContext,
    RunFact,
    Said,
)
from experiment_debugger.readers.checkpoints.checkpoint import is_checkpoint, read_checkpoint
from experiment_debugger.readers.configs import is_key_setting
from experiment_debugger.redaction import redact
from experiment_debugger.run import Artifact, Run

MOST_ARTIFACTS = 60
"""More files than any answer shows; `omitted` counts the others. All other lists are cut by the answer's budget."""
MOST_CHECKPOINTS = 4
"""Newest checkpoints that are looked into; a run may keep hundreds."""
BITS = 64
HARDWARE = ("gpu", "driver", "cuda", "world_size")
_ELSEWHERE = (
    "classes",
    "command",
    "commit",
    "exit_code",
    "name",
    "planned_steps",
    "program",
    "project",
    "run_id",
    "state",
)
_NOT_ENVIRONMENT = {*HARDWARE, *_ELSEWHERE}


def gather(evidence: RunEvidence, diagnosis: Diagnosis) -> RunContext:
    """The context of a run from what was read of it."""
    run = evidence.run
    facts = dict(_facts(evidence))
    return RunContext(
        run=RunFact(
            id=run.id,
            how_found=run.how_found,
            state=diagnosis.run_state,
            attempts=tuple(AttemptFact(index=a.index, label=a.label, files=len(a.names)) for a in run.attempts),
            last_step=evidence.last_step,
            planned_steps=evidence.planned_steps,
            failed_in=diagnosis.modes[0].onset if diagnosis.modes else None,
        ),
        artifacts=tuple(_artifact(artifact, len(run.attempts)) for artifact in run.artifacts[:MOST_ARTIFACTS]),
        config=_config(evidence),
        command=_command(evidence, facts),
        commit_of_run=_commit(evidence, facts),
        commit_now=commit_now(run.project.root),
        dirty=uncommitted_changes(run.project.root),
        environment={name: said for name, said in facts.items() if name not in _NOT_ENVIRONMENT},
        hardware={name: facts[name] for name in HARDWARE if name in facts},
        error=_error(evidence, diagnosis),
        scheduler=_scheduler(evidence),
        missing=_missing(evidence, facts),
        siblings=run.siblings,
        omitted={"artifacts": beyond} if (beyond := len(run.artifacts) - MOST_ARTIFACTS) > 0 else {},
    )


def _artifact(artifact: Artifact, attempts: int) -> ArtifactFact:
    return ArtifactFact(
        path=artifact.name,
        kind=artifact.kind,
        bytes=artifact.size,
        why=artifact.why,
        attempt=artifact.attempt if attempts > 1 else None,
        rank=artifact.rank,
    )


def with_checkpoints(context: RunContext, run: Run) -> RunContext:
    """The context with what the newest checkpoints of the run hold; nothing of them is executed."""
    newest = sorted(run.of_kind("checkpoint"), key=lambda one: one.mtime, reverse=True)[:MOST_CHECKPOINTS]
    held = {one.name: _held(one) for one in newest if is_checkpoint(one.path)}
    artifacts = tuple(one.model_copy(update=held.get(one.path, {})) for one in context.artifacts)
    return context.model_copy(update={"artifacts": artifacts})


def _held(artifact: Artifact) -> dict[str, Any]:
    try:
        found = read_checkpoint(artifact.path)
    except UnreadableArtifact as problem:
        return {"damage": str(problem)}
    hostile = f"hostile: loading it would run {found.hostile[0]}" if found.hostile else None
    return {"step": found.step, "state": found.state, "damage": hostile or found.damage}


def _facts(evidence: RunEvidence) -> Iterator[tuple[str, Said]]:
    """Logs speak before configs and requirement files: what was used beats what was written."""
    seen: set[str] = set()
    for entry in evidence.all_files():
        for fact in entry.facts:
            if fact.name not in seen:
                seen.add(fact.name)
                yield fact.name, Said(value=redact(fact.value)[:300], at=f"{entry.name}:{fact.line}")
        for name, value in entry.recorded.facts.items():
            if name not in seen:
                seen.add(name)
                yield name, Said(value=redact(value)[:300], at=entry.name)


def _config(evidence: RunEvidence) -> dict[str, Said]:
    settings: dict[str, Said] = {}
    for setting in evidence.settings:
        if setting.key not in settings and is_key_setting(setting.key, setting.value):
            settings[setting.key] = Said(value=_plain(setting.value), at=setting.path)
    return settings


def _plain(value: object) -> str | int | float | bool:
    """A setting as JSON can hold it: not finite or longer than 64 bits is text."""
    if isinstance(value, int):
        return value if value.bit_length() < BITS else f"an integer of {value.bit_length()} bits"
    if isinstance(value, float) and math.isfinite(value):
        return value
    return redact(str(value))


def _without_secret(key: str, value: str) -> str:
    """The value without secrets; some are known only by their key."""
    return redact(f"{key}: {value}").removeprefix(f"{key}: ")


def _command(evidence: RunEvidence, facts: dict[str, Said]) -> Said | None:
    declared = evidence.run.declared
    if declared.command:
        return Said(value=redact(declared.command), at=declared.command_at or "")
    return facts.get("command")


def _commit(evidence: RunEvidence, facts: dict[str, Said]) -> Said | None:
    if evidence.run.declared.commit:
        return Said(value=evidence.run.declared.commit, at=evidence.run.declared.commit_at or "")
    return facts.get("commit")


def _error(evidence: RunEvidence, diagnosis: Diagnosis) -> ErrorFact | None:
    """The error of the primary hypothesis: its first quoted line, with the traceback that it ends."""
    for item in diagnosis.modes[0].evidence if diagnosis.modes else ():
        if item.line is None:
            continue
        block = traceback_of(item.path, item.line, evidence)
        frame = block.root.user_frame if block else None
        return ErrorFact(
            path=item.path,
            line=item.line,
            text=item.quote or "",
            exception=block.root.exception if block else None,
            frame=f"{frame.file}:{frame.line}" if frame else None,
            function=frame.function if frame else None,
        )
    return None


def _scheduler(evidence: RunEvidence) -> dict[str, Said]:
    declared = evidence.run.declared
    facts = {
        key: Said(value=_without_secret(key, value), at=declared.command_at or "")
        for key, value in declared.resources.items()
    }
    if declared.job_id:
        facts["job_id"] = Said(value=declared.job_id, at=declared.state_at or declared.command_at or "")
    if declared.state:
        facts["state"] = Said(value=declared.state, at=declared.state_at or "")
    for entry in evidence.files:
        if entry.artifact.kind == "scheduler" and entry.stats.tail:
            facts[entry.name] = Said(value=quote_of(entry.stats.last_text), at=f"{entry.name}:{entry.stats.last_line}")
    return facts


def _missing(evidence: RunEvidence, facts: dict[str, Said]) -> tuple[str, ...]:
    """What an engineer would ask for next, and files that could not be read."""
    run = evidence.run
    kinds = {artifact.kind for artifact in run.artifacts}
    wanted = [
        ("log", not evidence.files, "no text log"),
        ("config", "config" not in kinds, "no config file"),
        ("command", not run.declared.command and "command" not in facts, "command not recorded"),
        ("commit", not run.declared.commit and "commit" not in facts, "commit of the run not recorded"),
        ("versions", not {"torch", "tensorflow", "jax"} & facts.keys(), "framework versions not printed"),
    ]
    notes = [text for _, absent, text in wanted if absent]
    return (*notes, *run.missing, *evidence.broken_configs, *evidence.unreadable)
