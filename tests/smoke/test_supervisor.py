"""How commands end under supervision, and what is recorded of it."""

from __future__ import annotations

import csv
import sys
import threading
from pathlib import Path

import pytest
from supervision import Lab, Outcome, output, wait_for

from experiment_debugger.smoke.supervised import Supervised

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="process groups and signals are POSIX")


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def test_a_command_that_ends_well(lab: Lab) -> None:
    done = lab.run_code("print('step 1 loss 2.3')\nimport sys; print('warned', file=sys.stderr)")
    assert (done.result["exit"], done.result["signal"], done.result["stopped"]) == (0, None, None)
    assert done.lines == ["step 1 loss 2.3", "warned"]
    assert done.result["output_bytes"] == len(done.console)
    assert done.result["output_left_out"] == 0
    assert done.result["survivors"] == []


def test_its_exit_status_is_told(lab: Lab) -> None:
    assert lab.run_code("raise SystemExit(3)").result["exit"] == 3


def test_the_signal_that_ended_it_is_told(lab: Lab) -> None:
    done = lab.run_code("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    assert (done.result["exit"], done.result["signal"]) == (None, "SIGSEGV")


def test_it_leaves_no_core_file_but_may_ask_for_one(lab: Lab) -> None:
    done = lab.run_code("import resource; print(resource.getrlimit(resource.RLIMIT_CORE))")
    assert done.lines[0].startswith("(0, ")


@pytest.mark.parametrize(
    ("argv", "status", "reason"),
    [
        (["no-such-program", "x"], 127, "cannot start no-such-program: No such file or directory"),
        (["./data.txt"], 126, "cannot start ./data.txt: Permission denied"),
        (["./text"], 126, "cannot start ./text: Exec format error"),
    ],
)
def test_a_command_that_cannot_be_started(lab: Lab, argv: list[str], status: int, reason: str) -> None:
    (lab.folder / "data.txt").write_text("1\n", encoding="utf-8")
    (lab.folder / "text").write_text("1\n", encoding="utf-8")
    (lab.folder / "text").chmod(0o755)
    done = lab.run(lab.spec("", *argv))
    assert (done.result["exit"], done.result["stopped"]) == (status, None)
    assert done.lines == [f"experiment-debugger: {reason}"]
    assert done.result["reason"] == reason
    assert done.cleaned == "x"


def test_a_folder_that_is_not_there(lab: Lab) -> None:
    nowhere = str(lab.folder / "nowhere")
    done = lab.run_code("", cwd=nowhere)
    assert done.result["exit"] == 126
    assert done.lines == [f"experiment-debugger: cannot start in {nowhere}: No such file or directory"]


def test_a_command_that_reads_finds_no_input(lab: Lab) -> None:
    done = lab.run_code("import sys; print(repr(sys.stdin.read()))")
    assert done.lines == ["''"]


def test_it_gets_the_folder_and_the_environment_it_is_given(lab: Lab) -> None:
    spec = lab.spec("import os; print(os.getcwd(), sorted(os.environ))", env={"SEED": "1", "LC_ALL": "C.UTF-8"})
    assert lab.run(spec).lines == [f"{lab.folder} ['EXPERIMENT_DEBUGGER_SMOKE', 'LC_ALL', 'SEED']"]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_it_gets_nothing_else(lab: Lab) -> None:
    done = lab.run(lab.spec("", "sh", "-c", "ls /proc/$$/fd; cd /; ps -o sid= -p $$; echo $$"))
    assert done.lines[:3] == ["0", "1", "2"]
    assert int(done.lines[-2]) == int(done.lines[-1])


def test_names_that_are_no_text(lab: Lab) -> None:
    done = lab.run(lab.spec("import time\ntime.sleep(0.8)", sys.executable, "-c", "pass", "caf\udce9"))
    assert done.result["python_processes"][0]["command"].endswith(" caf?")
    assert lab.run(lab.spec("", "caf\udce9")).lines == [
        "experiment-debugger: cannot start caf?: No such file or directory"
    ]


def test_a_folder_that_the_command_removes(lab: Lab) -> None:
    folder = lab.folder / "worktree"
    folder.mkdir()
    done = lab.run_code(f"import os, time; os.rmdir({str(folder)!r}); time.sleep(1.5); print('end')", cwd=str(folder))
    assert (done.result["exit"], done.lines) == (0, ["end"])


def test_cancelled(lab: Lab) -> None:
    done = lab.run(lab.spec(WAITS), Supervised.cancel)
    assert (done.result["stopped"], done.result["signal"]) == ("cancelled", "SIGTERM")
    assert done.lines[-1] == "experiment-debugger: stopped: cancelled"


def test_the_step_limit(lab: Lab) -> None:
    done = lab.run(lab.spec(WAITS), Supervised.stop_steps)
    assert done.result["stopped"] == "steps"
    assert done.lines[-1] == "experiment-debugger: stopped: step limit"


def test_the_wall_clock(lab: Lab) -> None:
    done = lab.run_code(WAITS, seconds=0.5)
    assert done.result["stopped"] == "timeout"
    assert done.result["reason"] == "wall clock of 0.5 s is over"
    assert done.lines == ["started", "experiment-debugger: stopped: wall clock of 0.5 s is over"]
    assert 0.5 <= done.result["seconds"] < 30


def test_it_may_say_goodbye(lab: Lab) -> None:
    done = lab.run(lab.spec(SAYS_GOODBYE), Supervised.cancel)
    assert done.lines == ["started", "experiment-debugger: stopped: cancelled"]  # what it says when ended is kept apart
    assert done.result["last_words"] == "goodbye\n"
    assert (done.result["exit"], done.result["stopped"]) == (5, "cancelled")


def test_samples_of_the_whole_tree(lab: Lab) -> None:
    done = lab.run_code(BUSY_PARENT_AND_CHILD)
    rows = list(csv.DictReader((done.records / "samples.csv").read_text(encoding="utf-8").splitlines()))
    assert list(rows[0]) == ["elapsed_s", "processes", "rss_mb", "cpu_percent"]
    assert max(int(row["processes"]) for row in rows) == 2
    assert max(float(row["rss_mb"]) for row in rows) > 60
    assert max(float(row["cpu_percent"]) for row in rows) > 20
    assert done.result["peak_rss_bytes"] > 60 << 20
    times = [float(row["elapsed_s"]) for row in rows]
    assert times == sorted(times)


def test_separate_interpreters_are_told_and_forked_ones_are_not(lab: Lab) -> None:
    done = lab.run_code(STARTS_AND_FORKS)
    pids = [int(pid) for pid in done.lines[0].split()]
    found = {process["pid"]: process for process in done.result["python_processes"]}
    assert set(found) == {pids[0], pids[1]}
    assert found[pids[1]]["parent"] == pids[0]
    assert found[pids[1]]["command"].endswith("-c import time; time.sleep(1.5)")
    assert found[pids[0]]["seconds"] >= 0.5


def test_the_main_interpreter_is_told_however_short_it_lives(lab: Lab) -> None:
    (process,) = lab.run_code("").result["python_processes"]
    assert process["command"].endswith("program.py")


def test_shells_are_no_interpreters(lab: Lab) -> None:
    assert lab.run(lab.spec("", "sh", "-c", "sleep 0.8; true")).result["python_processes"] == []


def test_what_is_to_be_cleaned_up_is_there_until_the_result_was_looked_at(lab: Lab) -> None:
    spec = lab.spec("print('x')")
    supervised = Supervised.start(spec)
    assert supervised.wait(60)
    assert supervised.poll() == supervised.poll()
    assert not (Path(spec["records"]) / "cleaned").exists()
    supervised.close()
    assert (Path(spec["records"]) / "cleaned").read_text(encoding="utf-8") == "x"
    supervised.close()
    assert (Path(spec["records"]) / "cleaned").read_text(encoding="utf-8") == "x"


def test_a_failing_clean_up_is_told_and_keeps_no_other_from_running(lab: Lab) -> None:
    done = lab.run_code("")
    assert "a-command-that-is-not-there" in (done.records / "supervisor.err").read_text(encoding="utf-8")
    quiet = lab.spec("", cleanup=[])
    with_no_errors = Supervised.start(quiet)
    assert with_no_errors.wait(60)
    with_no_errors.close()
    assert not (Path(quiet["records"]) / "supervisor.err").exists()


def test_several_in_threads_of_one_server(lab: Lab) -> None:
    specs = [lab.spec(WAITS), lab.spec("print('done')"), lab.spec(WAITS)]
    done: dict[int, Outcome] = {}

    def run(number: int) -> None:
        done[number] = lab.run(specs[number], Supervised.cancel if number != 1 else None)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [done[number].result["stopped"] for number in range(3)] == ["cancelled", None, "cancelled"]


def test_one_that_is_closed_ends_although_others_of_the_same_server_run(lab: Lab) -> None:
    """No supervisor holds the writing end of another's input."""
    first_spec, second_spec = lab.spec(WAITS), lab.spec(WAITS)
    first, second = Supervised.start(first_spec), Supervised.start(second_spec)
    wait_for(lambda: output(first_spec) and output(second_spec))
    first.close()
    assert (first.poll() or {})["stopped"] == "parent-gone"
    assert second.poll() is None
    second.close()
    assert (second.poll() or {})["stopped"] == "parent-gone"


WAITS = "print('started')\nimport time\ntime.sleep(600)"
SAYS_GOODBYE = """\
import signal, time
def end(*_):
    print("goodbye")
    raise SystemExit(5)
signal.signal(signal.SIGTERM, end)
print("started")
time.sleep(600)
"""
BUSY_PARENT_AND_CHILD = """\
import subprocess, sys, time
busy = "import time; data = bytearray(50 << 20); end = time.time() + 1.5\\nwhile time.time() < end: pass"
subprocess.run([sys.executable, "-c", busy])
"""
STARTS_AND_FORKS = """\
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1.5)"])
worker = os.fork()
if not worker:
    time.sleep(1.5)
    os._exit(0)
print(os.getpid(), child.pid, worker)
child.wait()
os.wait()
"""
