"""A file store that MLflow 3.17 wrote: a finished run, a failed one, and one that was killed before it could say so."""

from __future__ import annotations

import math
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiment_debugger.errors import UnreadableArtifact
from experiment_debugger.readers.mlflow_store import metric_key, read_metric
from experiment_debugger.readers.numbers import has_numbers, read_numbers

STORE = Path(__file__).parent / "files" / "mlruns" / "1"


def run_of(state: int) -> Path:
    (meta,) = [path for path in STORE.glob("*/meta.yaml") if f"status: {state}\n" in path.read_text(encoding="utf-8")]
    return meta.parent


def test_a_metric_with_a_slash_in_its_name() -> None:
    path = run_of(3) / "metrics" / "train" / "loss"
    assert has_numbers(path, "metrics")
    (series,) = read_numbers([path], "metrics")
    lines = path.read_text(encoding="utf-8").split("\n")
    assert series.key == "train/loss"
    assert list(series.steps) == [0, 10, 20, 30, 40]
    assert list(series.values)[:3] == [2.0, 1.0, 2 / 3]
    assert math.isnan(series.values[3])
    assert list(series.lines) == [1, 2, 3, 4, 5]
    assert series.times[0] == int(lines[0].split()[0]) / 1000


def test_evaluations_are_told_by_their_name() -> None:
    (series,) = read_metric(run_of(3) / "metrics" / "val" / "acc")
    assert (series.role, series.evaluation) == ("metric", True)


def test_the_first_metric_brings_parameters_and_state() -> None:
    recorded = read_metric(run_of(3) / "metrics" / "lr")
    assert recorded.settings == {"batch_size": "32", "lr": "0.1", "opt.name": "adam"}
    assert recorded.facts == {"state": "finished"}
    other = read_metric(run_of(3) / "metrics" / "train" / "loss")
    assert (other.settings, other.facts) == ({}, {})


def test_state_and_commit_of_a_failed_run() -> None:
    assert read_metric(run_of(4) / "metrics" / "loss").facts == {"state": "failed", "commit": "abc123"}
    assert read_metric(run_of(1) / "metrics" / "loss").facts == {"state": "running"}


def test_other_places_are_no_metrics() -> None:
    assert metric_key(Path("mlruns/1/ab/params/lr")) is None
    assert metric_key(Path("metrics/loss")) is None
    assert metric_key(Path("mlruns")) is None
    with pytest.raises(UnreadableArtifact):
        read_metric(Path("metrics/loss"))


def test_links_out_of_the_store_are_not_followed(tmp_path: Path) -> None:
    store = tmp_path / "mlruns" / "1" / "ab"
    shutil.copytree(run_of(3), store)
    secret = tmp_path / "secret"
    secret.write_text("x", encoding="utf-8")
    (store / "params" / "a").symlink_to(secret)
    assert "a" not in read_metric(store / "metrics" / "lr").settings


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200) | st.text("0123456789. naif-e\n", max_size=100).map(str.encode))
def test_never_raises_anything_else(tmp_path_factory: pytest.TempPathFactory, text: bytes) -> None:
    path = tmp_path_factory.mktemp("x") / "mlruns" / "1" / "ab" / "metrics" / "loss"
    path.parent.mkdir(parents=True)
    path.write_bytes(text)
    (series,) = read_metric(path)
    assert len(series.steps) == len(series.values)
