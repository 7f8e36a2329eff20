"""`trainer_state.json` and result files, written by the Trainer of transformers 5.24; history objects of Keras."""

from __future__ import annotations

import io
import json
import math
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiment_debugger.errors import UnreadableArtifact
from experiment_debugger.readers.numbers import has_numbers, read_numbers
from experiment_debugger.readers.series import Recorded, Series
from experiment_debugger.readers.trainer_state import is_document, read_json

FILES = Path(__file__).parent / "files"
STATE = FILES / "trainer_state.json"


def document(text: str | bytes) -> Recorded:
    return read_json(io.BytesIO(text.encode() if isinstance(text, str) else text))


def series(recorded: Recorded, key: str) -> Series:
    (found,) = [one for one in recorded if one.key == key]
    return found


def test_log_history_becomes_series() -> None:
    assert has_numbers(STATE, "metrics")
    recorded = read_numbers([STATE], "metrics")
    loss, evaluated = series(recorded, "loss"), series(recorded, "eval_loss")
    assert (list(loss.steps), list(loss.values)) == (
        [2, 4, 6],
        [1.2835489511489868, 1.1244242191314697, 0.6147875785827637],
    )
    assert (loss.role, loss.evaluation) == ("loss", False)
    assert (evaluated.role, evaluated.evaluation, list(evaluated.steps)) == ("eval-loss", True, [3, 6, 6])
    assert (recorded.planned_steps, recorded.planned_epochs) == (6, 2)
    assert recorded.settings == {"train_batch_size": 4, "logging_steps": 2, "save_steps": 3, "eval_steps": 3}
    assert recorded.problems == []


def test_every_point_stands_in_its_line() -> None:
    lines = STATE.read_text(encoding="utf-8").split("\n")
    recorded = read_numbers([STATE], "metrics")
    for one in recorded:
        for line, value in zip(one.lines, one.values, strict=True):
            assert json.loads("{" + lines[line - 1].strip().rstrip(",") + "}") == {one.key: value}


def test_a_loss_that_is_not_finite_has_its_line() -> None:
    text = STATE.read_text(encoding="utf-8").replace("1.1244242191314697", "NaN")
    loss = series(document(text), "loss")
    assert math.isnan(loss.values[1])
    assert text.split("\n")[loss.lines[1] - 1].strip() == '"loss": NaN,'


@pytest.mark.parametrize("share", [0.3, 0.5, 0.7, 0.99])
def test_a_torn_file_is_read_up_to_the_tear(share: float) -> None:
    raw = STATE.read_bytes()
    whole, torn = document(raw), document(raw[: int(len(raw) * share)])
    loss, known = series(torn, "loss"), series(whole, "loss")
    assert 1 <= len(loss) <= len(known)
    assert list(loss.values) == list(known.values)[: len(loss)]
    assert list(loss.lines) == list(known.lines)[: len(loss)]
    assert "damaged or cut off" in torn.problems[0]


def test_without_layout_there_are_no_lines() -> None:
    loss = series(document(json.dumps(json.loads(STATE.read_bytes()))), "loss")
    assert list(loss.steps) == [2, 4, 6]
    assert list(loss.lines) == [0, 0, 0]


def test_results_are_single_points() -> None:
    recorded = read_numbers([FILES / "all_results.json"], "metrics")
    assert {
        one.key: (list(one.steps), one.axis, one.evaluation, list(one.lines)) for one in recorded if "loss" in one.key
    } == {
        "eval_loss": ([1], "epoch", True, [3]),
        "train_loss": ([1], "epoch", False, [7]),
    }


def test_one_list_a_key() -> None:
    """`json.dump(model.fit(...).history)`: one value an epoch, counted from 0 like History.epoch."""
    recorded = document('{"loss": [0.69, NaN], "val_loss": [0.7, 0.66]}')
    assert [(one.key, one.axis, one.evaluation, list(one.steps)) for one in recorded] == [
        ("loss", "epoch", False, [0, 1]),
        ("val_loss", "epoch", True, [0, 1]),
    ]


def test_a_list_of_rows() -> None:
    recorded = document('[{"step": 1, "loss": 2.0},\n {"step": 2, "loss": 1.0}, 7]')
    assert list(series(recorded, "loss").steps) == [1, 2]
    assert recorded.problems == ["1 rows are no valid JSON"]


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b'{\n  "epoch": 1.0,', True),
        (b"[{", True),
        (b'{"loss": [0.69, 0.51', True),
        (b'{"loss": 0.5}', True),
        (b'{"step": 1, "loss": 0.5}\n{"step": 2', False),
        (b'{"env_info": "' + b"x" * 8000, False),
    ],
)
def test_what_is_one_document(head: bytes, expected: bool) -> None:
    assert is_document(head) is expected


@pytest.mark.parametrize("text", ["", "{", "nothing", "[" * 100_000, '{"a":' * 100_000, "7"])
def test_what_is_none_is_named(text: str) -> None:
    with pytest.raises(UnreadableArtifact):
        document(text)


def test_numbers_beyond_all_bounds() -> None:
    recorded = document(
        '{"log_history": [{"step": 1' + "0" * 400 + ', "loss": -1' + "0" * 400 + '}], "max_steps": 1e999}'
    )
    loss = series(recorded, "loss")
    assert (list(loss.steps), list(loss.values), recorded.planned_steps) == ([-1], [-math.inf], None)


@settings(max_examples=200, deadline=None)
@given(
    st.binary(max_size=200)
    | st.builds(
        lambda at, byte: STATE.read_bytes()[:at] + byte + STATE.read_bytes()[at + 1 :],
        st.integers(0, 2000),
        st.binary(max_size=2),
    )
)
def test_never_raises_anything_else(text: bytes) -> None:
    with suppress(UnreadableArtifact):
        document(text)
