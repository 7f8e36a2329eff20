"""The run's own job script, run as a script.

jobs/42.sh, jobs/42-local.sh, jobs/42-runai.sh     bash jobs/42-local.sh
"""

from __future__ import annotations

from collections.abc import Iterator

from experiment_debugger.discovery.jobfiles import job_label, read_job
from experiment_debugger.discovery.names import RunId
from experiment_debugger.errors import DebuggerError
from experiment_debugger.run import Artifact, Run
from experiment_debugger.smoke.handovers import refuse_handover
from experiment_debugger.smoke.order import Command
from experiment_debugger.smoke.shell_words import script_commands

LARGEST_SCRIPT = 1 << 20  # bytes
_NOT_SHELL = (".yaml", ".yml", ".json", ".sub")


def job_scripts(run: Run) -> Iterator[Command | DebuggerError]:
    """The command for each job script of the run, or why it is refused; local ones first, Run:ai's last."""
    try:
        scripts = _own(run)
    except DebuggerError as problem:
        yield problem
        return
    for script in scripts:
        try:
            yield _command(script)
        except DebuggerError as problem:
            yield problem


def _own(run: Run) -> list[Artifact]:
    """The scripts of one job: that of the run's own id where several jobs belong to the run."""
    scripts = [one for one in run.of_kind("job") if not one.name.endswith(_NOT_SHELL) and not _is_outside(one)]
    labels = {job_label(one.path.name) for one in scripts}
    if len(labels) > 1:
        own = RunId(run.id)
        labels = {run.id} & labels or {label for label in labels if own.find(label) is not None} or _training(scripts)
    if len(labels) > 1:
        names = ", ".join(sorted(one.name for one in scripts)[:5])
        raise DebuggerError(
            f"run {run.id}: expected one job script; found {names}; name the one that is meant after --, as in "
            f"`-- bash {scripts[0].name}`"
        )
    return sorted((one for one in scripts if job_label(one.path.name) in labels), key=_preference)


def _training(scripts: list[Artifact]) -> set[str]:
    """The jobs whose scripts start a program that trains, as far as that can be read from them."""
    return {job_label(one.path.name) for one in scripts if read_job(_text(one), one.name).command}


def _preference(script: Artifact) -> tuple[int, int]:
    stem = script.path.name.rpartition(".")[0]
    where = 0 if stem.endswith("-local") else 2 if stem.endswith("-runai") else 1
    return where, -script.attempt


def _is_outside(script: Artifact) -> bool:
    return script.name.startswith(("/", "~", "../"))


def _command(script: Artifact) -> Command:
    """`bash <script>`; raises `DebuggerError` for one that hands its work over or has none."""
    for number, words in script_commands(_text(script)):
        refuse_handover(words, f"{script.name}:{number}")
    return Command(("bash", script.name), script.name, files=(script.name,))


def _text(script: Artifact) -> str:
    try:
        with script.path.open(encoding="utf-8", errors="replace") as stream:
            return stream.read(LARGEST_SCRIPT)
    except OSError as problem:
        raise DebuggerError(
            f"{script.name}: expected a job script; found {problem.strerror}; give the command after --"
        ) from None
