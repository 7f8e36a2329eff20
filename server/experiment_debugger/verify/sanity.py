"""The final sanity check: four questions, each answered pass, fail or unknown from facts, and what follows from them.

smoke-test            pass     s-20260302-104210-77c1 passed at 5d6e7f8, s-20260302-101500-3f2a reproduced it before
fix-committed         pass     5d6e7f8 changes data/collate.py, nothing of it is uncommitted
experiment-unchanged  unknown  train.py changed: say why the experiment stays the same
risk-recorded         fail     no row of memory/risk-board.md is about it

A passing test, an argument and a risk are three facts; none stands for another. Unknown is never passed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from experiment_debugger.case import Case, Changed, SmokeTest
from experiment_debugger.results import CHECKS, Check, CheckName, CheckResult, Status
from experiment_debugger.verify.arguable import concerns, without_same_batch
from experiment_debugger.verify.fix import is_ancestor

DEFINING = frozenset({"model", "data", "split", "objective", "metric"})
FAILED = frozenset({"reproduced", "different-failure"})
SHORT = 12
MOST_SAID = 4
"""Settings or files named in one piece of evidence."""
Answer = tuple[CheckResult, tuple[str, ...]]


def sanity_check(root: Path, case: Case) -> tuple[Check, ...]:
    """The four answers for a case, in their order, with the reasons that the user gave."""
    answers: dict[CheckName, Answer] = {
        "smoke-test": _smoke_test(root, case),
        "fix-committed": _fix_committed(case),
        "experiment-unchanged": _experiment_unchanged(case),
        "risk-recorded": _risk_recorded(case),
    }
    reasons = case.told.reasons
    return tuple(
        Check(check=name, result=answers[name][0], evidence=answers[name][1], reason=reasons.get(name))
        for name in CHECKS
    )


def status_of(case: Case) -> Status:
    """What may be said of the run: `fixed` only when nothing fails and nothing is unknown."""
    if case.fix is None and not _overrides(case):
        known = case.diagnosis.verdict != "inconclusive" or case.told.root_cause
        return "diagnosed" if known else "not-fixed"
    open_checks = [one for one in case.sanity_check if one.result != "pass"]
    if any(one.result == "fail" or one.reason is None for one in open_checks):
        return "not-fixed"
    return "fixed, not fully verified" if open_checks else "fixed"


def open_questions(case: Case) -> list[str]:
    """What keeps a case from being fixed: failing checks, and unknown ones without a reason."""
    return [
        f"{one.check} ({one.result}): {'; '.join(one.evidence)}"
        for one in case.sanity_check
        if one.result == "fail" or (one.result == "unknown" and one.reason is None)
    ]


def _smoke_test(root: Path, case: Case) -> Answer:
    fix = case.fix
    if fix is None:
        return "unknown", ("no fix commit is known: give --fix-commit",)
    after = [one for one in case.tested if one.commit and is_ancestor(root, fix.commit, one.commit)]
    advice = f"run-smoke-test {case.run_id} --at {fix.commit[:SHORT]}"
    if not after:
        return "unknown", (f"no smoke test at or after {fix.commit[:SHORT]}: {advice}",)
    proven = next((index for index, one in enumerate(after) if one.proves == "the fix"), None)
    if proven is None:
        newest = after[0]
        return "fail" if newest.verdict in FAILED else "unknown", (f"{_said(newest)}; {advice}",)
    mine = after[proven].command
    later = [one for one in after[:proven] if one.verdict in FAILED and (one.own_command or one.command == mine)]
    if later:
        return "fail", (f"{_said(later[0])}, after {after[proven].id} had passed",)
    return "pass", (_said(after[proven]), *_reproduced(case.tested, after[proven]))


def _reproduced(tested: Sequence[SmokeTest], passed: SmokeTest) -> list[str]:
    before = [one for one in tested if one.proves == "the failure" and one.command == passed.command]
    return [_said(one) for one in before[:1]]


def _said(one: SmokeTest) -> str:
    return f"{one.id} at {(one.commit or 'no commit')[:SHORT]}: {one.summary.rstrip('.')}"


def _fix_committed(case: Case) -> Answer:
    fix, overrides = case.fix, _overrides(case)
    if fix is None:
        return ("fail", overrides) if overrides else ("unknown", ("no fix commit is known: give --fix-commit",))
    short = fix.commit[:SHORT]
    if fix.commit == fix.base:
        said = f"{short} is the commit of the failing run itself: a change on the command line only is no fix"
        return "fail", (said, *overrides)
    if not fix.files:
        return "fail", (f"{short} changes no code or config ({_few(fix.other_files) or 'it is empty'})",)
    if fix.uncommitted:
        return "fail", (f"{_few(fix.uncommitted)}: changed again since {short} without a commit",)
    if not fix.kept:
        gone = fix.corrected[:SHORT]
        return "unknown", (f"{gone} is on no branch any more (amended, rebased?): test and name the commit that is",)
    if fix.undone is None:
        return "unknown", (f"what is checked out does not have {fix.corrected[:SHORT]}: check it out or merge it",)
    if fix.undone:
        return "unknown", (f"{_few(fix.undone)}: changed again by commits after {fix.corrected[:SHORT]}; test HEAD",)
    if fix.descends is False:
        return "unknown", (f"{short} does not come after the failing run's commit {(fix.base or '')[:SHORT]}",)
    return "pass", (f"{short} ({fix.subject}) changes {_few(fix.files)}; nothing of it is uncommitted",)


def _overrides(case: Case) -> tuple[str, ...]:
    """Tests that passed at the failing commit: what made the difference stands on a command line only."""
    base = case.context.commit_of_run.value if case.context.commit_of_run else None
    base = case.fix.base if case.fix and case.fix.base else base
    found: list[str] = []
    for one in case.tested:
        same_commit = one.commit is not None and one.commit.startswith(str(base)[:SHORT]) if base else False
        if same_commit and one.verdict == "passed" and not one.own_command:
            found.append(f"{one.id} passed at the failing commit, only with another command line: {one.command}")
        found += [f"{one.id} passed only with the change {name} made for the test" for name in one.passing_changes]
    return tuple(found[:MOST_SAID])


def _experiment_unchanged(case: Case) -> Answer:
    changes, why = case.changes, case.told.why_unchanged
    if changes is None:
        return "unknown", ("no two commits to compare: the failing run's commit or the fix commit is not known",)
    defining = [one for one in changes.settings if one.group in DEFINING and not _in_code(one)]
    if defining:
        return "fail", (f"{_listed(defining)}: this is another experiment; ask before it is run",)
    training = without_same_batch([one for one in changes.settings if one.group == "training"])
    foreign = [one for one in training if not concerns(one, _cause(case))]
    if foreign:
        return "fail", (f"{_listed(foreign)}: the root cause does not lie there, so the rerun would differ",)
    if training and not why:
        return "fail", (f"{_listed(training)}: the cause lies there; argue it with --why-unchanged",)
    return _beyond_settings(case, training)


def _beyond_settings(case: Case, training: Sequence[Changed]) -> Answer:
    """No setting speaks against it; what is left are settings nobody knows, files that cannot be read, and code."""
    changes, why = case.changes, case.told.why_unchanged
    assert changes is not None  # noqa: S101 (asked by the only caller)
    doubts = []
    cause = _cause(case)
    unknown = [one for one in changes.settings if one.group == "unknown"]
    unknown += [one for one in changes.settings if one.group in DEFINING and not (why and concerns(one, cause))]
    if unknown:
        doubts.append(f"{_listed(unknown)}: not known to leave the experiment as it is")
    if changes.unread:
        doubts.append(f"not compared: {_few(changes.unread)}")
    if changes.other_configs and not changes.configs:
        doubts.append(f"{_few(changes.other_configs)} changed, and the run's own config is not known")
    if changes.other_files:
        doubts.append(f"{_few(changes.other_files)} changed: is it still the same data and environment?")
    if changes.code and not why:
        doubts.append(f"{_few(changes.code)} changed: say why the experiment stays the same with --why-unchanged")
    if doubts:
        return "unknown", tuple(doubts)
    compared = f" in {_few(changes.configs)} and the command line" if changes.configs else " on the command line"
    facts = [f"no experiment-defining setting changed{compared}"]
    if training:
        facts.append(f"{_listed(training)}: where the cause lies")
    if changes.code:
        facts.append(f"code changed: {_few(changes.code)}")
    return "pass", (*facts, *([f"argued: {why}"] if why else []))


def _in_code(change: Changed) -> bool:
    """Whether a literal of a program changed: the bug itself may be there, so it is a question and no verdict."""
    return change.path.endswith(".py")


def _cause(case: Case) -> str:
    """Mode, cause and root cause in words."""
    first = case.diagnosis.modes[0] if case.diagnosis.modes else None
    return " ".join(filter(None, (first.mode, first.cause) if first else ())) + f" {case.told.root_cause or ''}"


def _risk_recorded(case: Case) -> Answer:
    if case.risks:
        return "pass", (", ".join(case.risks),)
    if declined := case.told.reasons.get("risk-recorded"):
        return "pass", (f"declined: {declined}",)
    if case.board_problem:
        return "unknown", (case.board_problem,)
    return "fail", (f"no row of the risk board is about it: append-risk-board {case.run_id}, or decline with --reason",)


def _listed(changes: Sequence[Changed]) -> str:
    shown = [f"{one.key} {_value(one.before)} -> {_value(one.after)} ({one.path})" for one in changes[:MOST_SAID]]
    return "; ".join(shown) + _rest(len(changes))


def _value(text: str | None) -> str:
    return "not set" if text is None else text if len(text) <= 60 else f"{text[:57]}..."


def _few(names: Iterable[str]) -> str:
    known = list(names)
    return ", ".join(known[:MOST_SAID]) + _rest(len(known))


def _rest(count: int) -> str:
    return f" and {count - MOST_SAID} more" if count > MOST_SAID else ""
