"""Every answer fits, whatever it is made of, and says what it left out."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiment_debugger.models import (
    ArtifactFact,
    Checked,
    Consequence,
    Coverage,
    Diagnosis,
    ErrorFact,
    Evidence,
    Hypothesis,
    Onset,
    RunContext,
    RunFact,
    Said,
    Verdict,
    as_dict,
)
from experiment_debugger.report.answers import debug_answer, fitted_context, fitted_diagnosis
from experiment_debugger.report.budget import Clip, Cut, Drop, Tree, compact, fit_lines, shrink, size, tokens
from experiment_debugger.report.context import context_markdown
from experiment_debugger.report.markdown import debug_markdown

SIZES = [200, 300, 600, 1500, 4000]


def evidence(number: int, width: int = 280) -> Evidence:
    return Evidence(
        path=f"logs/rank{number}.log", line=number + 1, step=number, quote=f"{number} " + 'x\u00e9"\\' * (width // 4)
    )


def said(value: int | str) -> Said:
    return Said(value=value, at="logs/a.log:1")


def hypothesis(count: int, **changes: Any) -> Hypothesis:
    fields: dict[str, Any] = {
        "mode": "oom",
        "cause": "oom-on-one-rank-caught",
        "confidence": "high",
        "summary": "Rank 3 ran out of memory. " * 6,
        "onset": Onset(phase="mid-training", step=27361, within="forward"),
        "evidence": tuple(evidence(number) for number in range(count)),
        "against": tuple(f"against {number}: " + "word " * 20 for number in range(4)),
        "unknown": tuple(f"unknown {number}: " + "word " * 20 for number in range(4)),
        "refute_with": "Run three steps at half the batch. " * 5,
        "next_checks": tuple(f"check {number}: " + "word " * 20 for number in range(6)),
        "rules": tuple(f"rule-number-{chr(97 + number)}" for number in range(12)),
    }
    return Hypothesis(**{**fields, **changes})


def diagnosis(count: int = 40, verdict: Verdict = "failure", modes: int = 5) -> Diagnosis:
    return Diagnosis(
        run_id="42",
        run_state="failed",
        verdict=verdict,
        summary="Rank 3 ran out of GPU memory and skipped a batch. " * 5,
        modes=tuple(hypothesis(count) for _ in range(modes)),
        consequences=tuple(
            Consequence(rule="nccl-watchdog-timeout", path=f"logs/rank{n}.log", line=n, explained_by="oom/x")
            for n in range(60)
        ),
        checked=Checked(fired=tuple(f"rule-{n}" for n in range(80)), not_applicable={f"no {n}": n for n in range(30)}),
        coverage=Coverage(files=300, not_looked_at=tuple(f"runs/ckpt-{n}.pt: checkpoint" for n in range(200))),
        omitted={"consequences": 3},
    )


@pytest.mark.parametrize("max_tokens", SIZES)
def test_a_diagnosis_fits_as_json_and_as_text(max_tokens: int) -> None:
    kept = fitted_diagnosis(diagnosis(), max_tokens)
    assert tokens(compact(as_dict(kept)) + "\n") <= max_tokens
    assert tokens(debug_markdown(kept) + "\n") <= max_tokens
    assert kept.omitted


@pytest.mark.parametrize("max_tokens", SIZES)
def test_a_debug_answer_fits_in_both_forms(max_tokens: int) -> None:
    context = RunContext(
        run=RunFact(id="42", state="failed", how_found="file name " * 20),
        artifacts=tuple(ArtifactFact(path=f"logs/{n}.log", kind="log", bytes=1, why="name") for n in range(300)),
        command=said("torchrun train.py " + "--flag value " * 90),
        environment={f"PACKAGE_{n}": said("1.2.3") for n in range(300)},
        config={f"key{n}": said(n) for n in range(500)},
        error=ErrorFact(
            path="logs/a.log", line=3, text="x" * 300, exception="ValueError: " + "y" * 900, frame="a.py:3"
        ),
        missing=tuple(f"nothing about {n}" for n in range(90)),
    )
    answer = debug_answer(diagnosis(), max_tokens, context, ["collect this"] * 30, ["a note"])
    assert tokens(answer.text + "\n") <= max_tokens
    assert tokens(compact(answer.as_json()) + "\n") <= max_tokens


def test_what_is_left_out_is_counted_and_the_way_to_it_is_named() -> None:
    whole = diagnosis(count=12, modes=1)
    kept = fitted_diagnosis(whole, 800)
    missing = len(whole.modes[0].evidence) - len(kept.modes[0].evidence)
    assert missing > 0
    assert kept.omitted["evidence"] == missing
    assert kept.omitted["consequences"] == 3 + 60 - len(kept.consequences)
    answer = debug_answer(whole, 800)
    assert "Left out: " in answer.text
    assert "read-run-logs 42 --path logs/rank0.log --around 1" in answer.more
    assert answer.shown["evidence"] + answer.left_out["evidence"] == 12


def test_the_primary_hypothesis_keeps_five_quotes_in_the_default_budget() -> None:
    kept = fitted_diagnosis(diagnosis(count=12, modes=3), 1500)
    assert len(kept.modes[0].evidence) >= 5


def test_a_small_diagnosis_is_not_touched() -> None:
    small = Diagnosis(
        run_id="7", run_state="completed", verdict="healthy", summary="Fine.", checked=Checked(), coverage=Coverage()
    )
    assert fitted_diagnosis(small, 1500) == small


@pytest.mark.parametrize("max_tokens", SIZES)
@pytest.mark.parametrize("key", ["artifacts", "siblings", "environment", "config", "missing"])
def test_a_context_fits_whatever_is_long_in_it(key: str, max_tokens: int) -> None:
    facts = {f"K{n}": {"value": "v" * 50, "at": "a:1"} for n in range(400)}
    files = [{"path": f"logs/{n}.log", "kind": "log", "bytes": 1, "why": "name"} for n in range(900)]
    values: dict[str, Any] = {"artifacts": files, "environment": facts, "config": facts}
    value = values.get(key, [f"thing {n}" for n in range(3000)])
    run = {"id": "42", "how_found": "name", "state": "failed"}
    kept = fitted_context({"run": run, "artifacts": [], key: value}, max_tokens)
    assert tokens(compact(kept) + "\n") <= max_tokens
    assert tokens(context_markdown(kept) + "\n") <= max_tokens
    assert kept["omitted"][key] > 0


@pytest.mark.parametrize("max_tokens", SIZES)
def test_a_list_of_runs_fits(max_tokens: int) -> None:
    kept = fitted_context({"project": "/p", "runs": [{"id": f"run-{n}"} for n in range(3000)]}, max_tokens)
    assert tokens(compact(kept) + "\n") <= max_tokens
    assert kept["omitted"]["runs"] == 3000 - len(kept["runs"])


def test_shrink_takes_no_step_more_than_needed_and_leaves_its_input_alone() -> None:
    data: Tree = {"a": list(range(100)), "b": [{"c": "x" * 200}, {"c": "y" * 200}], "d": 1}
    plan = (Cut("a", 10), Clip("b.*.c", 50), Drop("d"))
    kept, left_out = shrink(data, plan, lambda tree, _: size(compact(tree)), 480)
    assert kept["a"] == list(range(10))
    assert len(kept["b"][0]["c"]) == 200
    assert left_out == Counter({"a": 90})
    kept, left_out = shrink(data, plan, lambda tree, _: size(compact(tree)), 0)
    assert "d" not in kept
    assert [len(item["c"]) for item in kept["b"]] == [50, 50]
    assert len(data["a"]) == 100


@given(st.lists(st.text(max_size=60), max_size=40), st.integers(min_value=150, max_value=2000))
def test_lines_fit_with_their_note(lines: list[str], cap: int) -> None:
    text, left_out = fit_lines(lines, cap, lambda count: f"({count} more)")
    assert size(compact(text)) <= cap
    assert left_out == 0 or f"({left_out} more)" in text
