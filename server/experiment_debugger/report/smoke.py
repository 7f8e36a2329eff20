"""The answer of run-smoke-test: verdict and reason first, then what was run, what it showed, what that may prove."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator

from experiment_debugger.models import as_dict
from experiment_debugger.report.answers import DIAGNOSIS_PLAN, LAST_RESORT, inside
from experiment_debugger.report.budget import Clip, Cut, Drop, Step, Tree, capacity, compact, shrink, size, speakable
from experiment_debugger.report.markdown import evidence_lines
from experiment_debugger.report.quoting import code, fence, one_line
from experiment_debugger.results import Isolation, SmokeResult

SMOKE_PLAN: tuple[Step, ...] = (
    Drop("diagnosis.checked.not_applicable"),
    Cut("diagnosis.modes", 2),
    Cut("diagnosis.modes.*.evidence", 3, "evidence"),
    *inside("diagnosis", DIAGNOSIS_PLAN),
    Cut("notes", 4),
    Cut("missing", 4),
    Clip("notes.*", 160),
    Cut("argv", 40),
    *LAST_RESORT,
)


def fitted_smoke(result: SmokeResult, max_tokens: int) -> SmokeResult:
    """The result cut so that both its JSON and its Markdown fit; `omitted` counts what is missing."""

    def build(data: Tree, left_out: Counter[str]) -> SmokeResult:
        return SmokeResult.model_validate({**data, "omitted": dict(Counter(data.get("omitted", {})) + left_out)})

    def measure(data: Tree, left_out: Counter[str]) -> int:
        kept = build(data, left_out)
        return max(size(compact(as_dict(kept))), size(smoke_markdown(kept)))

    return build(*shrink(speakable(as_dict(result)), SMOKE_PLAN, measure, capacity(max_tokens)))


def smoke_markdown(result: SmokeResult) -> str:
    """The result for people."""
    of = f" of run {one_line(result.run_id, 80)}" if result.run_id else ""
    parts = [
        [f"# Smoke test {one_line(result.id, 80)}{of}: {result.verdict or 'running'}", one_line(result.summary, 600)],
        list(_facts(result)),
        _failure(result),
        [_isolation(one) for one in result.isolations],
        [f"- {one_line(note)}" for note in result.notes],
    ]
    return "\n\n".join("\n".join(part) for part in parts if part)


def _facts(result: SmokeResult) -> Iterator[str]:
    yield f"- command: {code(shlex.join(result.argv), 400)}" + (f" ({result.source})" if result.source else "")
    if result.commit:
        dirty = " with uncommitted changes" if result.dirty else ""
        yield f"- commit: {result.commit[:12]}{dirty}"
    if result.verdict:
        yield f"- ended: {_ending(result)}"
        yield f"- proves: {result.proves}"
    for name in ("probes", "resources"):
        if facts := getattr(result, name):
            yield f"- {name}: {', '.join(f'{key} {value}' for key, value in facts.items())}"
    if result.artifacts:
        yield f"- the run's own files: {one_line(result.artifacts)}"
    if result.missing:
        yield f"- missing inputs: {one_line('; '.join(result.missing))}"
    if result.records:
        yield f"- records: {one_line(result.records)} (debug reads them like a run)"


def _ending(result: SmokeResult) -> str:
    steps = f", step {result.steps}" if result.steps is not None else ""
    stopped = f", ended by the test: {result.stopped}" if result.stopped else f", exit {result.exit}"
    return f"after {result.seconds} s{steps}{stopped}"


def _failure(result: SmokeResult) -> list[str]:
    """What the same engine says of the test itself."""
    diagnosis = result.diagnosis
    if diagnosis is None or not diagnosis.modes:
        return []
    first = diagnosis.modes[0]
    head = f"It shows {first.mode}, {first.cause or 'cause open'} ({first.confidence} confidence):"
    return [head, one_line(first.summary, 400), *fence(evidence_lines(first.evidence))]


def _isolation(one: Isolation) -> str:
    speaks = f"speaks {one.speaks}" if one.speaks != "nothing" else "tells nothing"
    return (
        f"- try {one.change} ({one.verdict}; {one.id}) {speaks} about: {one_line(one.about)}. {one_line(one.says, 400)}"
    )
