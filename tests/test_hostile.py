"""Files and arguments as they come from crashed machines, other systems and careless hands."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from samples import Cli, write

TRACE = 'Traceback (most recent call last):\n  File "train.py", line 3, in main\n    go()\nKeyError: "labels"\n'


def log(project: Path, name: str, content: bytes) -> Path:
    path = project / "logs" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("order", ["utf-16-le", "utf-16-be"])
def test_a_log_redirected_by_powershell_is_text(cli: Cli, tmp_path: Path, order: str) -> None:
    mark = "\ufeff".encode(order)
    log(tmp_path, "run-42.log", mark + f"step 1/9 loss 2.0\n{TRACE}".encode(order))
    assert "KeyError" in cli("debug", "42", cwd=tmp_path).out
    assert "KeyError" in cli("debug", "-", cwd=tmp_path, stdin=mark + TRACE.encode(order)).out


def test_a_log_with_a_hole_of_nuls_is_text(cli: Cli, tmp_path: Path) -> None:
    log(tmp_path, "run-42.log", b"\0" * 20_000 + f"step 1/9 loss 2.0\n{TRACE}".encode())
    assert "KeyError" in cli("debug", "42", cwd=tmp_path).out


def test_a_packed_log_that_is_cut_off_gives_what_is_in_front_of_the_damage(cli: Cli, tmp_path: Path) -> None:
    lines = "".join(f"step {step}/9000 loss 2.{step:05}\n" for step in range(5000))
    packed = gzip.compress(lines.encode())
    log(tmp_path, "run-42.log.gz", packed[: len(packed) // 2])
    done = cli("debug", "42", cwd=tmp_path)
    assert done.code == 0, done.err
    assert "inconclusive" in done.out
    assert "step 1/9000" in cli("read-run-logs", "42", "--head", "3", cwd=tmp_path).out


def test_a_pattern_finds_what_a_progress_bar_has_overwritten(cli: Cli, tmp_path: Path) -> None:
    log(tmp_path, "run-42.log", b"step 1 loss 2.0\rstep 2 loss nan\rstep 3 loss 1.9\n")
    assert "1| step 2 loss nan" in cli("read-run-logs", "42", "--pattern", "loss nan", cwd=tmp_path).out


def test_a_complaint_stays_one_bounded_line(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path / "logs" / "run-42.log", "step 1 loss 2.0\n")
    done = cli("debug", "x\u202e\n" + "y" * 20_000, cwd=tmp_path)
    assert done.code == 2
    assert len(done.err.splitlines()) == 1
    assert len(done.err) < 2000
    assert "\u202e" not in done.err
