"""What makes a root, an effect, a recovery and an abstention: small runs, diagnosed whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiment_debugger.diagnose import diagnose, diagnose_text
from experiment_debugger.models import Diagnosis, Mode
from experiment_debugger.project import find_project
from experiment_debugger.run import resolve

START = "2026-01-03 10:{minute:02d}:00 INFO step {step}/1000 loss {loss:.3f} grad_norm 0.9 lr 1e-4\n"
OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total capacity of 39.39 GiB "
    "of which 1.09 GiB is free. Including non-PyTorch memory, this process has 38.29 GiB memory in use. Of the "
    "allocated memory 36.00 GiB is allocated by PyTorch, and 1.00 GiB is reserved by PyTorch but unallocated.\n"
)
TRACEBACK = 'Traceback (most recent call last):\n  File "/proj/train.py", line 41, in step\n    loss = f(batch)\n'
WATCHDOG = (
    "[rank{rank}]:[E103 10:45:00.000000000 ProcessGroupNCCL.cpp:632] [Rank {rank}] Watchdog caught collective "
    "operation timeout: WorkNCCL(SeqNum=813, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for "
    "600074 milliseconds before timing out.\n"
)


def progress(first: int = 0, count: int = 12, loss: float = 2.0) -> str:
    return "".join(
        START.format(minute=(first + i) % 60, step=(first + i) * 10, loss=loss - 0.01 * i) for i in range(count)
    )


def run_of(folder: Path, **files: str) -> Diagnosis:
    for name, text in files.items():
        path = folder / "logs" / "run-42" / name.replace("__", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return diagnose(resolve(find_project(folder, folder, {}), "42"))


def top(diagnosis: Diagnosis) -> tuple[Mode, str]:
    return diagnosis.modes[0].mode, diagnosis.modes[0].evidence[0].path.rsplit("/", 1)[-1]


def test_the_rank_that_ran_out_of_memory_wins_over_the_ranks_that_waited(tmp_path: Path) -> None:
    waiting = {f"rank{rank}__log": progress() + WATCHDOG.format(rank=rank) for rank in (0, 1, 2)}
    diagnosis = run_of(tmp_path, rank3__log=progress() + TRACEBACK + OOM, **waiting)
    assert top(diagnosis) == ("oom", "rank3.log")
    assert {item.path.rsplit("/", 1)[-1] for item in diagnosis.consequences} == {"rank0.log", "rank1.log", "rank2.log"}
    assert {item.explained_by.partition("/")[0] for item in diagnosis.consequences} == {"oom"}
    assert diagnosis.modes[0].confidence == "high"
    assert diagnosis.modes[0].onset.step == 110


def test_the_same_timeouts_without_a_reason_stay_a_low_answer(tmp_path: Path) -> None:
    waiting = {f"rank{rank}__log": progress() + WATCHDOG.format(rank=rank) for rank in (0, 1)}
    diagnosis = run_of(tmp_path, **waiting)
    assert diagnosis.modes[0].mode == "crash"
    assert diagnosis.modes[0].confidence == "low"


def test_an_error_that_training_outlives_is_no_failure(tmp_path: Path) -> None:
    log = progress() + TRACEBACK + "OSError: [Errno 5] Input/output error\n" + progress(12, 88) + "Training completed\n"
    diagnosis = run_of(tmp_path, train__log=log)
    assert diagnosis.verdict == "healthy"
    assert "1 errors on the way" in diagnosis.summary


def test_the_same_error_at_the_end_is_one(tmp_path: Path) -> None:
    diagnosis = run_of(tmp_path, train__log=progress() + TRACEBACK + "OSError: [Errno 5] Input/output error\n")
    assert diagnosis.verdict == "failure"
    assert diagnosis.modes[0].mode == "crash"


def test_a_bar_drawn_once_more_below_the_exception_is_no_progress(tmp_path: Path) -> None:
    bar = " 12%|# | 120/1000 [00:30<03:51,  4.9it/s, loss=0.6]\r"
    log = bar.replace("120", "119") + bar + TRACEBACK + "KeyError: 'labels'\n" + bar + bar + "\n"
    assert run_of(tmp_path, train__log=log).verdict == "failure"


def test_one_nan_is_recovered_and_lasting_nan_is_not(tmp_path: Path) -> None:
    nan = START.format(minute=12, step=120, loss=float("nan"))
    end = progress(13, 87) + "Training completed\n"
    assert run_of(tmp_path / "a", train__log=progress() + nan + end).verdict == "healthy"
    lasting = "".join(START.format(minute=i, step=i * 10, loss=float("nan")) for i in range(12, 30))
    diagnosis = run_of(tmp_path / "b", train__log=progress() + lasting + "Training completed\n")
    assert (diagnosis.modes[0].mode, diagnosis.modes[0].onset.step) == ("nan-gradient", 120)
    assert [item.value for item in diagnosis.modes[0].evidence][:2] == ["nan", 1.89]


def test_a_log_that_stops_in_the_middle_is_neither_healthy_nor_a_guess(tmp_path: Path) -> None:
    diagnosis = run_of(tmp_path, train__log=progress())
    assert diagnosis.verdict == "inconclusive"
    assert "stops" in diagnosis.summary


def test_a_silent_log_with_a_scheduler_that_ends_the_job_hours_later_is_a_hang(tmp_path: Path) -> None:
    (tmp_path / "slurm-42.out").write_text(
        "slurmstepd: error: *** JOB 42 ON n1 CANCELLED AT 2026-01-03T19:00:02 DUE TO TIME LIMIT ***\n", encoding="utf-8"
    )
    diagnosis = run_of(tmp_path, train__log=progress())
    assert diagnosis.modes[0].mode == "crash"
    assert "log-stops-mid-run" in diagnosis.modes[0].rules
    assert [item.rule for item in diagnosis.consequences] == ["slurm-time-limit"]


def test_a_preempted_job_that_resumed_and_finished_is_healthy(tmp_path: Path) -> None:
    preempted = "slurmstepd: error: *** JOB 42 ON n1 CANCELLED AT 2026-01-03T10:12:00 DUE TO PREEMPTION ***\n"
    diagnosis = run_of(tmp_path, train__log=progress() + preempted + progress(12, 89) + "Training completed\n")
    assert diagnosis.verdict == "healthy"


def test_a_first_attempt_that_failed_does_not_condemn_the_second(tmp_path: Path) -> None:
    failed = progress() + TRACEBACK + "OSError: [Errno 5] Input/output error\n"
    finished = progress(0, 101) + "Training completed\n"
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "slurm-42.out").write_text(failed, encoding="utf-8")
    (tmp_path / "logs" / "slurm-42-1.out").write_text(finished, encoding="utf-8")
    diagnosis = diagnose(resolve(find_project(tmp_path, tmp_path, {}), "42"))
    assert diagnosis.verdict == "healthy"


def test_attempts_that_fail_alike_are_deterministic(tmp_path: Path) -> None:
    failed = progress() + TRACEBACK + "KeyError: 'labels'\n"
    (tmp_path / "logs").mkdir()
    for name in ("slurm-42.out", "slurm-42-1.out"):
        (tmp_path / "logs" / name).write_text(failed, encoding="utf-8")
    diagnosis = diagnose(resolve(find_project(tmp_path, tmp_path, {}), "42"))
    assert diagnosis.determinism == "deterministic"


def test_a_hint_is_tested_first_and_not_believed(tmp_path: Path) -> None:
    log = progress() + TRACEBACK + OOM
    run_of(tmp_path, train__log=log)
    run = resolve(find_project(tmp_path, tmp_path, {}), "42")
    assert diagnose(run, mode="nan-gradient").modes[0].mode == "oom"


def test_an_empty_log_is_inconclusive(tmp_path: Path) -> None:
    diagnosis = run_of(tmp_path, train__log="")
    assert diagnosis.verdict == "inconclusive"
    assert "empty" in diagnosis.summary


def test_pasted_text_is_quoted_from_a_path_of_its_own() -> None:
    diagnosis = diagnose_text(TRACEBACK + OOM)
    assert diagnosis.modes[0].mode == "oom"
    assert (diagnosis.modes[0].evidence[0].path, diagnosis.modes[0].evidence[0].line) == ("-", 4)


@pytest.mark.parametrize("text", ["", "hello\n", "\x00\x01\x02" * 50, "loss: nan\n"])
def test_text_that_says_nothing_is_never_called_healthy(text: str) -> None:
    assert diagnose_text(text).verdict != "healthy"


def test_where_two_causes_are_equal_the_cause_stays_open(tmp_path: Path) -> None:
    lasting = "".join(START.format(minute=i, step=i * 10, loss=float("nan")) for i in range(12, 30))
    hypothesis = run_of(tmp_path, train__log=progress() + lasting).modes[0]
    assert hypothesis.cause is None
    assert hypothesis.unknown
    assert hypothesis.refute_with


def settings(folder: Path, text: str) -> None:
    (folder / ".experiment-debugger").mkdir(parents=True)
    (folder / ".experiment-debugger" / "config.yaml").write_text(text, encoding="utf-8")


def test_a_projects_own_pattern_and_roles_make_its_lines_progress(tmp_path: Path) -> None:
    settings(tmp_path, "log_pattern: 'it=(?P<step>\\d+)/(?P<total>\\d+) obj=(?P<obj>\\S+)'\nkey_roles: {obj: loss}\n")
    lines = [f"it={i}/50 obj={'nan' if i >= 30 else 3.5}\n" for i in range(1, 51)]
    diagnosis = run_of(tmp_path, train__log="".join(lines))
    assert (diagnosis.modes[0].mode, diagnosis.modes[0].onset.step) == ("nan-gradient", 30)


def test_a_suppressed_rule_is_silent_and_counted(tmp_path: Path) -> None:
    settings(tmp_path, "suppressions: [{rule: python-exception, reason: known flaky upload}]\n")
    log = progress(0, 101) + "Training completed\n" + TRACEBACK + "KeyError: 'labels'\n"
    diagnosis = run_of(tmp_path, train__log=log)
    assert diagnosis.verdict == "healthy"
    assert diagnosis.checked.suppressed == 1


def test_a_projects_own_signature_is_used(tmp_path: Path) -> None:
    settings(tmp_path, "signatures: sigs\n")
    (tmp_path / "sigs").mkdir()
    (tmp_path / "sigs" / "own.yaml").write_text(
        """\
- id: own-license-server-down
  title: 'The license server of the simulator does not answer'
  mode: crash
  symptom_class: access-denied
  role: root
  level: fatal
  match: {literals: ['LICENSE SERVER']}
  why: 'The simulator stops without a license.'
  confirm: ['ping the license server']
  references: ['internal wiki']
  verified: run
  examples: {fires: ['LICENSE SERVER unreachable'], silent: ['license server found']}
""",
        encoding="utf-8",
    )
    diagnosis = run_of(tmp_path, train__log=progress() + "simulator: LICENSE SERVER unreachable, giving up\n")
    assert diagnosis.modes[0].rules[0] == "own-license-server-down"
