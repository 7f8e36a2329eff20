"""The verb run-smoke-test: one plan run to its verdict, isolations next to it, and tests that go on in the background.

A started test belongs to this process: it ends with it, and a poll after that says so.
"""

from __future__ import annotations

import os
import shlex
import threading
from dataclasses import dataclass

from pydantic import ValidationError

from experiment_debugger.command import Call
from experiment_debugger.errors import DebuggerError
from experiment_debugger.project import Project
from experiment_debugger.redaction import redacted_words
from experiment_debugger.results import Isolation, SmokeResult
from experiment_debugger.smoke.records import PLAN, Records, new_records, records_of
from experiment_debugger.verify.answer import answer_of
from experiment_debugger.verify.batch import batch_fit
from experiment_debugger.verify.isolation import isolate
from experiment_debugger.verify.plan import Plan
from experiment_debugger.verify.trial import Trial, run_trial
from experiment_debugger.verify.verdict import judge

MOST_STARTED = 2
ENDED_WITH_SERVER = "Inconclusive: the test ended with the server that had started it."
END_SECONDS = 30.0
"""How long a cancelled test may take to end everything it started."""


@dataclass
class Started:
    """A test that runs in a thread of this process."""

    plan: Plan
    records: Records
    call: Call
    thread: threading.Thread
    progress: tuple[float, float, str] = (0.0, 0.0, "not started yet")
    answer: SmokeResult | None = None
    problem: str | None = None


_STARTED: dict[str, Started] = {}
_LOCK = threading.Lock()


def smoke_test(plan: Plan, call: Call, records: Records | None = None) -> SmokeResult:
    """Run the plan, and once more for each change; returns when nothing of it is left."""
    base = run_trial(plan, call, records=records)
    judged = judge(base)
    trials: list[Trial] = [base]
    isolations: list[Isolation] = []
    for change in plan.changes:
        if call.cancelled.is_set():
            break
        trial, isolation = isolate(plan, base, judged, change, call)
        trials.append(trial)
        isolations.append(isolation)
    fit = batch_fit(plan, trials, call)
    if fit is not None:
        at = next(index for index, one in enumerate(isolations) if one.change == "half-batch")
        isolations[at] = isolations[at].model_copy(update={"says": f"{isolations[at].says}. {fit}"})
    return answer_of(base, judged, isolations, trials)


def start(plan: Plan) -> SmokeResult:
    """Start the plan in the background and give its id."""
    with _LOCK:
        return _started(plan)


def _started(plan: Plan) -> SmokeResult:
    running = [one for one in _STARTED.values() if one.thread.is_alive()]
    if len(running) >= MOST_STARTED:
        ids = ", ".join(one.records.id for one in running)
        raise DebuggerError(f"expected at most {MOST_STARTED} tests at once; running: {ids}; poll or cancel one")
    records = new_records(plan.place.root)
    call = Call(consent=True, progress=lambda *seen: _note(records.id, seen))
    thread = threading.Thread(target=_in_background, args=(records.id,), name=records.id, daemon=True)
    records.write(
        PLAN,
        {
            "id": records.id,
            "run_id": plan.run.id if plan.run else None,
            "command": plan.command.spoken,
            "owner": os.getpid(),
        },
    )
    _STARTED[records.id] = Started(plan, records, call, thread)
    thread.start()
    return running_answer(_STARTED[records.id], "Started; it ends with this server. Poll it.")


def poll(place: Project, test: str) -> SmokeResult:
    """How far a started test is, or its answer; that of an earlier server's test from its records."""
    started = _own(place, test)
    if started is None:
        return _from_records(records_of(place.root, test))
    if started.problem is not None:
        raise DebuggerError(started.problem)
    if started.answer is not None:
        del _STARTED[test]  # from now on its records answer
        return started.answer
    done, _, message = started.progress
    return running_answer(started, f"Running for {done:.0f} s: {message}.")


def cancel(place: Project, test: str) -> SmokeResult:
    """End a started test and everything it has started."""
    started = _own(place, test)
    if started is not None and started.thread.is_alive():
        started.call.cancelled.set()
        started.thread.join(END_SECONDS)
    return poll(place, test)


def _own(place: Project, test: str) -> Started | None:
    """A test that this process has started in this project."""
    started = _STARTED.get(test)
    return started if started is not None and started.plan.place.root == place.root else None


def running_answer(started: Started, summary: str) -> SmokeResult:
    """The answer of a test without a verdict yet."""
    plan = started.plan
    return SmokeResult(
        id=started.records.id,
        run_id=plan.run.id if plan.run else None,
        summary=summary,
        argv=redacted_words(plan.command.argv),
        source=plan.command.source,
        commit=plan.commit,
        records=plan.place.show(started.records.folder),
    )


def _in_background(test: str) -> None:
    started = _STARTED[test]
    try:
        started.answer = smoke_test(started.plan, started.call, started.records)
    except DebuggerError as problem:
        started.problem = str(problem)
    except Exception as problem:  # a thread has nobody above it: the next poll tells
        started.problem = f"the test could not be carried out: {type(problem).__name__}: {problem}"


def _note(test: str, seen: tuple[float, float, str]) -> None:
    _STARTED[test].progress = seen


def _from_records(records: Records) -> SmokeResult:
    """The answer that was kept; without one the test has ended with its server, or still runs in another one."""
    kept = records.read(PLAN)
    try:
        return SmokeResult.model_validate(kept["answer"])
    except (KeyError, ValidationError):
        pass
    alive = _is_alive(kept.get("owner"))
    return SmokeResult(
        id=records.id,
        run_id=kept.get("run_id"),
        verdict=None if alive else "inconclusive",
        summary="Running in another process." if alive else ENDED_WITH_SERVER,
        argv=tuple(shlex.split(str(kept.get("command", "")))),
        commit=kept.get("commit"),
        dirty=kept.get("dirty"),
    )


def _is_alive(owner: object) -> bool:
    import psutil

    return isinstance(owner, int) and owner != os.getpid() and psutil.pid_exists(owner)
