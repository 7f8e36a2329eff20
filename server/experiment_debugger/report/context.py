"""The run context as a few lines of Markdown: facts that are there, in reading order, and what is missing.

- run: failed at step 27361 of 50000; found by jobs/42.yaml; 2 attempts (slurm-42.out, slurm-42-1.out)
- command: `torchrun --nproc_per_node 4 train.py --config configs/base.yaml` (jobs/42.yaml:7)
- commit of the run: 1f3c9ab (logs/42.log:3); checked out now: 88aa021, dirty
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from experiment_debugger.models import ErrorFact, RunContext, RunFact, Said
from experiment_debugger.report.budget import Tree
from experiment_debugger.report.quoting import code, counted, fence, one_line, verbatim_line

WIDTH = 320
SHORT_COMMIT = 12


def context_lines(context: RunContext) -> list[str]:
    """The facts that a reader of the diagnosis needs; what is not known has no line."""
    lines = [_run(context.run)]
    if context.command:
        lines.append(f"- command: {code(context.command.value)}{_at(context.command)}")
    lines += _commits(context)
    for key in ("hardware", "environment", "scheduler", "config"):
        if facts := getattr(context, key):
            lines.append(f"- {key}: {said(facts)}")
    if context.changed:
        lines.append(f"- changed: {one_line('; '.join(context.changed), WIDTH)}")
    if context.missing:
        lines.append(f"- missing: {one_line('; '.join(context.missing), WIDTH)}")
    return lines


def error_lines(error: ErrorFact | None) -> list[str]:
    """The exact error and the deepest frame of the user's own code, for the fenced block."""
    if error is None:
        return []
    lines = []
    if error.exception and error.exception not in error.text:
        lines.append(f"{error.path}:{error.line}| {verbatim_line(error.exception)}")
    if error.frame:
        function = f" in {error.function}" if error.function else ""
        lines.append(f"deepest own frame: {verbatim_line(error.frame + function)}")
    return lines


def context_markdown(answer: Tree) -> str:
    """The whole answer of `gather-run-context` for people."""
    if "runs" in answer:
        return "\n".join([*_runs(answer), *_omitted(answer)])
    context = RunContext.model_validate(answer)
    lines = [f"# Context of run {one_line(context.run.id, 80)}", *context_lines(context)]
    if context.error:
        place = f"{context.error.path}:{context.error.line}"
        lines += fence(
            [f"{verbatim_line(place)}| {verbatim_line(context.error.text, WIDTH)}", *error_lines(context.error)]
        )
    if context.siblings:
        lines.append(f"- other runs: {one_line(', '.join(context.siblings), WIDTH)}")
    files = [
        f"- {one_line(item.path)} ({item.kind}, {counted(item.bytes, 'bytes')}): {one_line(item.why)}"
        for item in context.artifacts
    ]
    return "\n".join([*lines, "", "## Files", *files, *_omitted(answer)])


def said(facts: Mapping[str, Said]) -> str:
    """Facts on one bounded line, without their places."""
    return one_line(", ".join(f"{key} {fact.value}" for key, fact in facts.items()), WIDTH)


def _at(fact: Said) -> str:
    return f" ({one_line(fact.at)})" if fact.at else ""


def _run(run: RunFact) -> str:
    step = f" at step {run.last_step}" if run.last_step is not None else ""
    planned = f" of {run.planned_steps}" if step and run.planned_steps else ""
    state = "state unknown" if run.state == "unknown" else run.state
    facts = [f"{state}{step}{planned}", f"found by {one_line(run.how_found, 200)}"]
    if len(run.attempts) > 1:
        facts.append(f"{len(run.attempts)} attempts ({one_line(', '.join(item.label for item in run.attempts), 120)})")
    return f"- run: {'; '.join(facts)}"


def _commits(context: RunContext) -> list[str]:
    then, now = context.commit_of_run, context.commit_now
    if then is None and now is None:
        return []
    facts = [f"commit of the run: {one_line(then.value, 60)}{_at(then)}" if then else "commit of the run: not recorded"]
    if now:
        facts.append(f"checked out now: {now[:SHORT_COMMIT]}{', dirty' if context.dirty else ''}")
    return [f"- {'; '.join(facts)}"]


def _runs(answer: Tree) -> list[str]:
    runs: Iterable[Mapping[str, Any]] = answer["runs"]
    lines = ["- " + one_line(", ".join(f"{key} {value}" for key, value in run.items()), WIDTH) for run in runs]
    return [f"# Runs in {one_line(answer['project'])}, newest first", *(lines or ["No runs found."])]


def _omitted(answer: Tree) -> list[str]:
    if not answer.get("omitted"):
        return []
    listed = ", ".join(counted(count, name) for name, count in answer["omitted"].items())
    return [f"Left out: {listed}. Ask again with a larger max-tokens"]
