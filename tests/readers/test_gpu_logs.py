"""Samples of nvidia-smi and rocm-smi. No GPU is here: shapes are those of public listings, named at each test."""

from __future__ import annotations

import io
import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiment_debugger.readers.gpu_logs import is_gpu_table, read_gpu_log
from experiment_debugger.readers.numbers import has_numbers, read_numbers
from experiment_debugger.readers.series import Recorded, Series

CASES = Path(__file__).parents[1] / "cases"
CSV = """\
timestamp, index, utilization.gpu [%], utilization.memory [%], memory.used [MiB], temperature.gpu, power.draw [W]
2022/07/27 19:02:30.492, 0, 99 %, 40 %, 5117 MiB, 58, 112.65 W
2022/07/27 19:02:30.494, 1, 3 %, 0 %, 12 MiB, 31, [N/A]
2022/07/27 19:02:31.492, 0, 98 %, 41 %, 5118 MiB, 59, 113.00 W
"""
DMON = """\
# gpu   pwr  temp    sm   mem   enc   dec  mclk  pclk pviol tviol    fb  bar1 sbecc dbecc   pci rxpci txpci
# Idx     W     C     %     %     %     %   MHz   MHz     %  bool    MB    MB  errs  errs  errs  MB/s  MB/s
    0   111    83    25     7     0     0  4513  1683     0     0 11651     2     -     -     0    41     8
    1   111    84    18     5     0     0  4513  1733     0     0 11653     2     -     -     0    25    14
"""
PMON = """\
# gpu        pid  type    fb    sm   mem   enc   dec   command
# Idx          #   C/G    MB     %     %     %     %   name
    0     447153     C  7669    76    12     -     -   python
    1          -     -     -     -     -     -     -   -
"""
ROCM = "device,Temperature (Sensor edge) (C),GPU use (%)\ncard0,72.5,42\ncard1,69.0,17\n"


def read(text: str) -> Recorded:
    assert is_gpu_table(text.encode())
    return read_gpu_log(io.BytesIO(text.encode()))


def series(recorded: Recorded, key: str, rank: int = 0) -> Series:
    (found,) = [one for one in recorded if (one.key, one.rank) == (key, rank)]
    return found


def test_csv_has_a_series_for_each_gpu_and_column() -> None:
    """`--query-gpu=... --format=csv -l 1`, as in the benchmark's smi.csv, with the index of the GPU."""
    recorded = read(CSV)
    used = series(recorded, "memory.used [MiB]")
    assert (used.role, list(used.values), list(used.lines)) == ("memory", [5117.0, 5118.0], [2, 4])
    assert used.times[1] - used.times[0] == pytest.approx(1)
    assert list(series(recorded, "utilization.gpu [%]", 1).values) == [3.0]
    assert series(recorded, "utilization.gpu [%]").role == "gpu-utilisation"
    assert series(recorded, "utilization.memory [%]").role is None
    assert ("power.draw [W]", 1) not in {(one.key, one.rank) for one in recorded}
    assert recorded.problems == []


def test_without_units_and_after_a_restart() -> None:
    """`csv,nounits`: bare numbers below the same header, which a second start writes again."""
    text = CSV.replace(" %,", ",").replace(" MiB,", ",").replace(" W\n", "\n")
    recorded = read(text + text)
    assert list(series(recorded, "memory.used [MiB]").values) == [5117.0, 5118.0] * 2
    assert recorded.problems == []


def test_without_header() -> None:
    recorded = read("".join(CSV.splitlines(keepends=True)[1:]))
    assert recorded.problems == ["no header, columns are named by their place"]
    assert list(series(recorded, "column 3").values) == [99.0, 3.0, 98.0]


def test_bus_ids_name_gpus() -> None:
    recorded = read(
        "pci.bus_id, utilization.gpu [%]\n00000000:3B:00.0, 5 %\n00000000:AF:00.0, 6 %\n00000000:3B:00.0, 7 %\n"
    )
    assert list(series(recorded, "utilization.gpu [%]", 0).values) == [5.0, 7.0]
    assert list(series(recorded, "utilization.gpu [%]", 1).values) == [6.0]


def test_lost_gpus_are_counted() -> None:
    recorded = read(CSV + "Unable to determine the device handle for GPU 0000:3B:00.0: Unknown Error\n")
    assert recorded.problems == ["1 lines are no samples of a GPU"]


def test_dmon() -> None:
    """`dmon -s pucvmet` as in DeepSpeech issue 178; its header comes again."""
    recorded = read(DMON + DMON)
    assert list(series(recorded, "sm", 1).values) == [18.0, 18.0]
    assert list(series(recorded, "sm", 1).lines) == [4, 8]
    assert (series(recorded, "fb").role, series(recorded, "mem").role) == ("memory", None)
    assert "sbecc" not in {one.key for one in recorded}
    assert recorded.problems == []


def test_dmon_with_date_and_time() -> None:
    """`dmon -o DT` puts two columns in front."""
    recorded = read(
        "#Date       Time        gpu    pwr  gtemp  mtemp     sm\n"
        "#YYYYMMDD   HH:MM:SS    Idx      W      C      C      %\n"
        " 20240508   07:00:41      0    237     64      -     98\n"
        " 20240508   07:00:42      0    237     64      -     97\n"
    )
    assert list(series(recorded, "sm").times) == [1715151641.0, 1715151642.0]
    assert {one.key for one in recorded} == {"pwr", "gtemp", "sm"}


def test_pmon_counts_processes() -> None:
    """`pmon -c 1 -s mu` as in public listings; an idle GPU is a row of dashes."""
    recorded = read(PMON)
    assert list(series(recorded, "pid 447153 sm").values) == [76.0]
    assert series(recorded, "pid 447153 fb").role == "memory"
    assert recorded.problems == []


def test_rocm() -> None:
    """`rocm-smi --csv` as several programs that read it have it in their tests."""
    recorded = read(ROCM)
    assert list(series(recorded, "GPU use (%)", 1).values) == [17.0]
    assert math.isnan(series(recorded, "GPU use (%)", 1).times[0])


@pytest.mark.parametrize(
    "path", sorted([*CASES.rglob("smi.csv"), *CASES.rglob("dmon*.txt")]), ids=lambda path: path.name
)
def test_samples_of_the_benchmark(path: Path) -> None:
    assert has_numbers(path, "gpu-log")
    recorded = read_numbers([path], "gpu-log")
    assert recorded.problems == []
    assert {"gpu-utilisation", "gpu-power"} <= {one.role for one in recorded}


def test_the_boxes_of_plain_nvidia_smi_are_no_table() -> None:
    assert not is_gpu_table(b"Wed Jul 27 19:02:30 2022\n+-----+\n| NVIDIA-SMI 515.43  Driver Version: 515.43 |\n")


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200) | st.text("#gpu pid,card0-%. \n", max_size=200).map(str.encode))
def test_never_raises(text: bytes) -> None:
    read_gpu_log(io.BytesIO(text))
    read_gpu_log(io.BytesIO(DMON.encode() + text))
