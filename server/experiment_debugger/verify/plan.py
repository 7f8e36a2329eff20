"""What a smoke test is going to start, decided before anybody is asked and without any side effect.

plan_of(place, Request(run_id="42"))
bash jobs/42.sh  (jobs/42.sh)   at 1f3c9ab (the run's commit), until step 330 of its log or 45 s
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from experiment_debugger.context import gather
from experiment_debugger.diagnose import Examination, examine
from experiment_debugger.errors import DebuggerError
from experiment_debugger.git import has_repository, resolved_commit
from experiment_debugger.models import Hypothesis
from experiment_debugger.project import Project
from experiment_debugger.run import Run, resolve
from experiment_debugger.smoke.bounds import VARIABLE as MEMORY
from experiment_debugger.smoke.bounds import memory_limit
from experiment_debugger.smoke.changes import Change, applied, parse_change
from experiment_debugger.smoke.command import command_of, given
from experiment_debugger.smoke.environment import is_secret
from experiment_debugger.smoke.order import Bounds, Command

DEFAULT_SECONDS = 45
MARGIN = 0.02
"""How far beyond the onset a fix must come, as a share of its step; and at least three reports."""
REPORTS_BEYOND = 3
HALF_BATCH = "half-batch"
WHOLE_RUN = frozenset({"slow-training", "slow-data", "metric-error", "silent-error", "repro-failure"})
"""Modes that show in the course of a run, not at a step."""
HOST_MEMORY = "host-memory-exhausted"


@dataclass(frozen=True, slots=True)
class Request:
    """What the user asked for, as typed."""

    run_id: str | None = None
    argv: tuple[str, ...] = ()
    tries: tuple[str, ...] = ()
    steps: int | None = None
    seconds: int | None = None
    resume: str | None = None
    at: str | None = None
    in_place: bool = False
    pass_env: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """One command with everything that bounds it.

    `original` is the run that failed (None: a preflight), `commit` the full hash to test (None: the working tree as it
    is), `target` the step of the log at which enough was seen, `why` says how commit and end were chosen.
    """

    place: Project
    command: Command
    bounds: Bounds
    original: Examination | None = None
    commit: str | None = None
    in_place: bool = False
    target: int | None = None
    resume: Path | None = None
    changes: tuple[Change, ...] = ()
    pass_env: tuple[str, ...] = ()
    why: str = ""

    @property
    def run(self) -> Run | None:
        """The run that is reproduced."""
        return self.original.evidence.run if self.original else None

    @property
    def failure(self) -> Hypothesis | None:
        """What the run is thought to have failed of."""
        return self.original.diagnosis.modes[0] if self.original and self.original.diagnosis.modes else None

    @property
    def is_preflight(self) -> bool:
        """Whether the working tree is tested as it is: that never proves a fix."""
        return self.commit is None

    @property
    def runs(self) -> int:
        """How often the command is started at most: for each change once more, and for a fit of memory a third time."""
        return runs_of(change.name for change in self.changes)

    @property
    def question(self) -> str:
        """What a user must agree to: the exact command and settings, where it runs, how often and for how long."""
        times = f", at most {self.runs} times ({', '.join(change.name for change in self.changes)})"
        settings = sorted(self.command.environment.items())
        words = [f"{name}={value}" for name, value in settings if name in self.pass_env or not is_secret(name, value)]
        lines = [
            f"Run this command{times if self.changes else ''}, each for at most {self.bounds.seconds:.0f} s?",
            f"  {printable(' '.join([*map(shlex.quote, words), shlex.join(self.command.argv)]))}",
            f"from {printable(self.command.source)}, {self.why}.",
        ]
        if self.resume is not None:
            lines.append(f"It starts from a copy of {printable(str(self.resume))}.")
        if self.pass_env:
            lines.append(f"It is given {', '.join(map(printable, self.pass_env))}.")
        return "\n".join(lines)


def runs_of(changes: Iterable[str]) -> int:
    """How often a command is started at most with these changes."""
    names = list(changes)
    return 1 + len(names) + names.count(HALF_BATCH)


def printable(text: str) -> str:
    """The text with everything that a terminal or a form would not show as it is written as an escape."""
    return "".join(mark if mark.isprintable() else mark.encode("unicode_escape").decode("ascii") for mark in text)


def plan_of(place: Project, request: Request, *, typed: bool = False) -> Plan:
    """The plan for a request; raises `DebuggerError` where it cannot be made. Starts and writes nothing."""
    original = examine(resolve(place, request.run_id, typed_path_allowed=typed)) if request.run_id else None
    if original is None and not request.argv:
        raise DebuggerError(
            "expected a run or a command after --; found neither; name the run, or `-- python train.py`"
        )
    command = given(request.argv) if request.argv else command_of(original.evidence.run)  # type: ignore[union-attr]
    changes = tuple(parse_change(text) for text in request.tries)
    for change in changes:
        applied(change, command, reader_of(place.root))  # what cannot be changed is told before anything is started
    commit, said = _commit(place, request, original)
    steps, target = _end(request, original)
    memory = memory_limit(place.env.get(MEMORY))
    until = f"until step {target} of its log" if target else f"for {steps} steps" if steps else "to its end"
    return Plan(
        place=place,
        command=command,
        bounds=Bounds(seconds=request.seconds or DEFAULT_SECONDS, steps=steps, memory_bytes=memory),
        original=original,
        commit=commit,
        in_place=request.in_place,
        target=target,
        resume=_checkpoint(place, request.resume, typed=typed),
        changes=changes,
        pass_env=request.pass_env,
        why=f"{said}, {until}",
    )


def _checkpoint(place: Project, name: str | None, *, typed: bool) -> Path | None:
    """The checkpoint to start from; it must be there, and over MCP be one that may be read."""
    if name is None:
        return None
    path = place.confined(name, typed=typed)
    if not path.exists():
        raise DebuggerError(f"expected a checkpoint at {name[:300]}; found nothing there; give a file or folder")
    return path


def _commit(place: Project, request: Request, original: Examination | None) -> tuple[str | None, str]:
    """(commit, where that is in words): `--at`, else the run's own, else the one checked out now."""
    if request.in_place:
        if request.at:
            raise DebuggerError("expected --at or --in-place; found both; --in-place tests what is checked out")
        return None, "in the project itself"
    if request.at:
        commit = resolved_commit(place.root, request.at)
        return commit, f"in a copy at {request.at} ({commit[:12]})"
    if original is None:
        return None, "in a copy of the working tree as it is"
    recorded = gather(original.evidence, original.diagnosis).commit_of_run
    if recorded is not None and has_repository(place.root):
        commit = resolved_commit(place.root, str(recorded.value))
        return commit, f"in a copy at the run's commit {commit[:12]} ({recorded.at})"
    if not has_repository(place.root):
        return None, "in a copy"  # which cannot be made: the start says so
    return resolved_commit(place.root, "HEAD"), "in a copy at HEAD, because the run recorded no commit"


def _end(request: Request, original: Examination | None) -> tuple[int | None, int | None]:
    """(optimizer steps, step of the log) at which the test has seen enough; both None: it runs to its end."""
    if request.steps:
        return request.steps, None
    failure = original.diagnosis.modes[0] if original and original.diagnosis.modes else None
    if original is None or failure is None or failure.onset.step is None:
        return None, None
    late = failure.onset.phase in {"evaluation", "checkpoint", "shutdown"}
    if late or failure.mode in WHOLE_RUN or is_host_memory(failure, original):
        return None, None
    return None, failure.onset.step + margin_of(failure, original)


def is_host_memory(failure: Hypothesis, examination: Examination) -> bool:
    """Whether host memory ran out: at which step that happens depends on the machine."""
    found = (finding for finding in examination.findings if finding.rule == failure.rules[0])
    return any(finding.symptom_class == HOST_MEMORY for finding in found)


def reader_of(folder: Path) -> Callable[[str], str | None]:
    """Reads a text file below a folder by its relative path; None where there is none."""

    def read(name: str) -> str | None:
        try:
            return (folder / name).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None

    return read


def margin_of(failure: Hypothesis, original: Examination) -> int:
    """Steps of the log beyond the onset that a test must come to have passed it."""
    return max(round(MARGIN * (failure.onset.step or 0)), REPORTS_BEYOND * report_interval(original))


def report_interval(original: Examination) -> int:
    """The usual distance between two reports of the log, in its own steps."""
    steps = sorted({step for entry in original.evidence.files for step in entry.progress.steps if step >= 0})
    gaps = sorted(b - a for a, b in pairwise(steps))
    return gaps[len(gaps) // 2] if gaps else 1
