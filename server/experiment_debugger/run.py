"""Run: which artifacts belong to "42", in which order they were tried, and how that was found out."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from experiment_debugger.project import Project

ArtifactKind = Literal[
    "log",  # training output as text: .log .out .err .txt .gz of them, console, stdout, stderr
    "scheduler",  # sacct, scontrol, seff, kubectl describe, job events, epilog
    "kernel",  # dmesg, journal, Xid
    "dump",  # py-spy, faulthandler, flight recorder as text
    "gpu-log",  # nvidia-smi CSV, dmon, pmon
    "config",
    "job",  # sbatch or launcher script, job yaml
    "status",  # docs/ops/runs/<id>-status.md and what run-status-monitor wrote
    "metrics",  # CSV, JSONL, trainer_state.json
    "tensorboard",
    "wandb",
    "checkpoint",
    "notebook",
    "environment",  # requirements.txt, pip freeze, env dumps
    "code",
    "other",
]


@dataclass(frozen=True, slots=True)
class Artifact:
    """One file of a run. `name` is how it is shown: relative to the project, else absolute with home as `~`."""

    path: Path
    name: str
    kind: ArtifactKind
    size: int
    mtime: float
    why: str
    attempt: int = 0
    rank: int | None = None


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try of the run (retry, requeue, resume), oldest first."""

    index: int
    label: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Declared:
    """What job files, status notes and run registries say about the run, each with where it stands (name:line)."""

    command: str | None = None
    command_at: str | None = None
    state: str | None = None
    state_at: str | None = None
    job_id: str | None = None
    commit: str | None = None
    resources: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    configs: tuple[str, ...] = ()
    progress_patterns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a project, opened lazily: nothing is read here but names, sizes and job files."""

    id: str
    how_found: str
    project: Project
    artifacts: tuple[Artifact, ...]
    attempts: tuple[Attempt, ...]
    declared: Declared = Declared()
    siblings: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    def of_kind(self, *kinds: ArtifactKind) -> tuple[Artifact, ...]:
        """Artifacts of these kinds, in reading order."""
        return tuple(artifact for artifact in self.artifacts if artifact.kind in kinds)
