"""run-smoke-test as people use it: a failure is reproduced at its commit, a fix proven at HEAD, no file touched."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from samples import TRACEBACK, Cli, steps, write
from smoke_runs import SmokeProject, failed_project, processes_of


@pytest.fixture
def failed(tmp_path: Path) -> SmokeProject:
    return failed_project(tmp_path / "project")


def smoke(cli: Cli, failed: SmokeProject, *arguments: str, **more: Any) -> Any:
    done = cli(
        "run-smoke-test", *arguments, "--project", str(failed.root), "--json", "--yes", *more.pop("argv", ()), **more
    )
    assert done.code == 0, done.err
    return done.data


def files_of(root: Path) -> dict[str, str]:
    """Everything of a project but git's own and our records."""
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(root.rglob("*"))
        if path.is_file() and not {".git", ".experiment-debugger"} & set(path.relative_to(root).parts)
    }


def test_a_failure_is_reproduced_at_the_commit_of_the_run(cli: Cli, failed: SmokeProject) -> None:
    before = files_of(failed.root)
    data = smoke(cli, failed, "42")
    assert (data["verdict"], data["commit"], data["dirty"]) == ("reproduced", failed.broken, False), data["summary"]
    assert data["proves"] == "the failure"
    assert data["diagnosis"]["modes"][0]["mode"] == "crash"
    assert "IndexError" in str(data["diagnosis"]["modes"][0]["evidence"])
    assert data["artifacts"].startswith("unchanged")
    assert files_of(failed.root) == before
    assert failed.git("worktree", "list").count("\n") == 0


def test_the_fix_is_proven_at_head_once_the_failure_was_seen_here(cli: Cli, failed: SmokeProject) -> None:
    before = files_of(failed.root)
    alone = smoke(cli, failed, "42", "--at", "HEAD")
    assert (alone["verdict"], alone["proves"]) == ("passed", "nothing")
    smoke(cli, failed, "42")
    data = smoke(cli, failed, "42", "--at", "HEAD")
    assert (data["verdict"], data["commit"]) == ("passed", failed.fixed), data["summary"]
    assert data["proves"] == "the fix"
    assert data["steps"] > 30
    assert data["probes"]["loaded"] >= 1
    assert files_of(failed.root) == before


def test_the_records_are_read_like_a_run_and_are_no_run_of_the_project(cli: Cli, failed: SmokeProject) -> None:
    data = smoke(cli, failed, "42")
    again = cli("classify-failure", data["records"], "--project", str(failed.root), "--json").data
    assert again["modes"][0]["mode"] == "crash"
    runs = cli("gather-run-context", "--project", str(failed.root), "--json").data["runs"]
    assert [run["id"] for run in runs] == ["run-42"]


def test_without_consent_the_exact_command_is_printed_and_nothing_is_started(cli: Cli, failed: SmokeProject) -> None:
    done = cli("run-smoke-test", "42", "--project", str(failed.root))
    assert done.code == 0
    assert "train.py" in done.out
    assert "--yes" in done.out
    assert failed.broken[:12] in done.out
    assert not failed.started


def test_the_operator_may_agree_once_for_all(cli: Cli, failed: SmokeProject) -> None:
    done = cli(
        "run-smoke-test", "42", "--project", str(failed.root), "--json", env={"EXPERIMENT_DEBUGGER_ALLOW_RUN": "1"}
    )
    assert done.data["verdict"] == "reproduced"


def test_a_preflight_tests_the_tree_as_it_is_and_proves_nothing(cli: Cli, failed: SmokeProject) -> None:
    write(failed.root / "train.py", (failed.root / "train.py").read_text(encoding="utf-8").replace("0.5", "0.25"))
    data = smoke(cli, failed, argv=["--", "python", "train.py"])
    assert (data["verdict"], data["dirty"], data["proves"]) == ("passed", True, "nothing"), data["summary"]
    assert data["argv"][-1] == "train.py"


def test_our_own_records_do_not_make_a_tree_dirty(cli: Cli, failed: SmokeProject) -> None:
    write(failed.root / ".gitignore", "data/\noutputs/\nlogs/\njobs/\n")
    failed.git("commit", "--quiet", "--all", "--message", "ignore less")
    for _ in range(2):
        data = smoke(cli, failed, argv=["--", "python", "train.py"])
        assert (data["verdict"], data["dirty"]) == ("passed", False), data


def test_a_preflight_that_fails_says_so(cli: Cli, failed: SmokeProject) -> None:
    write(failed.root / "train.py", "import nowhere_to_be_found\n")
    data = smoke(cli, failed, argv=["--", "python", "train.py"])
    assert data["verdict"] == "different-failure"
    assert data["summary"].startswith("Failed")


def test_a_fix_that_is_not_committed_is_not_tested_and_that_is_said(cli: Cli, failed: SmokeProject) -> None:
    failed.git("checkout", "--quiet", failed.broken, "--", "train.py")
    failed.git("commit", "--quiet", "--message", "broken again")
    failed.git("checkout", "--quiet", failed.fixed, "--", "train.py")
    data = smoke(cli, failed, "42", "--at", "HEAD")
    assert data["verdict"] == "reproduced"
    assert any("uncommitted" in note for note in data["notes"])


def test_another_failure_is_not_the_failure(cli: Cli, failed: SmokeProject) -> None:
    write(failed.root / "train.py", "print('step 1/40 loss 0.5')\nprint({}['loss'])\n")
    failed.git("commit", "--quiet", "--all", "--message", "worse")
    data = smoke(cli, failed, "42", "--at", "HEAD")
    assert data["verdict"] == "different-failure", data["summary"]


def test_ending_before_the_onset_is_no_proof(cli: Cli, failed: SmokeProject) -> None:
    data = smoke(cli, failed, "42", "--at", "HEAD", argv=["--", "python", "train.py", "--steps", "20"])
    assert data["verdict"] == "inconclusive"
    assert "onset" in data["summary"]
    assert data["proves"] == "nothing"


def test_an_input_that_is_missing_is_named_and_is_no_failure_of_the_code(cli: Cli, failed: SmokeProject) -> None:
    (failed.root / "data" / "samples.json").unlink()
    data = smoke(cli, failed, "42", "--at", "HEAD")
    assert data["verdict"] == "inconclusive", data["summary"]
    assert "data/samples.json" in data["summary"]


def test_a_variable_that_was_withheld_is_named(cli: Cli, failed: SmokeProject) -> None:
    code = "import os\n\nprint(os.environ['HF_TOKEN'][:0])\n"
    write(failed.root / "train.py", code + (failed.root / "train.py").read_text(encoding="utf-8"))
    failed.git("commit", "--quiet", "--all", "--message", "token")
    env = {"HF_TOKEN": "not-a-token"}
    data = smoke(cli, failed, "42", "--at", "HEAD", env=env)
    assert data["verdict"] == "inconclusive"
    assert "HF_TOKEN" in data["summary"]
    data = smoke(cli, failed, "42", "--at", "HEAD", "--pass-env", "HF_TOKEN", env=env)
    assert data["verdict"] == "passed", data["summary"]


def test_without_a_probe_nothing_is_passed(cli: Cli, failed: SmokeProject) -> None:
    data = smoke(cli, failed, "42", "--at", "HEAD", argv=["--", "bash", "-c", "env -u PYTHONPATH python train.py"])
    assert data["verdict"] == "inconclusive", data["summary"]
    assert "probe" in data["summary"]


def test_a_project_without_git_is_refused_and_run_in_place_on_demand(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path / "bare" / "train.py", "for step in range(5):\n    print(f'step {step} loss 0.5')\n")
    words = ("--project", str(tmp_path / "bare"), "--yes", "--json")
    refused = cli("run-smoke-test", *words, "--", "python", "train.py")
    assert refused.code == 2
    assert refused.err.count("\n") == 1
    assert "--in-place" in refused.err
    done = cli("run-smoke-test", *words, "--in-place", "--", "python", "train.py")
    assert done.data["verdict"] == "passed", done.data["summary"]


def test_bad_input_is_one_clear_line(cli: Cli, failed: SmokeProject) -> None:
    project = ("--project", str(failed.root), "--yes")
    for words in (
        ("run-smoke-test", *project),
        ("run-smoke-test", "43", *project),
        ("run-smoke-test", "42", "--at", "0123abc", *project),
        ("run-smoke-test", "42", "--try", "luck", *project),
        ("run-smoke-test", "42", "--steps", "0", *project),
        ("debug", "42", "--project", str(failed.root), "--", "python"),
    ):
        done = cli(*words)
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1), (words, done)


def test_no_process_is_left(cli: Cli, failed: SmokeProject) -> None:
    data = smoke(cli, failed, "42", "--seconds", "3", argv=["--", "python", "train.py", "--pause", "1"])
    assert data["stopped"] == "timeout"
    assert data["verdict"] == "timed-out"
    assert not processes_of(data["id"])


def other_failure(failed: SmokeProject, log: str) -> None:
    """Another story in the log of the same run, whose script does well here."""
    write(failed.root / "logs" / "run-42.log", log)


def test_a_run_without_a_device_says_nothing_about_device_memory(cli: Cli, failed: SmokeProject) -> None:
    other_failure(failed, "".join(steps(range(30))) + TRACEBACK)
    data = smoke(cli, failed, "42", "--at", "HEAD")
    assert (data["verdict"], data["proves"]) == ("inconclusive", "nothing")
    assert "device" in data["summary"]


def test_a_failure_of_the_whole_run_is_not_disproven_by_a_part(cli: Cli, failed: SmokeProject) -> None:
    flat = "".join(f"step {step}/4000 loss 2.3026 lr 1.0e-03\n" for step in range(0, 4000, 10))
    other_failure(failed, flat + "Training finished\n")
    assert cli("classify-failure", "42", "--project", str(failed.root), "--json").data["verdict"] == "failure"
    data = smoke(cli, failed, "42", "--at", "HEAD")
    assert (data["verdict"], data["proves"]) == ("inconclusive", "nothing")
    assert "not as far as the run" in data["summary"]


def test_a_program_that_does_nothing_proves_nothing(cli: Cli, failed: SmokeProject) -> None:
    smoke(cli, failed, "42")
    write(failed.root / "train.py", "import sys\n\nsys.exit(0)\n")
    failed.git("commit", "--quiet", "--all", "--message", "nothing")
    data = smoke(cli, failed, "42", "--at", "HEAD")
    assert (data["verdict"], data["proves"]) == ("inconclusive", "nothing"), data["summary"]


def test_secrets_of_a_job_file_are_withheld_and_trackers_stay_offline(cli: Cli, failed: SmokeProject) -> None:
    job = failed.root / "jobs" / "42.yaml"
    write(job, job.read_text(encoding="utf-8") + "env:\n  HF_TOKEN: hf_not-a-token-at-all\n  WANDB_MODE: online\n")
    code = "import os\n\nprint('TOKEN' if 'HF_TOKEN' in os.environ else 'none', os.environ['WANDB_MODE'])\n"
    write(failed.root / "train.py", code + (failed.root / "train.py").read_text(encoding="utf-8"))
    failed.git("commit", "--quiet", "--all", "--message", "print")
    data = smoke(cli, failed, "42", "--at", "HEAD")
    log = (failed.root / data["records"] / "console.log").read_text(encoding="utf-8")
    assert log.startswith("none offline\n")


def test_what_cannot_be_tried_is_told_before_anything_is_started(cli: Cli, failed: SmokeProject) -> None:
    done = cli("run-smoke-test", "42", "--try", "one-process", "--project", str(failed.root), "--yes")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert not failed.started


def test_without_consent_the_answer_is_json_where_json_is_asked_for(cli: Cli, failed: SmokeProject) -> None:
    data = cli("run-smoke-test", "42", "--json", "--project", str(failed.root)).data
    assert data["started"] is False
    assert "train.py" in data["question"]


def test_records_never_follow_a_link_out_of_the_project(cli: Cli, failed: SmokeProject, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (failed.root / ".experiment-debugger").symlink_to(tmp_path / "elsewhere")
    done = cli("run-smoke-test", "42", "--project", str(failed.root), "--yes")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_command_that_breaks_its_copy_still_gets_a_verdict(cli: Cli, failed: SmokeProject) -> None:
    argv = ["--", "bash", "-c", "rm -f .git; python train.py"]
    assert smoke(cli, failed, "42", argv=argv)["verdict"] == "reproduced"


def test_secrets_on_a_command_line_stay_out_of_answers_and_records(cli: Cli, failed: SmokeProject) -> None:
    argv = ["--", "python", "-c", "import time; print('step 1 loss 0.5'); time.sleep(1)", "--password", "hunter2"]
    data = smoke(cli, failed, argv=argv)
    assert "hunter2" not in str(data)
    for path in (failed.root / data["records"]).rglob("*"):
        assert not path.is_file() or b"hunter2" not in path.read_bytes(), path


def test_trackers_write_into_the_copy(cli: Cli, failed: SmokeProject) -> None:
    """A folder of the project that the job file names for a tracker becomes one of the copy."""
    job = failed.root / "jobs" / "42.yaml"
    write(job, job.read_text(encoding="utf-8") + f"env:\n  WANDB_DIR: {failed.root}/outputs/42\n")
    code = "import os\n\nprint(os.environ['WANDB_DIR'], os.environ['PWD'])\n"
    write(failed.root / "train.py", code + (failed.root / "train.py").read_text(encoding="utf-8"))
    failed.git("commit", "--quiet", "--all", "--message", "print")
    data = smoke(cli, failed, "42", "--at", "HEAD")
    folder, here = (failed.root / data["records"] / "console.log").read_text(encoding="utf-8").split("\n")[0].split()
    assert folder.startswith(here)
    assert not folder.startswith(str(failed.root))
