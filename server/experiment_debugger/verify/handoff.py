"""What a sibling skill needs to act on a case without asking, and what of it is still missing.

run-experiment    {run: "42", command: sbatch jobs/42.sh, commit: 5d6e7f8..., acceptance_check: loss stays finite}
the others        {run: "42", finding: ..., paths: ["logs/42.log:311"], question: ..., acceptance_check: ...}
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, get_args

from experiment_debugger.case import Case
from experiment_debugger.errors import DebuggerError
from experiment_debugger.models import Hypothesis, Mode
from experiment_debugger.run import Run
from experiment_debugger.smoke.command import command_of
from experiment_debugger.verify.sanity import open_questions

Consumer = Literal[
    "run-experiment", "result-diagnosis", "data-pipeline-manager", "run-status-monitor", "research-project-memory"
]
CONSUMERS: tuple[str, ...] = get_args(Consumer)
RUN_EXPERIMENT: Consumer = "run-experiment"
SHORT = 12
_ABSENT: dict[Mode, str] = {
    "nan-gradient": "loss and gradient norm stay finite",
    "oom": "no out-of-memory error",
    "slow-training": "time per step is back at what it was before the slowdown, or at what the job expects",
    "slow-data": "the step no longer waits for data",
    "metric-error": "the metric agrees with a case computed by hand",
    "repro-failure": "two runs with the same seed agree from the first step on",
    "crash": "the run goes on without the failure",
    "silent-error": "the loss of one repeated batch falls",
}
"""What a consumer must see, by the mode that was fixed."""
_STAGES = {
    "run-experiment": "execution",
    "result-diagnosis": "analysis",
    "data-pipeline-manager": "data",
    "run-status-monitor": "monitoring",
    "research-project-memory": "memory",
}


@dataclass(frozen=True, slots=True)
class Handoff:
    """One hand-off: `values` is the payload that is written as YAML, `row` the cells of the board.

    `missing` says what keeps the consumer from acting without a question.
    """

    consumer: str
    values: dict[str, Any]
    row: dict[str, str]
    missing: tuple[str, ...]

    @property
    def status(self) -> str:
        """`ready` only where nothing is missing."""
        return "proposed" if self.missing else "ready"


def consumer_named(name: str) -> str:
    """The skill of that name, or a `DebuggerError` with those that there are."""
    if name not in CONSUMERS:
        raise DebuggerError(f"expected --to one of {', '.join(CONSUMERS)}; found '{name[:80]}'; name one of them")
    return name


def handoff_of(
    run: Run, case: Case, consumer: str, report: str | None, payload: str, given: Mapping[str, Any]
) -> Handoff:
    """The hand-off of a case.

    `report` is the debug report where there is one, `payload` where the YAML stands, `given` what a person has written
    into it: that is not missing.
    """
    first = case.diagnosis.modes[0] if case.diagnosis.modes else None
    make = _rerun if consumer == RUN_EXPERIMENT else _question
    values, missing = make(run, case, first, consumer)
    values["debug_report"] = report
    if report is None and consumer == RUN_EXPERIMENT:
        missing.append(f"debug_report: write-debug-report {case.run_id}")
    missing = [one for one in missing if one.partition(":")[0] not in given.keys() & {"command", "config"}]
    missing += _stale(values, given) if given else []
    values = {key: value for key, value in {**values, **given}.items() if value not in (None, [], "")}
    return Handoff(consumer, values, _row(case, consumer, values, missing, payload), tuple(missing))


def _stale(values: Mapping[str, Any], given: Mapping[str, Any]) -> list[str]:
    """What an edited payload, which is never written over, does not say as it is now."""
    needed = ("commit", "question", "acceptance_check", "debug_report")
    return [
        f"{key}: the edited payload has {str(given.get(key, 'none'))[:80]}, it is {values[key]} now: correct it there"
        for key in needed
        if values.get(key) not in (None, "") and str(given.get(key)) != str(values[key])
    ]


def _rerun(run: Run, case: Case, first: Hypothesis | None, _consumer: str) -> tuple[dict[str, Any], list[str]]:
    missing = open_questions(case) if case.status not in {"fixed", "fixed, not fully verified"} else []
    if case.status == "diagnosed":
        missing = ["a fix: the case is only diagnosed", *missing]
    command, job_file, problem = _command(run)
    if problem:
        missing.append(f"command: {problem}")
    proven = next((one for one in case.tested if one.proves == "the fix"), None)
    if proven is not None and proven.own_command and not problem and _spoken(run) not in {proven.command, None}:
        missing.append(f"command: it is not the one that {proven.id} has proven ({proven.command}); test it again")
    if case.fix is None:
        missing.append("commit: no fix commit is known")
    if first is None and not case.told.root_cause:
        missing.append("acceptance_check: no failure is known that must be gone")
    values = {
        "run": case.run_id,
        "command": command,
        "job_file": job_file,
        "config": next(iter(_configs(run)), "none"),
        "commit": case.fix.corrected if case.fix else None,
        "env": dict(run.declared.environment),
        "resources": dict(run.declared.resources),
        "acceptance_check": _acceptance(case, first),
    }
    return values, missing


def _command(run: Run) -> tuple[str | None, str | None, str | None]:
    """(command to submit, job file, why there is none)."""
    script = next((job for job in run.of_kind("job") if job.name.endswith((".sh", ".sbatch", ".slurm"))), None)
    if script is not None:
        with script.path.open("rb") as text:
            slurm = b"#SBATCH" in text.read(1 << 20)
        return f"{'sbatch' if slurm else 'bash'} {script.name}", script.name, None
    try:
        command = command_of(run)
    except DebuggerError as problem:
        return None, None, str(problem)
    job = next((job.name for job in run.of_kind("job")), None)
    if "[REDACTED" in command.spoken:
        return None, job, "it holds a secret, which no file of ours repeats: write how to start it into the YAML"
    return command.spoken, job, None


def _spoken(run: Run) -> str | None:
    """The command of the run as a smoke test would ask for it now."""
    try:
        return command_of(run).spoken
    except DebuggerError:
        return None


def _configs(run: Run) -> Iterator[str]:
    """Configs of the run, the one that its command names first."""
    with suppress(DebuggerError):
        yield from (name for name in command_of(run).files if name.endswith((".yaml", ".yml", ".json", ".toml")))
    yield from (name for name in run.declared.configs if not name.startswith(("/", "~")))
    yield from (artifact.name for artifact in run.of_kind("config") if not artifact.name.startswith(("/", "~")))


def _acceptance(case: Case, first: Hypothesis | None) -> str | None:
    if first is None:
        return f"the rerun no longer shows: {case.told.root_cause}" if case.told.root_cause else None
    step = f" past step {first.onset.step}" if first.onset.step is not None else ""
    before = f"; before it the same loss as run {case.run_id}, within noise" if first.onset.step else ""
    return f"{_ABSENT[first.mode]}{step}{before}"


def _question(run: Run, case: Case, first: Hypothesis | None, consumer: str) -> tuple[dict[str, Any], list[str]]:
    missing: list[str] = []
    finding = case.told.root_cause or (first.summary if first else case.diagnosis.summary)
    places = [f"{item.path}:{item.line}" if item.line else item.path for item in (first.evidence if first else ())]
    paths = list(dict.fromkeys([*places, *(case.fix.files if case.fix else ())]))
    paths = paths or [artifact.name for artifact in run.artifacts[:3]]
    question, acceptance, lack = _ASKED[consumer](case, first)
    missing += lack
    values = {
        "run": case.run_id,
        "finding": finding,
        "paths": paths,
        "question": question,
        "acceptance_check": acceptance,
    }
    return values, missing


Asked = tuple[str, str, list[str]]


def _of_results(case: Case, first: Hypothesis | None) -> Asked:
    lack = []
    if first is not None and case.status not in {"fixed", "fixed, not fully verified"}:
        lack.append(f"a run without a known bug: {first.mode} is {case.status}; results of a broken run are no science")
    elif first is None and case.diagnosis.verdict == "inconclusive":
        lack.append("a run that is known to be right: the diagnosis is inconclusive")
    return "Is this result what the method should give?", "the result is explained, or a follow-up is named", lack


def _of_data(case: Case, first: Hypothesis | None) -> Asked:
    lack = [] if first or case.told.root_cause else ["finding: no fault of the data is known"]
    question = "Where does the fault enter the data, and which other prepared sets have it?"
    return question, "the prepared data no longer has the fault, and every affected run is named", lack


def _of_watching(case: Case, first: Hypothesis | None) -> Asked:
    lack = [] if first else ["what to watch for: no failure is known"]
    step = f" around step {first.onset.step}" if first and first.onset.step is not None else ""
    what = f"{first.mode}, {first.cause or 'cause open'}" if first else "a failure"
    question = f"Does the rerun of {case.run_id} show {what} again{step}?"
    return question, _acceptance(case, first) or "the rerun is followed to its end", lack


def _of_memory(case: Case, _first: Hypothesis | None) -> Asked:
    lack = [] if case.told.root_cause else ["root cause: write-debug-report with --root-cause"]
    lack += [] if case.risks else [f"risk: append-risk-board {case.run_id}"]
    question = "Which decisions, claims or runs of the project rest on what this failure touches?"
    return question, f"the lesson is recorded, with {', '.join(case.risks) or 'its risk'}", lack


_ASKED: dict[str, Callable[[Case, Hypothesis | None], Asked]] = {
    "result-diagnosis": _of_results,
    "data-pipeline-manager": _of_data,
    "run-status-monitor": _of_watching,
    "research-project-memory": _of_memory,
}


def _row(case: Case, consumer: str, values: dict[str, Any], missing: list[str], payload: str) -> dict[str, str]:
    what = f"corrected job of run {case.run_id}" if consumer == RUN_EXPERIMENT else f"finding of run {case.run_id}"
    lacking = f"; missing: {'; '.join(missing)}" if missing else ""
    fix = case.fix
    return {
        "Status": "proposed" if missing else "ready",
        "Producer": "experiment-debugger",
        "Consumer": consumer,
        "From": "debugging",
        "To": _STAGES[consumer],
        "Payload": what + lacking,
        "Source paths": ", ".join([payload, *([str(values["debug_report"])] if values.get("debug_report") else [])]),
        "Expected outputs": f"a finished rerun of {case.run_id}"
        if consumer == RUN_EXPERIMENT
        else "an answer to the question",
        "Acceptance check": str(values.get("acceptance_check", "")),
        "Staleness trigger": f"a commit after {fix.corrected[:SHORT]} touches {', '.join(fix.files[:3])}"
        if fix
        else "a fix of the run",
        "Certainty": "observed" if case.status == "fixed" else "needs-verification" if case.fix else "inferred",
    }
