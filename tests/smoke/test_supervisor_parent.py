"""Everything ends when the server ends, however that happens, and when the supervisor itself is killed."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest
from supervision import PATIENCE, Lab, alive, outcome, supervisor_of, wait_for

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="process groups and signals are POSIX")
TREE = """\
import os, subprocess, sys, time
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
print("started", flush=True)
time.sleep(600)
"""


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT, signal.SIGHUP])
def test_a_server_that_is_killed_takes_its_commands_along(lab: Lab, number: signal.Signals) -> None:
    specs = [lab.spec(TREE), lab.spec(TREE)]
    parent = lab.parent(*specs)
    parent.send_signal(number)
    parent.wait(PATIENCE)
    for spec in specs:
        done = outcome(spec)
        assert done.result["stopped"] == "parent-gone"
        assert done.lines[-1] == "experiment-debugger: stopped: the server has ended"
        assert done.cleaned == "x"


def test_a_server_that_ends_without_a_word(lab: Lab) -> None:
    spec = lab.spec(TREE)
    parent = lab.parent(spec, ending="os._exit(7)")
    assert parent.wait(PATIENCE) == 7
    assert outcome(spec).result["stopped"] == "parent-gone"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_supervisor_that_is_asked_to_end_cancels(lab: Lab, number: signal.Signals) -> None:
    spec = lab.spec(TREE)
    done = lab.run(spec, lambda _: supervisor_of(spec).send_signal(number))
    assert done.result["stopped"] == "cancelled"
    assert done.cleaned == "x"


def test_a_supervisor_that_is_killed(lab: Lab) -> None:
    spec = lab.spec(TREE)
    done = lab.run(spec, lambda _: supervisor_of(spec).kill())
    assert (done.result["stopped"], done.result["survivors"]) == ("supervisor-lost", [])
    assert done.lines == ["started", "experiment-debugger: stopped: the supervisor was lost"]
    assert done.cleaned == "x"


@pytest.mark.skipif(sys.platform != "linux", reason="a child is killed with its parent on Linux only")
def test_when_server_and_supervisor_are_killed_the_command_dies(lab: Lab) -> None:
    spec = lab.spec("print('started', flush=True)\nimport time\ntime.sleep(600)")
    parent = lab.parent(spec)
    supervisor = supervisor_of(spec)
    parent.send_signal(signal.SIGSTOP)
    supervisor.kill()
    wait_for(lambda: alive(spec["id"]) == [])
    parent.kill()
    parent.wait(PATIENCE)


def test_a_server_that_dies_while_a_command_is_asked_to_end(lab: Lab) -> None:
    ignores = "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('started')\ntime.sleep(600)"
    spec = lab.spec(ignores)
    parent = lab.parent(spec)
    supervisor_of(spec).terminate()
    parent.kill()
    parent.wait(PATIENCE)
    assert outcome(spec).result["stopped"] in {"cancelled", "parent-gone"}


def test_a_supervisor_that_cannot_start_is_told(lab: Lab) -> None:
    spec = lab.spec("")
    done = lab.run({**spec, "records": str(lab.folder / spec["id"]), "output_bytes": "many"})
    assert done.result["stopped"] == "supervisor-lost"
    assert "TypeError" in (done.records / "supervisor.err").read_text(encoding="utf-8")
