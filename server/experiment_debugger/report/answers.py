"""The answers of the verbs, each fitted into its budget."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from experiment_debugger.models import Diagnosis, RunContext, as_dict
from experiment_debugger.report.budget import (
    Clip,
    Cut,
    Drop,
    Squeeze,
    Step,
    TextAnswer,
    Tree,
    capacity,
    compact,
    fit_lines,
    shrink,
    size,
    speakable,
)
from experiment_debugger.report.context import context_markdown
from experiment_debugger.report.markdown import debug_markdown, more_hint

LAST_RESORT: tuple[Step, ...] = tuple(
    Squeeze(length, keep) for length, keep in ((200, 8), (120, 4), (80, 2), (60, 1), (40, 1), (40, 0))
)
DIAGNOSIS_PLAN: tuple[Step, ...] = (
    Cut("modes.*.evidence", 8, "evidence"),
    Cut("consequences", 8),
    Cut("modes.1+.evidence", 2, "evidence"),
    Cut("coverage.not_looked_at", 6),
    Cut("coverage.unreadable", 6),
    Cut("modes", 3),
    Cut("consequences", 4),
    Cut("modes.1+.next_checks", 0),
    Cut("checked.fired", 15),
    Cut("modes.0.evidence", 5, "evidence"),
    Cut("modes.1+.evidence", 1, "evidence"),
    Clip("modes.*.evidence.*.quote", 200),
    Cut("coverage.not_looked_at", 2),
    Cut("coverage.unreadable", 2),
    Cut("modes.*.next_checks", 3),
    Cut("modes.*.unknown", 2),
    Cut("modes", 2),
    Cut("consequences", 2),
    Clip("modes.*.evidence.*.quote", 120),
    Cut("checked.not_applicable", 4),
    Cut("checked.fired", 5),
    Cut("modes", 1),
    Cut("modes.*.evidence", 3, "evidence"),
    Cut("modes.*.against", 1),
    Cut("modes.*.next_checks", 1),
    Cut("modes.*.rules", 3),
    Cut("seen_before", 3),
    Cut("consequences", 1),
    Cut("modes.*.evidence", 1, "evidence"),
    Cut("consequences", 0),
    Drop("coverage.note"),
    *LAST_RESORT[2:],
)
CONTEXT_PLAN: tuple[Step, ...] = (
    Cut("siblings", 10),
    Cut("artifacts", 30),
    Cut("runs", 60),
    Cut("environment", 25),
    Cut("config", 24),
    Cut("missing", 12),
    Cut("changed", 8),
    Cut("siblings", 3),
    Cut("artifacts", 16),
    Cut("runs", 25),
    Cut("config", 12),
    Cut("environment", 12),
    Cut("artifacts", 8),
    Cut("run.attempts", 8),
    Cut("missing", 5),
    Cut("changed", 3),
    Clip("*.*.value", 160),
    Cut("artifacts", 3),
    *(Cut(key, 4) for key in ("config", "environment", "hardware", "scheduler")),
    *(Cut(key, 1) for key in ("config", "environment", "hardware", "scheduler")),
    *LAST_RESORT,
)
CONTEXT_IN_DEBUG: tuple[Step, ...] = (
    Drop("siblings"),
    Cut("missing", 8),
    Cut("config", 8),
    Cut("run.attempts", 4),
    Drop("environment"),
    Drop("scheduler"),
    Drop("config"),
)
"""In `debug` the diagnosis goes before the context: these cuts come between its first and its second half."""
CONTEXT_AT_LAST: tuple[Step, ...] = tuple(
    Drop(key) for key in ("missing", "changed", "error", "hardware", "commit_of_run", "commit_now", "command")
)
EASY_CUTS = 9


def debug_answer(
    diagnosis: Diagnosis,
    max_tokens: int,
    context: RunContext | None = None,
    collect: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> TextAnswer:
    """Context, diagnosis and next checks as one Markdown text."""

    def build(data: Tree, left_out: Counter[str]) -> TextAnswer:
        kept = Diagnosis.model_validate(data["diagnosis"])
        facts = RunContext.model_validate(data["context"]) if data["context"] else None
        text = debug_markdown(kept, facts, data["collect"], notes, left_out)
        counts = left_out + Counter(kept.omitted)
        return TextAnswer(
            text, _shown(kept), dict(counts), more_hint(kept, cut=bool(left_out)) if counts else "", kept.verdict
        )

    facts = as_dict(context.model_copy(update={"artifacts": ()})) if context else None
    data = speakable({"context": facts, "diagnosis": as_dict(diagnosis), "collect": list(collect)})
    plan = (
        *inside("diagnosis", DIAGNOSIS_PLAN[:EASY_CUTS]),
        *inside("context", CONTEXT_IN_DEBUG),
        *inside("diagnosis", DIAGNOSIS_PLAN[EASY_CUTS:]),
        *inside("context", CONTEXT_AT_LAST),
        *LAST_RESORT,
    )
    answer = build(*shrink(data, plan, lambda *parts: build(*parts).size(), capacity(max_tokens)))
    return beginning(answer, capacity(max_tokens))


def beginning(answer: TextAnswer, cap: int) -> TextAnswer:
    """The answer if it fits, else its first lines: the cap holds whatever a name or a note may contain."""
    if answer.size() <= cap:
        return answer
    rest = sum(answer.left_out.values())
    bare = replace(answer, text="", shown={}, left_out={"items": rest})
    text, lines = fit_lines(answer.text.split("\n"), cap - bare.size(), "({} more lines)".format)
    return replace(bare, text=text, left_out={"items": rest + lines})


def fitted_diagnosis(diagnosis: Diagnosis, max_tokens: int) -> Diagnosis:
    """The diagnosis cut so that both its JSON and its Markdown fit; `omitted` counts what is missing."""

    def build(data: Tree, left_out: Counter[str]) -> Diagnosis:
        omitted = Counter(data.get("omitted", {})) + left_out
        return Diagnosis.model_validate({**data, "omitted": dict(omitted)})

    def measure(data: Tree, left_out: Counter[str]) -> int:
        kept = build(data, left_out)
        return max(size(compact(as_dict(kept))), size(debug_markdown(kept)))

    return build(*shrink(speakable(as_dict(diagnosis)), DIAGNOSIS_PLAN, measure, capacity(max_tokens)))


def fitted_context(context: Tree, max_tokens: int) -> Tree:
    """The run context, or the list of runs, cut so that both forms fit; `omitted` counts what is missing."""

    def build(data: Tree, left_out: Counter[str]) -> Tree:
        omitted = Counter(data.get("omitted", {})) + left_out
        return {**data, "omitted": dict(omitted)} if omitted else data

    def measure(data: Tree, left_out: Counter[str]) -> int:
        kept = build(data, left_out)
        return max(size(compact(kept)), size(context_markdown(kept)))

    return build(*shrink(speakable(context), CONTEXT_PLAN, measure, capacity(max_tokens)))


def inside(key: str, plan: Sequence[Step]) -> list[Step]:
    """The plan for data that stands one key deeper."""
    return [step if isinstance(step, Squeeze) else replace(step, path=f"{key}.{step.path}") for step in plan]


def _shown(diagnosis: Diagnosis) -> dict[str, int]:
    evidence = sum(len(hypothesis.evidence) for hypothesis in diagnosis.modes[:1])
    return {"modes": len(diagnosis.modes), "evidence": evidence, "consequences": len(diagnosis.consequences)}
