"""Tables on consoles: logs that stable-baselines3 2.9, fastai 2.8 and skorch have printed, and tables of loops."""

from __future__ import annotations

import io
import math
from pathlib import Path

import pytest

from experiment_debugger.readers.candidates import LOOKED_AT
from experiment_debugger.readers.console_tables import MOST_BETWEEN
from experiment_debugger.readers.lines import Scan
from experiment_debugger.readers.progress import ProgressReader
from experiment_debugger.readers.series import Series
from experiment_debugger.readers.timestamps import Clock

FILES = Path(__file__).parent / "files"


def read(data: bytes | str) -> dict[str, Series]:
    raw = data.encode() if isinstance(data, str) else data
    reader = ProgressReader()
    Scan([reader.literals]).run_stream(io.BytesIO(raw), [reader], Clock())
    return {series.key: series for series in reader.series.values()}


def test_boxes_of_stable_baselines_are_reports_at_their_timesteps() -> None:
    found = read((FILES / "stable_baselines3.log").read_bytes())
    assert list(found["rollout/ep_rew_mean"].steps) == [256, 512, 768, 1024]
    assert list(found["train/loss"].values) == [48.2, 52.9, 62.4]
    assert found["rollout/ep_rew_mean"].role == "metric"
    assert found["train/value_loss"].role == "loss"
    assert "time/iterations" not in found


def test_a_box_behind_long_chatter_is_found_by_its_section_of_times() -> None:
    log = (FILES / "stable_baselines3.log").read_text(encoding="utf-8")
    found = read("Creating environment\n" * 2 * LOOKED_AT + log.replace("48.2", "nan "))
    assert math.isnan(found["train/loss"].values[0])
    assert list(found["train/loss"].steps) == [512, 768, 1024]


def test_rows_of_fastai_stand_behind_the_bars_of_their_epoch() -> None:
    found = read((FILES / "fastai.log").read_bytes())
    assert set(found) == {"train_loss", "valid_loss", "accuracy"}
    assert [series.axis for series in found.values()] == ["epoch"] * 3
    assert list(found["valid_loss"].steps) == [0, 1, 2, 3, 4]
    assert found["valid_loss"].role == "eval-loss"


def test_rows_of_skorch_are_read_through_their_colours() -> None:
    found = read((FILES / "skorch.log").read_bytes())
    assert list(found["train_loss"].steps) == [1, 2, 3, 4, 5, 6]
    assert list(found["valid_acc"].values)[:2] == [0.4833, 0.65]


@pytest.mark.parametrize("delimiter", ["\t", ",", ";", " | ", "  "])
def test_a_header_names_the_columns_that_a_loop_prints(delimiter: str) -> None:
    rows = [("step", "mse", "r2"), ("0", "13789.3", "-285.56"), ("10", "nan", "0.5"), ("20", "3.5", "0.7")]
    found = read("".join(delimiter.join(row) + "\n" for row in rows))
    assert list(found["mse"].steps) == [0, 10, 20]
    assert math.isnan(found["mse"].values[1])
    assert (found["mse"].role, found["r2"].role) == ("loss", "metric")


def test_columns_without_a_header_are_no_metrics() -> None:
    assert read("0\t13789.3\t-285.56\n1\t7672.6\t-154.26\n2\t1457.5\t-25.87\n") == {}


def test_a_table_ends_behind_other_text() -> None:
    chatter = "saving\n" * (MOST_BETWEEN + 2)
    found = read(f"epoch train_loss val_loss\n0 0.7 0.6\n{chatter}1 0.5 0.5\n")
    assert list(found["train_loss"].steps) == [0]


@pytest.mark.parametrize(
    "text",
    [
        "| NVIDIA-SMI 550.54.15    Driver Version: 550.54.15    CUDA Version: 12.4 |\n",
        "-------------\n| N/A   35C    P0    61W / 400W |      0MiB / 81920MiB |\n-------------\n",
        "-------------\n| layers | 12 |\n| heads  | 8  |\n-------------\n",
        "  | Name    | Type       | Params\n-------------\n0 | encoder | Sequential | 263 K\n",
        "epoch loss explained in the docs\n12 of 30 files\n3 files left over\n",
        "step size 3\n4 5 6\n",
    ],
)
def test_other_tables_are_no_reports(text: str) -> None:
    assert read(text) == {}
