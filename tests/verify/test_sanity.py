"""The final sanity check on cases whose facts are given: every answer has its evidence, and unknown is never passed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from smoke_runs import commit, git

from experiment_debugger.case import Case, Changed, Changes, Fix, SmokeTest, Told
from experiment_debugger.models import (
    Checked,
    Coverage,
    Diagnosis,
    Evidence,
    Hypothesis,
    Onset,
    RunContext,
    RunFact,
    Said,
)
from experiment_debugger.results import Check, CheckName
from experiment_debugger.verify.sanity import open_questions, sanity_check, status_of


@pytest.fixture
def history(tmp_path: Path) -> tuple[Path, list[str]]:
    """A repository with three commits."""
    git(tmp_path, "init", "--quiet")
    commits = []
    for number in range(3):
        (tmp_path / "train.py").write_text(f"STEP = {number}\n", encoding="utf-8")
        commits.append(commit(tmp_path, f"number {number}"))
    return tmp_path, commits


def smoke(name: str, verdict: str, proves: str, at: str, command: str = "python train.py", **more: Any) -> SmokeTest:
    return SmokeTest.model_validate(
        {
            "id": name,
            "verdict": verdict,
            "proves": proves,
            "commit": at,
            "command": command,
            "own_command": True,
            "summary": f"{verdict}: because.",
            **more,
        }
    )


def case(base: str, fix: str | None, *, files: tuple[str, ...] = ("train.py",), **more: Any) -> Case:
    failure = Hypothesis(
        mode="nan-gradient",
        cause="learning-rate-too-high",
        confidence="high",
        summary="The loss is NaN.",
        onset=Onset(phase="mid-training", step=12),
        evidence=(Evidence(path="logs/42.log", line=3, quote="nan"),),
        rules=("loss-nan-onset",),
    )
    diagnosis = Diagnosis(
        run_id="42",
        run_state="failed",
        verdict="failure",
        summary="The loss is NaN.",
        modes=(failure,),
        checked=Checked(),
        coverage=Coverage(),
    )
    context = RunContext(
        run=RunFact(id="42", how_found="names", state="failed"),
        artifacts=(),
        commit_of_run=Said(value=base, at="log:1"),
    )
    facts: dict[str, Any] = {"changes": Changes(configs=("configs/42.yaml",)), "told": Told(why_unchanged="it is")}
    made = Fix(commit=fix, subject="fix", files=files, base=base, descends=fix != base) if fix else None
    return Case(run_id="42", context=context, diagnosis=diagnosis, fix=made, **{**facts, **more})


def answer(root: Path, given: Case, name: CheckName) -> Check:
    return given.model_copy(update={"sanity_check": sanity_check(root, given)}).check(name)


def test_a_pass_needs_proof_at_or_after_the_fix(history: tuple[Path, list[str]]) -> None:
    root, (base, fix, later) = history
    before = smoke("s-1", "reproduced", "the failure", base)
    for at in (fix, later):
        proven = case(base, fix, tested=(smoke("s-2", "passed", "the fix", at), before))
        check = answer(root, proven, "smoke-test")
        assert check.result == "pass"
        assert [item[:3] for item in check.evidence] == ["s-2", "s-1"]
    for verdict in ("timed-out", "inconclusive", "passed"):
        open_case = case(base, fix, tested=(smoke("s-2", verdict, "nothing", fix), before))
        assert answer(root, open_case, "smoke-test").result == "unknown"
    older = case(base, later, tested=(smoke("s-2", "passed", "the fix", fix), before))
    assert answer(root, older, "smoke-test").result == "unknown", "the test is older than the fix"
    assert answer(root, case(base, fix), "smoke-test").result == "unknown", "nothing was run"


def test_a_failure_after_the_pass_takes_it_back(history: tuple[Path, list[str]]) -> None:
    root, (base, fix, _) = history
    passed = smoke("s-2", "passed", "the fix", fix)
    again = smoke("s-3", "reproduced", "the failure", fix)
    assert answer(root, case(base, fix, tested=(again, passed)), "smoke-test").result == "fail"
    other = again.model_copy(update={"command": "python other.py"})
    assert answer(root, case(base, fix, tested=(other, passed)), "smoke-test").result == "fail", "the run's own command"
    by_hand = other.model_copy(update={"own_command": False})
    assert answer(root, case(base, fix, tested=(by_hand, passed)), "smoke-test").result == "pass"


@pytest.mark.parametrize("verdict", ["reproduced", "different-failure"])
def test_a_failing_test_of_the_fix_is_a_failure(history: tuple[Path, list[str]], verdict: str) -> None:
    root, (base, fix, _) = history
    failing = case(base, fix, tested=(smoke("s-2", verdict, "nothing", fix),))
    assert answer(root, failing, "smoke-test").result == "fail"


def test_a_fix_is_a_commit_of_code_or_config(history: tuple[Path, list[str]]) -> None:
    root, (base, fix, _) = history
    assert answer(root, case(base, fix), "fix-committed").result == "pass"
    assert answer(root, case(base, base), "fix-committed").result == "fail"
    assert answer(root, case(base, fix, files=()), "fix-committed").result == "fail"
    again = case(base, fix)
    again = again.model_copy(update={"fix": again.fix and again.fix.model_copy(update={"uncommitted": ("train.py",)})})
    check = answer(root, again, "fix-committed")
    assert (check.result, "train.py" in check.evidence[0]) == ("fail", True)


@pytest.mark.parametrize(
    "override",
    [
        {"verdict": "passed", "own_command": False},
        {"verdict": "reproduced", "passing_changes": ("fp32",)},
    ],
)
def test_what_passes_only_with_another_command_is_no_fix(
    history: tuple[Path, list[str]], override: dict[str, Any]
) -> None:
    root, (base, _, _) = history
    one = smoke("s-1", override["verdict"], "nothing", base, **{k: v for k, v in override.items() if k != "verdict"})
    given = case(base, None, tested=(one,))
    check = answer(root, given, "fix-committed")
    assert (check.result, check.evidence[0][:3]) == ("fail", "s-1")
    given = given.model_copy(update={"sanity_check": sanity_check(root, given)})
    assert status_of(given) == "not-fixed"


def changed(group: str, key: str, before: str = "1", after: str = "2") -> Changes:
    return Changes(
        settings=(Changed(key=key, path="configs/42.yaml", group=group, before=before, after=after),),
        configs=("configs/42.yaml",),
    )


@pytest.mark.parametrize(
    ("changes", "told", "result"),
    [
        (Changes(configs=("c.yaml",)), Told(), "pass"),
        (changed("neutral", "num_workers"), Told(), "pass"),
        (changed("model", "model.width"), Told(why_unchanged="because"), "fail"),
        (changed("split", "data.fold"), Told(why_unchanged="because"), "fail"),
        (changed("training", "optimizer.lr"), Told(why_unchanged="10 was a typo"), "pass"),
        (changed("training", "optimizer.lr"), Told(), "fail"),
        (changed("training", "batch_size"), Told(why_unchanged="because"), "fail"),
        (changed("training", "batch_size"), Told(root_cause="batch_size was 1", why_unchanged="typo"), "pass"),
        (changed("unknown", "frobnicate"), Told(why_unchanged="because"), "unknown"),
        (Changes(code=("train.py",)), Told(), "unknown"),
        (Changes(code=("train.py",)), Told(why_unchanged="only the index wraps"), "pass"),
        (Changes(unread=("c.yaml: broken",)), Told(why_unchanged="because"), "unknown"),
        (Changes(other_configs=("configs/7.yaml",)), Told(), "unknown"),
        (Changes(other_configs=("configs/7.yaml",), configs=("configs/42.yaml",)), Told(), "pass"),
        (None, Told(why_unchanged="because"), "unknown"),
    ],
)
def test_the_experiment_stays_the_same_or_the_check_says_why_not(
    history: tuple[Path, list[str]], changes: Changes | None, told: Told, result: str
) -> None:
    root, (base, fix, _) = history
    assert answer(root, case(base, fix, changes=changes, told=told), "experiment-unchanged").result == result


def test_half_the_batch_with_twice_the_accumulation_is_the_same_batch(history: tuple[Path, list[str]]) -> None:
    root, (base, fix, _) = history
    batch, steps = (
        Changed(key=key, path="c.yaml", group="training", before=before, after=after)
        for key, before, after in (("batch_size", "8", "4"), ("gradient_accumulation_steps", None, "2"))
    )
    same = Changes(settings=(batch, steps), configs=("c.yaml",))
    assert answer(root, case(base, fix, changes=same), "experiment-unchanged").result == "pass"
    more = Changes(settings=(batch, steps.model_copy(update={"after": "3"})), configs=("c.yaml",))
    assert answer(root, case(base, fix, changes=more), "experiment-unchanged").result == "fail"


def test_a_risk_is_recorded_or_declined_with_a_reason(history: tuple[Path, list[str]]) -> None:
    root, (base, fix, _) = history
    assert answer(root, case(base, fix), "risk-recorded").result == "fail"
    assert answer(root, case(base, fix, risks=("RSK-007",)), "risk-recorded").evidence == ("RSK-007",)
    declined = case(base, fix, told=Told(reasons={"risk-recorded": "a typo of one job"}))
    assert answer(root, declined, "risk-recorded").evidence == ("declined: a typo of one job",)


def test_the_status_follows_from_the_checks(history: tuple[Path, list[str]]) -> None:
    _, (base, fix, _) = history

    def status(*results: str, reason: str | None = None) -> str:
        names: tuple[CheckName, ...] = ("smoke-test", "fix-committed", "experiment-unchanged", "risk-recorded")
        checks = tuple(
            Check.model_validate(
                {"check": name, "result": result, "evidence": ("x",), "reason": reason if result != "pass" else None}
            )
            for name, result in zip(names, results, strict=True)
        )
        given = case(base, fix).model_copy(update={"sanity_check": checks})
        assert bool(open_questions(given)) == (status_of(given) == "not-fixed")
        return status_of(given)

    assert status("pass", "pass", "pass", "pass") == "fixed"
    assert status("unknown", "pass", "pass", "pass") == "not-fixed"
    assert status("unknown", "pass", "pass", "pass", reason="no GPU here") == "fixed, not fully verified"
    assert status("unknown", "pass", "pass", "fail", reason="no GPU here") == "not-fixed"
    assert status_of(case(base, None)) == "diagnosed"
