"""Nothing that a command starts lives on, however it tries."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest
from supervision import Lab, output, runs, wait_for

from experiment_debugger.smoke.supervised import Supervised

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="orphans are adopted on Linux only")


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def test_sigterm_is_ignored(lab: Lab) -> None:
    done = lab.run(lab.spec(IGNORES_SIGTERM), Supervised.cancel)
    assert (done.result["stopped"], done.result["signal"]) == ("cancelled", "SIGKILL")
    assert done.lines == ["started", "experiment-debugger: stopped: cancelled"]


@pytest.mark.parametrize("ending", ["exits", "is cancelled"])
def test_a_daemon_without_marker_or_pipe(lab: Lab, ending: str) -> None:
    """It has forked twice, has a session of its own, has closed everything, and an environment of its own."""
    spec = lab.spec(DAEMON + ("" if ending == "exits" else "time.sleep(600)\n"))
    done = lab.run(spec, Supervised.cancel if ending == "is cancelled" else None)
    daemon = int((lab.folder / "daemon").read_text(encoding="utf-8"))
    assert not runs(daemon)
    assert done.result["stopped"] == (None if ending == "exits" else "cancelled")
    assert done.result["left_over"] == (1 if ending == "exits" else 0)
    assert done.result["survivors"] == []


def test_a_child_that_holds_the_pipe_after_the_end(lab: Lab) -> None:
    done = lab.run(lab.spec("", "sh", "-c", "sleep 600 & echo started"))
    assert (done.result["exit"], done.result["stopped"], done.result["left_over"]) == (0, None, 1)
    assert done.lines == ["started"]
    assert done.result["seconds"] < 20


def test_children_that_end_by_themselves_are_waited_for(lab: Lab) -> None:
    done = lab.run(lab.spec("", "sh", "-c", "(sleep 0.3; echo last) & echo first"))
    assert done.lines == ["first", "last"]
    assert done.result["left_over"] == 0


@pytest.mark.parametrize("own_session", [False, True])
def test_a_chain_of_forks(lab: Lab, own_session: bool) -> None:
    """Each process starts the next and ends at once, so that a list of processes is old when it is read."""
    program = FORKS_ON.replace("SETSID", "os.setsid()" if own_session else "pass")
    done = lab.run(lab.spec(program))
    assert (done.result["exit"], done.result["survivors"]) == (0, [])
    size = (lab.folder / "chain").stat().st_size
    assert size > 0
    time.sleep(0.2)
    assert (lab.folder / "chain").stat().st_size == size


def test_a_fork_in_a_loop(lab: Lab) -> None:
    """Every process goes on starting others, up to a number that this machine can bear."""
    done = lab.run(lab.spec(FORK_LOOP), lambda test: wait_for_children(lab, test))
    assert (done.result["stopped"], done.result["survivors"]) == ("cancelled", [])
    pids = [int(pid) for pid in (lab.folder / "pids").read_text(encoding="utf-8").split()]
    assert len(pids) > 20
    assert not [pid for pid in pids if runs(pid)]


def wait_for_children(lab: Lab, test: Supervised) -> None:
    wait_for(lambda: len((lab.folder / "pids").read_text(encoding="utf-8").split()) > 20)
    test.cancel()


def test_a_stopped_process(lab: Lab) -> None:
    done = lab.run(
        lab.spec("import os, signal; print('started'); os.kill(os.getpid(), signal.SIGSTOP)"), Supervised.cancel
    )
    assert done.result["stopped"] == "cancelled"


def test_orders_do_not_wait_for_output(lab: Lab) -> None:
    """A command that prints without end is cancelled as fast as a quiet one."""
    spec = lab.spec("import os\nwhile True: os.write(1, b'x' * 99 + b'\\n')")
    done = lab.run(spec, Supervised.cancel)
    assert done.lines[-1] == "experiment-debugger: stopped: cancelled"
    assert len(output(spec)) < 2 << 20


IGNORES_SIGTERM = """\
import signal, time
for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(name, signal.SIG_IGN)
print("started")
time.sleep(600)
"""
DAEMON = """\
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.closerange(0, 64)
        code = "import os, time; open('daemon', 'w').write(str(os.getpid())); time.sleep(600)"
        os.execve(sys.executable, [sys.executable, "-c", code], {})
    os._exit(0)
while not (os.path.exists("daemon") and os.path.getsize("daemon")):
    time.sleep(0.01)
print("started")
"""
FORKS_ON = """\
import os
print("started", flush=True)
file = os.open("chain", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
while True:
    if os.fork():
        os._exit(0)
    SETSID
    os.write(file, b"x")
"""
FORK_LOOP = """\
import os, time
file = os.open("pids", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
print("started", flush=True)
while os.lseek(file, 0, os.SEEK_END) < 3000:
    os.fork()
    os.write(file, b"%d\\n" % os.getpid())
    time.sleep(0.002)
time.sleep(600)
"""
