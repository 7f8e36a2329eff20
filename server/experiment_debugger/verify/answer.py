"""A test that has ended as the answer of run-smoke-test, which is also kept in its records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from experiment_debugger.git import uncommitted_changes
from experiment_debugger.models import Diagnosis, Value
from experiment_debugger.redaction import redacted_words
from experiment_debugger.results import Isolation, SmokeResult
from experiment_debugger.smoke.records import PLAN
from experiment_debugger.verify.reach import furthest
from experiment_debugger.verify.trial import Trial
from experiment_debugger.verify.verdict import Judgement

VERDICT_WORDS = {
    "reproduced": "Reproduced",
    "different-failure": "Failed, and not as the run did",
    "passed": "Passed",
    "timed-out": "Timed out",
    "inconclusive": "Inconclusive",
}


def answer_of(
    trial: Trial, judged: Judgement, isolations: Sequence[Isolation] = (), trials: Sequence[Trial] = ()
) -> SmokeResult:
    """The answer, kept in the records, which `debug` reads like any run; `trials` are all that belong to it."""
    plan, workspace, result = trial.plan, trial.workspace, trial.result
    words = (
        "Failed" if judged.verdict == "different-failure" and plan.failure is None else VERDICT_WORDS[judged.verdict]
    )
    answer = SmokeResult(
        id=trial.records.id,
        run_id=plan.run.id if plan.run else None,
        verdict=judged.verdict,
        summary=f"{words}: {judged.because}.",
        proves=judged.proves,
        argv=redacted_words(trial.argv),
        source=plan.command.source,
        commit=workspace.commit if workspace else None,
        dirty=workspace.dirty if workspace else None,
        steps=furthest(trial),
        seconds=round(float(result.get("seconds", 0.0)), 1),
        exit=result.get("signal") or result.get("exit"),
        stopped=result.get("stopped"),
        diagnosis=_diagnosis(trial),
        probes=_probes(trial),
        resources=_resources(trial),
        artifacts=_artifacts(trial, trials),
        isolations=tuple(isolations),
        missing=workspace.missing if workspace else (),
        notes=tuple(_notes(trial)),
        records=plan.place.show(trial.records.folder),
    )
    keep(trial, answer)
    return answer


def keep(trial: Trial, answer: SmokeResult) -> None:
    """Write the answer next to what it was computed from."""
    started = trial.records.read(PLAN)
    trial.records.write(PLAN, {**started, "answer": answer.model_dump(mode="json", exclude_none=True)})


def _diagnosis(trial: Trial) -> Diagnosis | None:
    return trial.examination.diagnosis if trial.examination else None


def _probes(trial: Trial) -> dict[str, Value]:
    probed = trial.probed
    facts: dict[str, Value | None] = {
        "loaded": len(probed.loaded),
        "torch": probed.torch,
        "optimizer_steps": probed.step,
        "last_loss": probed.loss,
        "nonfinite_at": probed.nonfinite_at,
        "stopped_at": probed.stopped_at,
        "blocked_writes": len(probed.blocked) or None,
    }
    return {name: value for name, value in facts.items() if value is not None}


def _resources(trial: Trial) -> dict[str, Value]:
    peak, device = trial.result.get("peak_rss_bytes"), trial.probed.peak_bytes
    facts = {"peak_rss_mib": peak and peak >> 20, "peak_device_mib": device and device >> 20}
    left_out = trial.result.get("output_left_out")
    if left_out:
        facts["output_bytes_left_out"] = left_out
    return {name: value for name, value in facts.items() if value}


def _artifacts(trial: Trial, trials: Sequence[Trial]) -> str | None:
    """What became of the run's own files over all trials."""
    if trial.plan.run is None:
        return None
    touched = list(dict.fromkeys(path for one in (trial, *trials) for path in one.touched))
    if not touched:
        return f"unchanged ({len(trial.protected)} files)"
    return f"CHANGED meanwhile: {', '.join(touched[:5])}"


def _notes(trial: Trial) -> Iterator[str]:
    if trial.plan.commit is not None and uncommitted_changes(trial.plan.place.root):
        yield "The working tree has uncommitted changes; they are not part of this test."
    if trial.change is not None:
        yield f"One change: {trial.change.says}. An isolation is never the fix."
    if trial.workspace is not None:
        yield from trial.workspace.notes
    if trial.result.get("survivors"):
        yield f"Processes that could not be ended: {trial.result['survivors']}"
    if trial.withheld:
        yield f"Withheld from it: {', '.join(trial.withheld[:12])}"
