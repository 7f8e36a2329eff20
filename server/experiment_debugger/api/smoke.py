"""The verb that starts the user's command: only after somebody has agreed to the exact command."""

# No `from __future__ import annotations` here: the surfaces read the annotations of these functions as objects.

import os
from typing import TYPE_CHECKING, Any

from experiment_debugger.api.places import project_of
from experiment_debugger.arguments import (
    Argv,
    Cancel,
    Checkpoint,
    Commit,
    InPlace,
    MaxTokens,
    PassEnv,
    Poll,
    ProjectDir,
    RunId,
    Seconds,
    Start,
    Steps,
    Tries,
)
from experiment_debugger.command import CALL
from experiment_debugger.errors import DebuggerError
from experiment_debugger.report.budget import DEFAULT_TOKENS

if TYPE_CHECKING:
    from experiment_debugger.project import Project
    from experiment_debugger.results import SmokeResult
    from experiment_debugger.verify.plan import Plan

ALLOW_RUN = "EXPERIMENT_DEBUGGER_ALLOW_RUN"
"""The operator's consent to start commands where the user cannot be asked."""
LET_THROUGH = "EXPERIMENT_DEBUGGER_PASS_ENV"
"""Names of variables, separated by commas, that the operator lets through to commands."""


def run_smoke_test(
    run_id: RunId = None,
    argv: Argv = None,
    tries: Tries = None,
    steps: Steps = None,
    seconds: Seconds = None,
    resume: Checkpoint = None,
    at: Commit = None,
    in_place: InPlace = False,  # noqa: FBT002 (passed by name)
    start: Start = False,  # noqa: FBT002 (passed by name)
    poll: Poll = None,
    cancel: Cancel = None,
    pass_env: PassEnv = None,
    project: ProjectDir = None,
    max_tokens: MaxTokens = DEFAULT_TOKENS,
) -> "SmokeResult":
    """Reproduce a run's failure, or prove its fix, by running its command: bounded, in a copy at a commit, after asking
    the user. Without a run: the working tree as it is.
    """
    from experiment_debugger.report.smoke import fitted_smoke
    from experiment_debugger.verify import smoke_test

    place = project_of(project)
    if poll is not None or cancel is not None:
        found = smoke_test.cancel(place, cancel) if cancel is not None else smoke_test.poll(place, str(poll))
        return fitted_smoke(found, max_tokens)
    call = CALL.get()
    if not call.consent:
        raise DebuggerError("Not run: nobody agreed to it.")
    plan = _smoke_plan(place, run_id, argv, tries, steps, seconds, resume, at, in_place, pass_env, waits=not start)
    if call.agreed is not None and plan.question != call.agreed:
        raise DebuggerError("Not run: the command has changed since the user agreed to it; ask again.")
    return fitted_smoke(smoke_test.start(plan) if start else smoke_test.smoke_test(plan, call), max_tokens)


def ask_to_run(
    project: str | None = None, poll: str | None = None, cancel: str | None = None, **wanted: Any
) -> str | None:
    """What the user must agree to before `run_smoke_test` with these arguments; None when it would start nothing."""
    if poll is not None or cancel is not None:
        return None
    names = ("run_id", "argv", "tries", "steps", "seconds", "resume", "at", "in_place", "pass_env")
    plan = _smoke_plan(project_of(project), *(wanted.get(name) for name in names), waits=not wanted.get("start"))
    return plan.question


def _smoke_plan(
    place: "Project",
    run_id: str | None,
    argv: list[str] | None,
    tries: list[str] | None,
    steps: int | None,
    seconds: int | None,
    resume: str | None,
    at: str | None,
    in_place: bool | None,
    pass_env: list[str] | None,
    *,
    waits: bool,
) -> "Plan":
    """The plan of a smoke test; `waits`: the call gives the answer, not only an id."""
    from experiment_debugger.verify.plan import Request, plan_of, runs_of

    typed = CALL.get().typed
    if waits and not typed:
        seconds = _within_patience(seconds, runs_of(tries or ()))
    allowed = [name.strip() for name in os.environ.get(LET_THROUGH, "").split(",") if name.strip()]
    request = Request(
        run_id=run_id,
        argv=tuple(argv or ()),
        tries=tuple(tries or ()),
        steps=steps,
        seconds=seconds,
        resume=resume,
        at=at,
        in_place=bool(in_place),
        pass_env=(*(pass_env or ()), *allowed),
    )
    return plan_of(place, request, typed=typed)


def _within_patience(seconds: int | None, runs: int) -> int:
    """Seconds for each of the runs of a call that waits; raises `DebuggerError` where a client would give up first."""
    from experiment_debugger.verify.plan import DEFAULT_SECONDS

    most = DEFAULT_SECONDS // runs
    if (seconds or 0) > most:
        each = f" for each of {runs} runs" if runs > 1 else ""
        raise DebuggerError(f"expected at most {most} seconds{each} in a call that waits; found {seconds}; use start")
    return seconds or most
