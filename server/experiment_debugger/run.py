"""Run: which artifacts belong to "42", in which order they were tried, and how that was found out."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from experiment_debugger.models import RunState

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

TEXT_KINDS: tuple[ArtifactKind, ...] = ("log", "scheduler", "kernel", "dump", "notebook")


@dataclass(frozen=True, slots=True)
class Artifact:
    """One file of a run. `name` is how it is shown: relative to the project, else absolute with home as `~`.

    `attempt` is the 0-based try; `part` the 0-based part of a rotated log, oldest first (`train.log.2` is before
    `train.log.1`); `rank` the global rank where the path names one; `mtime` seconds since the epoch; `why` says why the
    file belongs to the run.
    """

    path: Path
    name: str
    kind: ArtifactKind
    size: int
    mtime: float
    why: str
    attempt: int = 0
    rank: int | None = None
    part: int = 0


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
    commit_at: str | None = None


@dataclass(frozen=True, slots=True)
class Risk:
    """One row of the project's risk board that we wrote, and the fingerprint of what it was about."""

    id: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a project, opened lazily: nothing is read here but names, sizes, job files and the ends of texts.

    `siblings` are the other runs of the project, newest first; `missing` what is named and not there; `unreadable` and
    `not_looked_at` name paths with the reason; `risks` stand on the project's risk board.
    """

    id: str
    how_found: str
    project: Project
    artifacts: tuple[Artifact, ...]
    attempts: tuple[Attempt, ...]
    declared: Declared = Declared()
    siblings: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()
    not_looked_at: tuple[str, ...] = ()
    risks: tuple[Risk, ...] = ()

    def of_kind(self, *kinds: ArtifactKind) -> tuple[Artifact, ...]:
        """Artifacts of these kinds, in reading order."""
        return tuple(artifact for artifact in self.artifacts if artifact.kind in kinds)

    @property
    def texts(self) -> tuple[Artifact, ...]:
        """What is read as a log; the console that a W&B record file carries only where an attempt has no other log."""
        with_log = {artifact.attempt for artifact in self.artifacts if artifact.kind == "log"}
        return tuple(
            artifact
            for artifact in self.artifacts
            if artifact.kind in TEXT_KINDS or (artifact.path.suffix == ".wandb" and artifact.attempt not in with_log)
        )


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One run of a list.

    `newest` is the last change of its logs (seconds since the epoch, 0 without logs); `state` is what sacct, a registry
    or a status note says, with its place: a cheap guess that the diagnosis corrects.
    """

    id: str
    state: RunState
    state_at: str | None
    newest: float
    files: int
    place: str


def resolve(project: Project, run: str | int | None, *, typed_path_allowed: bool = False) -> Run:
    """The run that is meant; raises `RunNotFound` when there is none or more than one different run.

    `run` is an id, a handoff id or a path; None is the only run of the project. `typed_path_allowed`: a path comes from
    a person's command line and may lead outside the project (`PathOutsideProject` otherwise).
    """
    from experiment_debugger.discovery import resolution

    return resolution.resolve(project, run, typed_path_allowed=typed_path_allowed)


def list_runs(project: Project) -> list[RunSummary]:
    """The runs of the project, newest first; runs that only a registry knows come last."""
    from experiment_debugger.discovery import resolution

    return resolution.list_runs(project)
