"""A log that stops in the middle while the job lives on, without a word.

I 17:04:44 e3  332/1251 loss 0.5052 ...           last line of train.log
heartbeat 07-02 05:20 state=RUNNING gpu_util=...  another file, twelve hours later

Trackers know when each point was written: their last metric against their last sample of the machine.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from experiment_debugger.evidence import FileEvidence, RunEvidence, quote_of
from experiment_debugger.models import Evidence, Finding, Position
from experiment_debugger.readers.series import Series
from experiment_debugger.readers.timestamps import Clock
from experiment_debugger.rules.base import run_detector
from experiment_debugger.rules.rulebook import Rulebook
from experiment_debugger.rules.series import point, series_finding

SHORTEST_STALL = 900.0
"""Seconds between the last report and the last sign of life; below that an evaluation or a save is likelier."""
MANY_INTERVALS = 20
"""A stall is also this many times the usual distance between two reports."""
NO_NEW_POINT = 1800.0
"""Seconds without a new metric while the machine was still sampled: SageMaker's StalledTrainingRule."""
TIME_LIMIT = "slurm-time-limit"
"""Its line says when the job was ended: `*** JOB 42 ON n1 CANCELLED AT 2026-03-02T12:00:00 DUE TO TIME LIMIT ***`."""
TRAINED = frozenset({"loss", "eval-loss", "grad-norm", "learning-rate", "metric", "step-time", "throughput"})
SAMPLED = frozenset({"gpu-utilisation", "gpu-temperature", "gpu-power", "cpu-utilisation", "host-memory"})


@run_detector(
    id="log-stops-mid-run",
    title="the training log stops in the middle while the job was still alive",
    mode="crash",
    symptom_class="no-progress",
    role="symptom",
    level="error",
    why="No exception and no end: the process waits for something. Busy GPUs can be spinning in a collective.",
    confirm=["py-spy dump --pid PID on every rank, workers included: the process that stands elsewhere is the one."],
    false_positives=["Output that is buffered and was lost when the process was killed."],
    references=["https://github.com/benfred/py-spy"],
    verified="thread",
)
def log_stops_mid_run(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """The main log, when something else of the run shows that the job lived on, or that someone dumped its stacks."""
    main = _main_log(evidence)
    if main is None or _failed(main, book):
        return
    gap, witness = _silence(main, evidence)
    dumped = next((entry for entry in evidence.files if entry.artifact.kind == "dump"), None)
    if witness is None and dumped is None:
        return
    hours = f", {gap / 3600:.1f} h before the last sign of life in {witness.name}" if witness else ""
    last = main.stats.last_line
    yield log_stops_mid_run.info.finding(
        Position(
            path=main.name, line=last, step=main.steps_before(last), time=main.last_time, attempt=main.artifact.attempt
        ),
        (_quoted(entry) for entry in _distinct(main, witness, dumped)),
        title=f"the log stops in the middle of training{hours}",
    )


def _distinct(*entries: FileEvidence | None) -> list[FileEvidence]:
    """The files that are there, each once."""
    return list({entry.name: entry for entry in entries if entry is not None}.values())


def _main_log(evidence: RunEvidence) -> FileEvidence | None:
    """The log with most training reports, else the one that fell silent first; None when it reached its planned end."""
    logs = [entry for entry in evidence.files if entry.artifact.kind == "log" and entry.stats.lines]
    main = max(logs, key=lambda entry: (entry.artifact.attempt, len(entry.progress.lines)), default=None)
    if main is not None and not main.progress.lines:
        stamped = [entry for entry in logs if entry.last_time is not None and entry.stats.lines > 2]
        main = min(stamped, key=lambda entry: entry.last_time or 0.0, default=main)
    return None if main is None or main.progress.reached_plan else main


def _failed(main: FileEvidence, book: Rulebook) -> bool:
    """Whether the log itself ends with an exception, an error or a normal end."""
    last = main.stats.last_line
    if any(block.last >= last - 60 and not main.recovered_after(block.last) for block in main.tracebacks):
        return True
    telling = {"root", "symptom", "ending"}
    return any(
        match.rule in book.signatures
        and book.signatures[match.rule].role in telling
        and book.signatures[match.rule].symptom_class != "scheduler-ended"
        and not main.recovered_after(match.line)
        for match in main.matches
    )


def _silence(main: FileEvidence, evidence: RunEvidence) -> tuple[float, FileEvidence | None]:
    """(seconds, file) of the latest sign of life after the main log's last report, if that is long enough."""
    times = main.times()
    last = times[-1] if times else main.last_time
    usual = (times[-1] - times[0]) / (len(times) - 1) if len(times) > 2 else 0.0
    limit = _time_limit(main)
    if times and limit is not None and limit - times[-1] >= max(SHORTEST_STALL, MANY_INTERVALS * usual):
        return limit - times[-1], main
    others = [
        entry
        for entry in evidence.files
        if entry.last_time is not None and entry is not main and not entry.progress.lines
    ]
    witness = max(others, key=lambda entry: entry.last_time or 0.0, default=None)
    if last is None or witness is None or witness.last_time is None:
        return 0.0, None
    gap = witness.last_time - last
    return (gap, witness) if gap >= max(SHORTEST_STALL, MANY_INTERVALS * usual) else (0.0, None)


def _time_limit(main: FileEvidence) -> float | None:
    """When the scheduler ended the job, where its line stands in the same log."""
    ends = [match.groups.get("time", "") for match in main.matches if match.rule == TIME_LIMIT]
    return Clock().read(ends[-1]) if ends else None


def _quoted(entry: FileEvidence) -> Evidence:
    text = entry.stats.last_text
    return Evidence(
        path=entry.name,
        line=entry.stats.last_line,
        step=entry.steps_before(entry.stats.last_line),
        quote=quote_of(text),
    )


@run_detector(
    id="metrics-stop-mid-run",
    title="no metric was recorded any more while the machine was still sampled",
    symptom_class="observation",
    role="context",
    level="warning",
    needs=["series"],
    why="The training waits or has ended without its tracker; the process that samples the machine lives on.",
    confirm=["The last lines of the log, and py-spy dump of the process if it is still there."],
    false_positives=["A long last evaluation or upload, a notebook that stayed open."],
    references=["https://docs.aws.amazon.com/sagemaker/latest/dg/stalled-training.html"],
    verified="source",
)
def metrics_stop_mid_run(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """Sources whose samples of the machine go on long after their last metric, short of the planned end."""
    for entry in evidence.numbers:
        last, sampled = _latest(entry.series, TRAINED), _latest(entry.series, SAMPLED)
        if last is None or sampled is None:
            continue
        stopped, at = last
        gap = sampled[0].times[sampled[1]] - stopped.times[at]
        usual = (stopped.times[at] - stopped.times[0]) / at if at else 0.0
        planned = evidence.planned_steps
        ended = planned is not None and stopped.steps[at] >= 0.98 * planned
        if gap >= max(NO_NEW_POINT, MANY_INTERVALS * usual) and not ended:
            title = f"no metric for {gap / 3600:.1f} h while the machine was still sampled"
            found = series_finding(entry, stopped, at, metrics_stop_mid_run.info, title=title)
            shown = (*found.evidence, point(entry, *sampled))
            yield found.model_copy(update={"evidence": shown})


def _latest(all_series: Iterable[Series], roles: frozenset[str]) -> tuple[Series, int] | None:
    """The series of these roles that was written last, and the index of that point."""
    written = [one for one in all_series if one.role in roles and len(one) and math.isfinite(one.times[-1])]
    latest = max(written, key=lambda one: one.times[-1], default=None)
    return None if latest is None else (latest, len(latest) - 1)
