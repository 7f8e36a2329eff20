"""Which command a smoke test starts: the run's own, from what the project declares, never from a log.

jobs/42-local.sh, jobs/42.sh                              bash jobs/42.sh, run as a script
jobs/42.yaml, docs/ops/runs.yaml: command: ...            its words, where no shell is needed to read them
wandb-metadata.json: {"codePath": ..., "args": [...]}     python train.py --lr 3e-4
.hydra/hydra.yaml and overrides.yaml                      python train.py optim.lr=3e-4
-- python train.py --steps 20                             as given
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from experiment_debugger.errors import DebuggerError
from experiment_debugger.run import Run
from experiment_debugger.smoke.handovers import refuse_handover
from experiment_debugger.smoke.job_commands import declared_commands
from experiment_debugger.smoke.job_scripts import job_scripts
from experiment_debugger.smoke.named_configs import configs_named
from experiment_debugger.smoke.order import GIVEN, Command
from experiment_debugger.smoke.resuming import appended_resume
from experiment_debugger.smoke.tracked_commands import hydra_commands, wandb_commands

__all__ = ["appended_resume", "command_of", "given"]

_SOURCES: tuple[Callable[[Run], Iterator[Command | DebuggerError]], ...] = (
    job_scripts, declared_commands, wandb_commands, hydra_commands,
)  # fmt: skip


def command_of(run: Run) -> Command:
    """The command of a run; raises `DebuggerError` where nothing declares one that can be started here."""
    refused: list[DebuggerError] = []
    for source in _SOURCES:
        for found in source(run):
            if isinstance(found, Command):
                return replace(found, files=_files(found, run))
            refused.append(found)
    if refused:
        raise refused[0]
    raise DebuggerError(
        f"run {run.id}: expected a job script, job file, run registry or tracker that declares its command; found "
        "none (what a log prints is never started); give the command after --"
    )


def given(argv: Sequence[str]) -> Command:
    """A command as the user gave it; raises `DebuggerError` where it is no argument list."""
    if not argv or not argv[0]:
        raise DebuggerError("expected a command after --; found nothing; give it as in `-- python train.py`")
    for word in argv:
        if "\0" in word:
            raise DebuggerError(f"expected a command of plain words after --; found {word[:60]!r}; leave the NUL out")
    refuse_handover(argv, GIVEN)
    return Command(tuple(argv), GIVEN)


def _files(command: Command, run: Run) -> tuple[str, ...]:
    """Job script and configs that the command names, then those that belong to the run; relative to the project."""
    root = str(run.project.root)
    named = [*command.files, *configs_named(command, root)]
    own = [name for name in run.declared.configs if not os.path.isabs(name) and not name.startswith("~")]
    return tuple(dict.fromkeys([*named, *(name for name in own if os.path.isfile(os.path.join(root, name)))]))
