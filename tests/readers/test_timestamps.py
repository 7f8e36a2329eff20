"""Stamps of loggers, schedulers and kernels."""

from __future__ import annotations

import pytest

from experiment_debugger.readers.prefixes import split_prefix
from experiment_debugger.readers.timestamps import Clock, find_year

NOON = 1700395200.0  # 2023-11-19 12:00:00 UTC


@pytest.mark.parametrize(
    "text",
    [
        "2023-11-19 12:00:00.000 | INFO | x",
        "[2023-11-19 12:00:00,000] [INFO] x",
        "2023-11-19,12:00:00 | INFO | x",
        "2023/11/19 12:00:00 - mmengine - INFO",
        "11/19/2023 12:00:00 - INFO - __main__",
        "slurmstepd: error: *** JOB 1 ON n CANCELLED AT 2023-11-19T12:00:00 DUE TO PREEMPTION ***",
        "[Sun Nov 19 12:00:00 2023] onmt invoked oom-killer",
        "I1119 12:00:00.000000 139871 train.py:133] step",
        "[rank0]:[E1119 12:00:00.000000000 ProcessGroupNCCL.cpp:616]",
        "[11/19 12:00:00 d2.utils.events]: eta",
        "== job finished at Sun Nov 19 12:00:00 CET 2023",
        "[heartbeat] Nov 19 12:00:00 alive=1",
    ],
)
def test_one_moment_in_many_spellings(text: str) -> None:
    assert Clock(year=2023).read(text) == NOON


@pytest.mark.parametrize("text", ["17:04:44 e3 loss 0.5", "ratio 12:34", "v2023-99-99 99:99:99", ""])
def test_what_has_no_date_has_no_time(text: str) -> None:
    assert Clock().read(text) is None


def test_the_year_comes_from_other_stamps_of_the_run() -> None:
    assert find_year(b"x\n2021-05-11 09:26:51 start\n") == 2021
    assert find_year(b"[Sat Nov 19 10:27:41 2022] oom") == 2022
    assert find_year(b"no date") is None


@pytest.mark.parametrize(
    ("text", "rank", "rest"),
    [
        ("[rank3]: RuntimeError", 3, "RuntimeError"),
        ("[rank5] torch.x", 5, "torch.x"),
        ("[rank: 2] Child", 2, "Child"),
        ("12: loss 2", 12, "loss 2"),
        ("[1,0]<stderr>:Traceback", 0, "Traceback"),
        ("[default2]:step 1", 2, "step 1"),
        ("(WorkerDict pid=4102) x", None, "x"),
        ("2023-11-19 12:00", None, "2023-11-19 12:00"),
    ],
)
def test_prefixes_name_the_rank(text: str, rank: int | None, rest: str) -> None:
    assert split_prefix(text)[1:] == (rank, rest)
