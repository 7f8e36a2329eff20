"""Output and memory of a command are bounded, over all its processes."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from supervision import Lab, output, supervisor_of, wait_for

from experiment_debugger.smoke import stopping
from experiment_debugger.smoke.output import Console, Ring
from experiment_debugger.smoke.spec import Spec
from experiment_debugger.smoke.supervised import Supervised

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="process groups and signals are POSIX")
MIB = 1 << 20


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def test_a_gigabyte_of_output(lab: Lab) -> None:
    peaks: list[int] = []
    spec = lab.spec(FLOODS, output_bytes=4 * MIB)
    done = lab.run(spec, lambda test: watch_supervisor(lab, spec, test, peaks))
    assert done.result["exit"] == 0
    assert done.result["output_bytes"] == 1_000_000_008
    assert max(peaks) < 100 * MIB
    assert 3 * MIB < len(done.console) < 4 * MIB + 100
    (marker,) = [line for line in done.lines if line.startswith("[")]
    assert marker == f"[experiment-debugger: {done.result['output_left_out']} bytes left out]"
    kept = len(done.console) - len(marker) - 1
    assert kept - done.result["output_bytes"] + done.result["output_left_out"] in {0, 1}  # 1: a line end of ours
    assert done.lines[-1] == "the end"
    assert all(re.fullmatch("x{99}", line) for line in done.lines[-1000:-1])


def watch_supervisor(lab: Lab, spec: dict[str, object], test: Supervised, peaks: list[int]) -> None:
    """Its memory when all was printed, which the program tells before it ends."""
    supervisor = supervisor_of(spec)
    wait_for((lab.folder / "printed").exists)
    peaks.append(supervisor.memory_info().rss)
    (lab.folder / "go").touch()
    assert test.poll() is None


def test_the_first_part_can_be_followed(lab: Lab) -> None:
    spec = lab.spec("print('step 1')\nimport time\ntime.sleep(600)")
    done = lab.run(spec, lambda test: cancel_after(lambda: output(spec) == b"step 1\n", test))
    assert done.lines[0] == "step 1"


def cancel_after(condition: Callable[[], object], test: Supervised) -> None:
    wait_for(condition)
    test.cancel()


def test_our_line_stands_alone(lab: Lab) -> None:
    done = lab.run_code("print('50%|#####', end='')\nimport time\ntime.sleep(600)", seconds=1)
    assert done.lines == ["50%|#####", "experiment-debugger: stopped: wall clock of 1 s is over"]


def test_bytes_stay_as_they_are(lab: Lab) -> None:
    done = lab.run_code("import os; os.write(1, bytes(range(256)) * 40)")
    assert done.console == bytes(range(256)) * 40


def test_memory_that_grows(lab: Lab) -> None:
    done = lab.run_code(GROWS, memory_bytes=300 * MIB)
    assert (done.result["stopped"], done.result["signal"]) == ("memory", "SIGKILL")
    assert re.fullmatch(
        r"experiment-debugger: stopped: memory limit of 300 MiB reached by 1 process \(\d{3} MiB\)", done.lines[-1]
    )
    assert 300 * MIB < done.result["peak_rss_bytes"] < 1500 * MIB


def test_memory_counts_over_all_processes(lab: Lab) -> None:
    done = lab.run_code(THREE_OF_120_MIB, memory_bytes=300 * MIB)
    assert done.result["stopped"] == "memory"
    assert "by 4 processes" in done.lines[-1]


@pytest.mark.skipif(sys.platform != "linux", reason="shared pages are counted on Linux")
def test_pages_that_forked_processes_share_count_once(lab: Lab) -> None:
    done = lab.run_code(FOUR_SHARE_200_MIB, memory_bytes=300 * MIB)
    assert (done.result["exit"], done.result["stopped"]) == (0, None)
    assert 200 * MIB < done.result["peak_rss_bytes"] < 300 * MIB


@pytest.mark.skipif(sys.platform != "linux", reason="shared pages are counted on Linux")
def test_pages_that_are_written_after_a_fork_count(lab: Lab) -> None:
    """RSS is the same before and after; the pages are not shared any more."""
    done = lab.run_code(FOUR_SHARE_200_MIB.replace("WRITES = False", "WRITES = True"), memory_bytes=500 * MIB)
    assert done.result["stopped"] == "memory"


def test_a_disk_that_fills_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free = iter([10 << 30, 5 << 30, 400 << 20])
    monkeypatch.setattr(stopping, "DISK_SECONDS", 0)
    monkeypatch.setattr("shutil.disk_usage", lambda _: Usage(next(free)))
    bounds = stopping.Bounds(spec_in(tmp_path))
    assert bounds.disk_is_full() is None
    assert bounds.disk_is_full() == stopping.Stop("disk", "disk nearly full (0.4 GiB free)")


def test_a_disk_that_was_nearly_full_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free = iter([800 << 20, 700 << 20, 300 << 20])
    monkeypatch.setattr(stopping, "DISK_SECONDS", 0)
    monkeypatch.setattr("shutil.disk_usage", lambda _: Usage(next(free)))
    bounds = stopping.Bounds(spec_in(tmp_path))
    assert bounds.disk_is_full() is None
    assert bounds.disk_is_full() is not None


class Usage:
    """What shutil.disk_usage gives."""

    def __init__(self, free: int) -> None:
        self.total, self.used, self.free = 20 << 30, (20 << 30) - free, free


def spec_in(folder: Path) -> Spec:
    return Spec(["true"], str(folder), {}, str(folder), 45, 1 << 30, 1 << 20, "s-1")


@pytest.mark.parametrize("size", [0, 1, 7, 10, 64])
@pytest.mark.parametrize("chunk", [1, 3, 10, 11, 40])
def test_a_ring_keeps_the_last_bytes(size: int, chunk: int) -> None:
    data = bytes(range(100, 200))
    ring = Ring(size)
    for start in range(0, len(data), chunk):
        ring.write(data[start : start + chunk])
    assert ring.kept() == (data[len(data) - size :], len(data) - size)


@pytest.mark.parametrize("limit", [0, 1, 10, 40, 41, 1000])
def test_left_out_and_kept_add_up(tmp_path: Path, limit: int) -> None:
    data = b"".join(b"line %d\n" % number for number in range(20))
    read, write = os.pipe()
    os.write(write, data)
    os.close(write)
    console = Console(str(tmp_path / "console.log"), limit)
    with os.fdopen(read, "rb", buffering=0) as stream:
        console.follow(stream)
        left_out = console.finish("stopped: cancelled")
    head, marker, tail = (tmp_path / "console.log").read_bytes().partition(b"[experiment-debugger: %d" % left_out)
    if limit >= len(data):
        assert (head, marker) == (data + b"experiment-debugger: stopped: cancelled\n", b"")
        return
    tail = tail.partition(b" bytes left out]\n")[2].removesuffix(b"experiment-debugger: stopped: cancelled\n")
    assert data.startswith(head.removesuffix(b"\n"))
    assert data.endswith(tail)
    assert limit // 2 + len(tail) + left_out == len(data)


FLOODS = """\
import os, pathlib, time
block = (b"x" * 99 + b"\\n") * 10_000
os.write(1, block)
for _ in range(999):
    os.write(1, block)
os.write(1, b"the end\\n")
pathlib.Path("printed").touch()
while not os.path.exists("go"):
    time.sleep(0.01)
"""
GROWS = """\
import time
kept = []
while True:
    kept.append(bytearray(b"x") * (10 << 20))
    time.sleep(0.02)
"""
THREE_OF_120_MIB = """\
import subprocess, sys
code = "import time; data = bytearray(b'x') * (120 << 20); time.sleep(600)"
for child in [subprocess.Popen([sys.executable, "-c", code]) for _ in range(3)]:
    child.wait()
"""
FOUR_SHARE_200_MIB = """\
import os, time
WRITES = False
data = bytearray(b"x") * (200 << 20)
for _ in range(4):
    if os.fork() == 0:
        time.sleep(1)
        if WRITES:
            for place in range(0, len(data), 4096):
                data[place] = 1
            time.sleep(60)
        time.sleep(1)
        os._exit(0)
for _ in range(4):
    os.wait()
"""
