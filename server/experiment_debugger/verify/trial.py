"""One smoke test from the plan to the verdict: copy, start, watch, end, look at what was recorded.

Everything that is started ends with the test: the supervisor kills it, also when this process dies. The run's own
files are hashed before and after.
"""

from __future__ import annotations

import os
import shlex
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from experiment_debugger.collection import dialect_of
from experiment_debugger.command import Call
from experiment_debugger.diagnose import Examination, examine
from experiment_debugger.discovery.names import is_artifact_folder
from experiment_debugger.probes import injected, launched
from experiment_debugger.redaction import redacted_words
from experiment_debugger.run import Artifact, resolve
from experiment_debugger.smoke.changes import Applied, Change, applied
from experiment_debugger.smoke.command import appended_resume
from experiment_debugger.smoke.environment import Reduced, reduced
from experiment_debugger.smoke.fingerprints import changed, fingerprint
from experiment_debugger.smoke.order import Command
from experiment_debugger.smoke.outputs import collect_outputs
from experiment_debugger.smoke.records import PLAN, PROBE, Probed, Records, new_records
from experiment_debugger.smoke.restoring import place_checkpoint
from experiment_debugger.smoke.supervised import Supervised
from experiment_debugger.smoke.watch import Seen, Watch
from experiment_debugger.smoke.workspace import Workspace, make_workspace
from experiment_debugger.verify.plan import Plan, reader_of

LOOK_SECONDS = 0.4
STACKS = "stacks-*.txt"
MADE = frozenset({"log", "scheduler", "kernel", "dump", "gpu-log", "metrics", "tensorboard", "wandb", "checkpoint"})
WRITTEN = frozenset({"code", "job"})
"""Kinds of artifacts that a run makes wherever they lie, and that people write."""


@dataclass
class Trial:
    """A command that was run once, or is running, with everything that is known of it.

    `stalled`: it had fallen silent when the wall clock ended it; `touched` are artifacts of the run that changed
    meanwhile; `result` is the supervisor's record of the end.
    """

    plan: Plan
    records: Records
    workspace: Workspace | None = None
    withheld: tuple[str, ...] = ()
    argv: tuple[str, ...] = ()
    change: Applied | None = None
    seen: Seen = field(default_factory=Seen)
    result: dict[str, Any] = field(default_factory=dict)
    stalled: bool = False
    touched: tuple[str, ...] = ()
    probed: Probed = field(default_factory=Probed)
    examination: Examination | None = None

    @property
    def protected(self) -> list[Path]:
        """What the run has made, which nothing may write to; what it was made from is linked or checked out anew."""
        artifacts = self.plan.run.artifacts if self.plan.run else ()
        return [artifact.path.resolve() for artifact in artifacts if _is_made_by_run(artifact)]


def _is_made_by_run(artifact: Artifact) -> bool:
    folders = artifact.name.split("/")[:-1]
    return artifact.kind in MADE or (artifact.kind not in WRITTEN and any(map(is_artifact_folder, folders)))


def run_trial(plan: Plan, call: Call, change: Change | None = None, records: Records | None = None) -> Trial:
    """Run the plan's command once, with one change or none; returns when nothing of it is left."""
    trial = Trial(plan, records or new_records(plan.place.root))
    before = fingerprint(trial.protected)
    trial.workspace = make_workspace(
        plan.place,
        plan.command,
        id=trial.records.id,
        commit=plan.commit,
        uncommitted=plan.is_preflight,
        in_place=plan.in_place,
        run_artifacts=trial.protected,
    )
    try:
        _run(trial, call, change)
    finally:
        trial.workspace.remove()
    trial.touched = tuple(changed(before, fingerprint(trial.protected)))
    trial.probed = trial.records.probed()
    trial.examination = examine(resolve(plan.place, str(trial.records.folder), typed_path_allowed=True))
    return trial


def _run(trial: Trial, call: Call, change: Change | None) -> None:
    workspace = trial.workspace
    assert workspace is not None  # noqa: S101 (made by the only caller)
    command = _command(trial, change, workspace)
    # Reduced last: neither a job file nor the copy brings a withheld variable, or an online tracker, back.
    reduced_env = reduced({**os.environ, **command.environment, **workspace.environment}, trial.plan.pass_env)
    trial.withheld, trial.argv = reduced_env.withheld, command.argv
    spec = _spec(trial, command, reduced_env, workspace)
    _write_records(trial, spec, workspace)
    if call.cancelled.is_set():
        trial.result = {"stopped": "cancelled"}
        return
    supervised = Supervised.start(spec)
    try:
        trial.result = _follow(trial, supervised, call)
        _keep_stacks_of_a_stall(trial)
        collect_outputs(workspace, trial.records.folder)
    finally:
        supervised.close()


def _command(trial: Trial, change: Change | None, workspace: Workspace) -> Command:
    """The command in the workspace: resumed, changed, and where the shim would not be found, launched by us."""
    command = replace(trial.plan.command, argv=workspace.argv)
    read = reader_of(workspace.folder)
    if trial.plan.resume is not None:
        command = appended_resume(
            command, str(place_checkpoint(workspace, trial.plan.place.root, trial.plan.resume)), read
        )
    if change is not None:
        trial.change = applied(change, command, read)
        command = trial.change.command
    return replace(command, argv=launched(command.argv))


def _spec(trial: Trial, command: Command, env: Reduced, workspace: Workspace) -> dict[str, Any]:
    bounds, records = trial.plan.bounds, trial.records
    extra = trial.change.environment if trial.change else {}
    environment = {**env.env, **extra}
    return {
        "id": records.id,
        "argv": list(command.argv),
        "cwd": str(workspace.folder),
        "env": injected(environment, records.folder / PROBE),
        "records": str(records.folder),
        "seconds": bounds.seconds,
        "memory_bytes": bounds.memory_bytes,
        "output_bytes": bounds.output_bytes,
        "cleanup": [list(argv) for argv in workspace.cleanup],
    }


def _write_records(trial: Trial, spec: dict[str, Any], workspace: Workspace) -> None:
    plan, records = trial.plan, trial.records
    records.write(
        PROBE,
        {
            "id": records.id,
            "records": str(records.folder),
            "steps": plan.bounds.steps,
            "deadline": time.time() + plan.bounds.seconds,
            "protected": [str(path) for path in trial.protected],
            "changes": dict(trial.change.inside) if trial.change else {},
        },
    )
    records.write(
        PLAN,
        {
            "id": records.id,
            "run_id": plan.run.id if plan.run else None,
            "command": shlex.join(redacted_words(spec["argv"])),
            "asked": plan.command.spoken,
            "resume": str(plan.resume) if plan.resume else None,
            "source": plan.command.source,
            "commit": workspace.commit,
            "dirty": workspace.dirty,
            "in_place": workspace.in_place,
            "change": trial.change.says if trial.change else None,
            "seconds": plan.bounds.seconds,
            "steps": plan.bounds.steps,
            "owner": os.getpid(),
        },
    )


def _follow(trial: Trial, supervised: Supervised, call: Call) -> dict[str, Any]:
    """Watch until the supervisor has ended everything; its record of the end."""
    bounds, begun = trial.plan.bounds, time.monotonic()
    watch = Watch(trial.records, bounds.output_bytes, dialect_of(trial.plan.place.settings))
    stopping = False
    while (result := supervised.wait(LOOK_SECONDS)) is None:
        trial.seen = watch.look()
        elapsed = time.monotonic() - begun
        if elapsed < bounds.seconds:  # what a process says when it is ended is no sign of life
            trial.stalled = trial.seen.stalled
        call.progress(elapsed, bounds.seconds, trial.seen.message)
        if call.cancelled.is_set():
            supervised.cancel()
        elif not stopping and _saw_enough(trial.plan, trial.seen):
            supervised.stop_steps()
            stopping = True
    return result


def _saw_enough(plan: Plan, seen: Seen) -> bool:
    """The target of the log is reached, or, without optimizer steps to count, the number of steps asked for."""
    logged = seen.logged_step or 0
    if plan.target is not None:
        return logged >= plan.target
    return plan.bounds.steps is not None and seen.step == 0 and logged >= plan.bounds.steps


def _keep_stacks_of_a_stall(trial: Trial) -> None:
    """Stacks taken before the clock ended are evidence of a hang only where the command had fallen silent."""
    if not (trial.result.get("stopped") == "timeout" and trial.stalled):
        for path in trial.records.folder.glob(STACKS):
            path.unlink(missing_ok=True)
