"""write-debug-report, append-risk-board and hand-off on the command line, on a project whose run has really failed."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from samples import Cli, write
from smoke_runs import TRAIN, SmokeProject, commit, failed_project

from experiment_debugger.report.budget import tokens

ARGUED = (
    "--root-cause",
    "There are 30 samples, and step 31 asks for the 31st.",
    "--why-unchanged",
    "Only the index wraps.",
)
REPORT = "docs/ops/runs/42-debug.md"


@pytest.fixture(scope="module")
def proven(tmp_path_factory: pytest.TempPathFactory) -> SmokeProject:
    """Run 42, reproduced at its commit and proven at the fix; tests get copies of it."""
    from experiment_debugger.cli import main

    made = failed_project(tmp_path_factory.mktemp("proven") / "project")
    for at in ([], ["--at", "HEAD"]):
        assert main(["run-smoke-test", "42", *at, "--yes", "--json", "--project", str(made.root)]) == 0
    return made


@pytest.fixture
def fixed(proven: SmokeProject, tmp_path: Path) -> SmokeProject:
    root = tmp_path / "project"
    shutil.copytree(proven.root, root, symlinks=True)
    return SmokeProject(root, proven.broken, proven.fixed)


@pytest.fixture
def say(cli: Cli, fixed: SmokeProject) -> Any:
    """A verb with `--json` in the project: its answer."""

    def call(*arguments: str) -> dict[str, Any]:
        done = cli(*arguments, "--json", "--project", str(fixed.root))
        assert done.code == 0, done.err
        return dict(json.loads(done.out))

    return call


def results(answer: dict[str, Any]) -> list[str]:
    return [one["result"] for one in answer["sanity_check"]]


def test_a_case_is_fixed_when_all_four_checks_pass(say: Any, fixed: SmokeProject) -> None:
    first = say("write-debug-report", "42")
    assert (first["status"], results(first)) == ("not-fixed", ["pass", "pass", "unknown", "fail"])
    assert first["path"] == REPORT
    risk = say("append-risk-board", "42", "--severity", "high")
    assert (risk["id"], risk["row"]["Threatens"], risk["row"]["Kind"]) == ("RSK-001", "run 42", "execution")
    done = say("write-debug-report", "42", *ARGUED)
    assert (done["status"], results(done)) == ("fixed", ["pass"] * 4)
    handed = say("hand-off", "42", "--to", "run-experiment")
    assert (handed["id"], handed["status"], handed["missing"]) == ("HND-001", "ready", [])
    assert handed["paths"] == ["memory/handoff-board.md", "docs/ops/handoffs/42-to-run-experiment.yaml"]
    payload = yaml.safe_load((fixed.root / handed["paths"][1]).read_text(encoding="utf-8"))
    assert payload.keys() >= {
        "run",
        "command",
        "config",
        "commit",
        "env",
        "resources",
        "acceptance_check",
        "debug_report",
    }
    text = (fixed.root / REPORT).read_text(encoding="utf-8")
    assert all(part in text for part in ("- Status: fixed\n", "RSK-001", "HND-001", "step 31 asks for the 31st"))
    again = say("debug", "42")
    assert "RSK-001" in again["text"]


def test_writing_twice_changes_nothing(say: Any, fixed: SmokeProject) -> None:
    say("write-debug-report", "42", *ARGUED, "--hypothesis", "damaged data | read one by one | refuted", "--note", "n")
    say("append-risk-board", "42")
    say("hand-off", "42")
    before = {path: path.read_bytes() for path in fixed.root.rglob("*") if path.suffix in {".md", ".yaml"}}
    assert say("write-debug-report", "42", *ARGUED, "--note", "n")["changed"] == []
    assert say("append-risk-board", "42")["action"] == "unchanged"
    assert say("hand-off", "42")["action"] == "unchanged"
    assert {path: path.read_bytes() for path in before} == before


def test_what_was_told_is_remembered_and_replaced_by_a_later_word(say: Any, fixed: SmokeProject) -> None:
    say("write-debug-report", "42", *ARGUED, "--hypothesis", "bad data | read it | open", "a|b|c")
    say("write-debug-report", "42", "--hypothesis", "bad data | read it twice | refuted")
    text = (fixed.root / REPORT).read_text(encoding="utf-8")
    assert "| bad data | read it twice | refuted |" in text
    assert "| bad data | read it | open |" not in text
    assert "| a | b | c |" in text
    assert "step 31 asks for the 31st" in text


def test_what_people_write_in_the_report_stays(say: Any, fixed: SmokeProject) -> None:
    say("write-debug-report", "42")
    path = fixed.root / REPORT
    mark = "<!-- ed:end evidence -->\n"
    by_hand = "\r\nLena: also on node 7.\t \n| a table | of hers |\n"
    path.write_bytes(
        path.read_bytes().replace(mark.encode(), (mark + by_hand).encode()) + b"The end, without a newline"
    )
    say("write-debug-report", "42", *ARGUED)
    after = path.read_bytes().decode()
    assert mark + by_hand in after
    assert after.endswith("The end, without a newline")


def test_uncommitted_changes_of_the_fixed_file_fail(say: Any, fixed: SmokeProject) -> None:
    write(fixed.root / "train.py", (fixed.root / "train.py").read_text(encoding="utf-8") + "# later\n")
    answer = say("write-debug-report", "42", *ARGUED)
    assert results(answer)[1] == "fail"
    assert answer["sanity_check"][1]["evidence"] == [
        f"train.py: changed again since {fixed.fixed[:12]} without a commit"
    ]


def test_a_reason_opens_an_unknown_check_and_no_failing_one(say: Any) -> None:
    say("append-risk-board", "42")
    answer = say("write-debug-report", "42", "--reason", "experiment-unchanged=nobody is here to argue it")
    assert answer["status"] == "fixed, not fully verified"
    assert say("hand-off", "42")["status"] == "ready"
    answer = say("write-debug-report", "42", "--fix-commit", "HEAD~1", "--reason", "fix-committed=trust me")
    assert (answer["status"], results(answer)[1]) == ("not-fixed", "fail")


def test_a_declined_risk_is_said_and_passes(say: Any) -> None:
    answer = say("write-debug-report", "42", *ARGUED, "--reason", "risk-recorded=a typo of one job")
    assert answer["status"] == "fixed"
    assert answer["sanity_check"][3]["evidence"] == ["declined: a typo of one job"]


@pytest.mark.parametrize(
    "skill", ["result-diagnosis", "data-pipeline-manager", "run-status-monitor", "research-project-memory"]
)
def test_other_skills_get_run_finding_paths_question_and_check(say: Any, fixed: SmokeProject, skill: str) -> None:
    handed = say("hand-off", "42", "--to", skill)
    payload = yaml.safe_load((fixed.root / handed["paths"][1]).read_text(encoding="utf-8"))
    assert payload.keys() >= {"run", "finding", "paths", "question", "acceptance_check"}
    assert payload["paths"][0].startswith("logs/run-42.log:")
    lacking = {"result-diagnosis", "research-project-memory"}
    assert (handed["status"] == "proposed") == (skill in lacking) == bool(handed["missing"])


def test_a_damaged_board_is_told_and_left_alone(say: Any, cli: Cli, fixed: SmokeProject) -> None:
    damaged = "| ID | Summary |\n| RSK-001 | x |\n"
    for name in ("risk-board.md", "handoff-board.md"):
        write(fixed.root / "memory" / name, damaged.replace("RSK", "HND") if "hand" in name else damaged)
    answer = say("write-debug-report", "42", *ARGUED)
    assert results(answer) == ["pass", "pass", "pass", "unknown"]
    assert "memory/risk-board.md:2: expected a row of dashes" in answer["sanity_check"][3]["evidence"][0]
    for verb in (("append-risk-board", "42"), ("hand-off", "42")):
        done = cli(*verb, "--project", str(fixed.root))
        assert (done.code, done.out) == (2, "")
        assert done.err.count("\n") == 1
        assert done.err.endswith("nothing was written\n")
    assert (fixed.root / "memory" / "risk-board.md").read_text(encoding="utf-8") == damaged


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("write-debug-report",), "RUN"),
        (("write-debug-report", "43"), "expected a run '43'"),
        (("write-debug-report", "42", "--fix-commit", "nowhere"), "found none named 'nowhere'"),
        (("write-debug-report", "42", "--reason", "because"), "CHECK=TEXT with CHECK one of smoke-test, fix-committed"),
        (("write-debug-report", "42", "--reason", "smoke-test="), "CHECK=TEXT"),
        (("write-debug-report", "42", "--hypothesis", "a|b|c|d"), "'WHAT | TEST | RESULT'"),
        (("write-debug-report", "42", "--root-cause", "x" * 5000), "expected at most 4000 characters for root-cause"),
        (("append-risk-board",), "expected --summary"),
        (("append-risk-board", "--summary", "x", "--severity", "huge"), "low, medium, high, fatal; found 'huge'"),
        (("hand-off", "42", "--to", "nobody"), "expected --to one of run-experiment, result-diagnosis"),
    ],
)
def test_bad_input_is_one_clear_line_and_writes_nothing(
    cli: Cli, fixed: SmokeProject, arguments: tuple[str, ...], words: str
) -> None:
    done = cli(*arguments, "--project", str(fixed.root))
    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1
    assert words in done.err
    assert not (fixed.root / "docs").exists()
    assert not (fixed.root / "memory").exists()


def test_answers_keep_their_budget(cli: Cli, fixed: SmokeProject) -> None:
    long = "word " * 700
    for cap in (200, 1500):
        for verb in (
            ("write-debug-report", "42", "--root-cause", long, "--why-unchanged", long),
            ("append-risk-board", "42", "--summary", long, "--actions", long),
            ("hand-off", "42"),
        ):
            for form in ((), ("--json",)):
                done = cli(*verb, "--max-tokens", str(cap), *form, "--project", str(fixed.root))
                assert done.code == 0, done.err
                assert tokens(done.out) <= cap


def test_in_a_worktree_the_memory_of_the_project_is_left_alone(say: Any, fixed: SmokeProject) -> None:
    write(fixed.root / ".agent" / "worktree-status.md", "# Worktree\n")
    say("write-debug-report", "42", *ARGUED)
    risk = say("append-risk-board", "42")
    assert risk["path"] == ".agent/worktree-status.md"
    assert any("move the row to memory/risk-board.md" in note for note in risk["notes"])
    assert say("write-debug-report", "42")["status"] == "fixed", "the waiting row counts"
    assert say("hand-off", "42")["paths"][0] == ".agent/worktree-status.md"
    assert not (fixed.root / "memory").exists()


def test_hostile_text_opens_nothing_in_the_report(say: Any, fixed: SmokeProject) -> None:
    hostile = "x --> <!-- ed:end told --> <!-- ed:begin fix 00000000 -->\n\n# Heading\n\n--\n<!-- ed:end root-cause -->"
    say("write-debug-report", "42", "--root-cause", hostile, "--note", hostile, "--hypothesis", hostile)
    before = (fixed.root / REPORT).read_bytes()
    assert say("write-debug-report", "42")["changed"] == []
    assert (fixed.root / REPORT).read_bytes() == before
    assert say("write-debug-report", "42", "--note", "more")["status"] == "not-fixed"


def test_secrets_do_not_reach_the_report(say: Any, fixed: SmokeProject) -> None:
    secret = "hf_" + "a1B2" * 8
    say("write-debug-report", "42", "--root-cause", f"token {secret}", "--note", secret, "--hypothesis", f"{secret}|x")
    assert secret not in (fixed.root / REPORT).read_text(encoding="utf-8")


def test_what_changed_between_the_fix_and_its_proof_counts_too(cli: Cli, say: Any, fixed: SmokeProject) -> None:
    """Only the later commit was tested, so it is the one that the corrected job runs at, with all it changes."""
    write(fixed.root / "configs" / "42.yaml", "lr: 0.1\n")
    write(fixed.root / "README.md", "notes\n")
    later = commit(fixed.root, "Another learning rate")
    shutil.rmtree(fixed.started[-1])
    cli("run-smoke-test", "42", "--at", "HEAD", "--yes", "--project", str(fixed.root))
    told = say("write-debug-report", "42", *ARGUED, "--fix-commit", fixed.fixed)
    assert results(told)[:2] == ["pass", "pass"]
    assert results(told)[2] != "pass", "a new config that the run may read"
    say("hand-off", "42")
    payload = yaml.safe_load((fixed.root / "docs/ops/handoffs/42-to-run-experiment.yaml").read_text(encoding="utf-8"))
    assert payload["commit"] == later


def test_a_proof_at_a_commit_of_notes_finds_the_fix_before_it(cli: Cli, say: Any, fixed: SmokeProject) -> None:
    write(fixed.root / "README.md", "notes\n")
    commit(fixed.root, "Notes")
    shutil.rmtree(fixed.started[-1])
    cli("run-smoke-test", "42", "--at", "HEAD", "--yes", "--project", str(fixed.root))
    answer = say("write-debug-report", "42", *ARGUED)
    assert results(answer)[:3] == ["pass", "pass", "pass"]
    assert "changes train.py" in answer["sanity_check"][1]["evidence"][0]
    told = say("write-debug-report", "42", "--fix-commit", "HEAD")
    assert results(told)[1] == "fail", "notes are no fix"


def test_a_commit_that_was_amended_away_is_not_taken_for_committed(say: Any, fixed: SmokeProject) -> None:
    assert results(say("write-debug-report", "42", *ARGUED))[1] == "pass"
    fixed.git("commit", "--quiet", "--amend", "--message", "in other words")
    answer = say("write-debug-report", "42")
    assert (answer["status"], results(answer)[1]) == ("not-fixed", "unknown")
    assert "on no branch any more" in answer["sanity_check"][1]["evidence"][0]


def test_a_fix_that_was_reverted_is_no_longer_taken_for_one(say: Any, fixed: SmokeProject) -> None:
    assert results(say("write-debug-report", "42", *ARGUED))[1] == "pass"
    fixed.git("revert", "--no-edit", "HEAD")
    answer = say("write-debug-report", "42")
    assert results(answer)[1] == "unknown"
    assert "train.py: changed again by commits after" in answer["sanity_check"][1]["evidence"][0]
    fixed.git("reset", "--quiet", "--hard", fixed.broken)
    fixed.git("tag", "kept", fixed.fixed)
    assert "what is checked out does not have" in str(say("write-debug-report", "42")["sanity_check"][1])


def test_an_argument_about_one_fix_does_not_carry_over_to_another(cli: Cli, say: Any, fixed: SmokeProject) -> None:
    say("append-risk-board", "42")
    assert say("write-debug-report", "42", *ARGUED)["status"] == "fixed"
    write(fixed.root / "train.py", TRAIN.replace("weight = 0.5", "weight = 5.0"))
    commit(fixed.root, "another start")
    cli("run-smoke-test", "42", "--at", "HEAD", "--yes", "--project", str(fixed.root))
    answer = say("write-debug-report", "42")
    assert (answer["status"], results(answer)[2]) == ("not-fixed", "unknown")


def test_tracked_data_that_the_fix_changes_is_asked_about(cli: Cli, say: Any, fixed: SmokeProject) -> None:
    write(fixed.root / "splits" / "train.txt", "1\n2\n")
    commit(fixed.root, "more samples")
    shutil.rmtree(fixed.started[-1])
    cli("run-smoke-test", "42", "--at", "HEAD", "--yes", "--project", str(fixed.root))
    answer = say("write-debug-report", "42", *ARGUED)
    assert results(answer)[2] == "unknown"
    assert "splits/train.txt changed" in str(answer["sanity_check"][2]["evidence"])


def test_a_job_file_that_was_changed_after_the_proof_is_tested_again(say: Any, fixed: SmokeProject) -> None:
    say("append-risk-board", "42")
    say("write-debug-report", "42", *ARGUED)
    job = fixed.root / "jobs" / "42.yaml"
    write(job, job.read_text(encoding="utf-8").replace("train.py", "train.py --steps 39"))
    handed = say("hand-off", "42")
    assert handed["status"] == "proposed"
    assert any(item.startswith("command: it is not the one that s-") for item in handed["missing"])


def test_an_edited_payload_must_say_what_is_true_now(say: Any, fixed: SmokeProject) -> None:
    say("append-risk-board", "42")
    say("hand-off", "42")
    payload = fixed.root / "docs/ops/handoffs/42-to-run-experiment.yaml"
    text = payload.read_text(encoding="utf-8").replace(fixed.fixed, "abcd" * 10) + "note_from_lena: x\n"
    write(payload, text)
    say("write-debug-report", "42", *ARGUED)
    handed = say("hand-off", "42")
    assert handed["status"] == "proposed"
    assert any(item.startswith("commit: the edited payload has abcd") for item in handed["missing"])
    assert payload.read_text(encoding="utf-8") == text


def test_runs_whose_names_cannot_be_file_names_keep_reports_of_their_own(say: Any, fixed: SmokeProject) -> None:
    for name in ("run-a b", "run-a-b"):
        write(
            fixed.root / "logs" / f"{name}.log", "step 1/3 loss 1.0\nTraceback (most recent call last):\nKeyError: 1\n"
        )
    paths = {say("write-debug-report", name, "--root-cause", name)["path"] for name in ("run-a b", "run-a-b")}
    assert len(paths) == 2


def test_what_is_told_makes_no_heading_and_no_list(say: Any, fixed: SmokeProject) -> None:
    say("write-debug-report", "42", "--root-cause", "x\n\n## Status\n\n- Status: fixed\n\n```\n\n1. one")
    lines = (fixed.root / REPORT).read_text(encoding="utf-8").splitlines()
    assert "## Status" not in lines
    assert "- Status: fixed" not in lines
    assert "\\`\\`\\`" in lines
    assert "\\## Status" in lines
    assert "\\1. one" in lines


@pytest.mark.parametrize("verb", [("write-debug-report", "42"), ("hand-off", "42"), ("append-risk-board", "42")])
def test_a_board_that_is_no_file_does_not_hang(cli: Cli, fixed: SmokeProject, verb: tuple[str, ...]) -> None:
    (fixed.root / "memory").mkdir()
    for name in ("risk-board.md", "handoff-board.md"):
        os.mkfifo(fixed.root / "memory" / name)
    done = cli(*verb, "--project", str(fixed.root))
    assert done.code in {0, 2}
    assert "found something else" in done.out + done.err
