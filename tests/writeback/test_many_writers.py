"""Many writers and killed ones: no row is lost, no number is given twice, no file is ever damaged."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from experiment_debugger.project import Project
from experiment_debugger.writeback.boards import RISKS
from experiment_debugger.writeback.recording import read_rows

WRITER = """\
import sys
from pathlib import Path
from experiment_debugger.project import Project
from experiment_debugger.writeback.risks import RiskWish, record_risk

project, name, count = Project(Path(sys.argv[1])), sys.argv[2], int(sys.argv[3])
print("ready", flush=True)
for number in range(count):
    record_risk(project, RiskWish(summary=f"risk {number} of {name}"), today="2026-11-30")
"""
WRITERS, EACH = 8, 50
KILLS = 200
LONGEST_LIFE = 0.08
"""Seconds that a writer lives after it is ready; one append takes a tenth of that."""


def writer(root: Path, name: str, count: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(root), name, str(count)], stdout=subprocess.PIPE, text=True
    )


def numbers(root: Path) -> list[int]:
    return [int(row.id.removeprefix("RSK-")) for row in read_rows(Project(root), RISKS)]


def test_eight_writers_lose_nothing_and_number_without_gaps(tmp_path: Path) -> None:
    running = [writer(tmp_path, str(index), EACH) for index in range(WRITERS)]
    for one in running:
        one.communicate()
    assert {one.returncode for one in running} == {0}
    assert numbers(tmp_path) == list(range(1, WRITERS * EACH + 1))
    said = {row.values["Summary"].partition(" <!--")[0] for row in read_rows(Project(tmp_path), RISKS)}
    assert said == {f"risk {number} of {name}" for number in range(EACH) for name in range(WRITERS)}
    assert [path.name for path in (tmp_path / "memory").iterdir()] == ["risk-board.md"]


def test_a_writer_killed_at_any_moment_leaves_a_whole_board(tmp_path: Path) -> None:
    board = tmp_path / "memory" / "risk-board.md"
    chance = random.Random(42)  # noqa: S311 (when to kill)
    before = drafts = 0
    for kill in range(KILLS):
        one = writer(tmp_path, str(kill), 10_000)
        assert one.stdout is not None
        assert one.stdout.readline() == "ready\n"
        time.sleep(chance.uniform(0, LONGEST_LIFE))
        os.kill(one.pid, signal.SIGKILL)
        one.wait()
        one.stdout.close()
        if board.exists():
            drafts += len(list(board.parent.iterdir())) > 1
            found = numbers(tmp_path)
            assert found == list(range(1, len(found) + 1))
            assert len(found) >= before, "what was written stays"
            assert board.read_bytes().endswith(b"| 2026-11-30 |\n")
            before = len(found)
            if before > 400:  # a long board only makes the test slow
                board.unlink()
                before = 0
    assert drafts, "some writers were killed in the middle of writing"
    done = writer(tmp_path, "last", 1)
    done.communicate()
    assert done.returncode == 0
    assert [path.name for path in board.parent.iterdir()] == ["risk-board.md"], "the next writer tidies up"
