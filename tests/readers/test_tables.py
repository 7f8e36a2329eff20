"""Tables: CSV, TSV, JSON lines and JSON documents of metrics."""

from __future__ import annotations

import io
import json
import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiment_debugger.errors import UnreadableArtifact
from experiment_debugger.readers.numbers import has_numbers, read_numbers
from experiment_debugger.readers.series import Recorded
from experiment_debugger.readers.tables import MOST_COLUMNS, read_table

FILES = Path(__file__).parent / "files"


def table(text: str | bytes) -> Recorded:
    return read_table(io.BytesIO(text.encode() if isinstance(text, str) else text))


def points(recorded: Recorded, key: str, *, evaluation: bool | None = None) -> list[tuple[int, float]]:
    found = [one for one in recorded if one.key == key and evaluation in {None, one.evaluation}]
    assert len(found) == 1, key
    return list(zip(found[0].steps, found[0].values, strict=True))


def keys(recorded: Recorded) -> list[str]:
    return [series.key for series in recorded]


def read(name: str) -> Recorded:
    assert has_numbers(FILES / name, "metrics")
    return read_numbers([FILES / name], "metrics")


class TestCells:
    def test_sparse_columns_of_lightning(self) -> None:
        recorded = read("lightning_metrics.csv")
        assert points(recorded, "train/loss") == [
            (3, 1.0263800621032715), (7, 1.4734044075012207), (11, 0.924816370010376), (15, 1.318406581878662),
        ]  # fmt: skip
        assert [step for step, _ in points(recorded, "val/loss")] == [7, 15]
        assert [(one.evaluation, one.axis, list(one.lines)) for one in recorded] == [
            (False, "step", [2, 3, 5, 6]), (True, "step", [4, 7]),
        ]  # fmt: skip

    @pytest.mark.parametrize(
        "name",
        ["step", "global_step", "iter", "iteration", "_step", "num_updates", "trainer/global_step", "Step",
         "training_iteration", "timesteps_total", "time/total_timesteps"],
    )  # fmt: skip
    def test_names_of_the_step(self, name: str) -> None:
        recorded = table(f"loss,{name}\n0.5,10\n0.4,20\n")
        assert points(recorded, "loss") == [(10, 0.5), (20, 0.4)]
        assert keys(recorded) == ["loss"]

    def test_epochs_count_where_no_step_does(self) -> None:
        """Keras' CSVLogger counts epochs from 0 and writes NA for what an epoch has not logged (its source)."""
        recorded = table("epoch,loss,val_loss\n0,0.69,NA\n1,0.52,0.71\n")
        assert [one.axis for one in recorded] == ["epoch", "epoch"]
        assert points(recorded, "val_loss") == [(1, 0.71)]

    def test_rows_count_where_nothing_does(self) -> None:
        recorded = table("loss\n0.5\n\n0.4\n")
        assert [(one.axis, list(one.steps), list(one.lines)) for one in recorded] == [("record", [1, 2], [2, 4])]

    def test_padded_headers_of_ultralytics(self) -> None:
        """Older versions wrote `'%23s' % name`; `time` is seconds since the start, no stamp (engine/trainer.py)."""
        recorded = table(
            "                  epoch,         train/box_loss\n                      1,                 1.0423\n"
        )
        assert points(recorded, "train/box_loss") == [(1, 1.0423)]

    def test_time_since_the_start_is_no_step_time(self) -> None:
        recorded = table("epoch,time,train/box_loss\n1,20.1,2\n2,40.3,1\n3,60.2,1\n")
        assert [one.role for one in recorded if one.key == "time"] == [None]

    @pytest.mark.parametrize(
        ("cells", "times"),
        [
            (("1700000000.5", "1700000001"), [1700000000.5, 1700000001.0]),
            (("1700000000500", "1700000001000"), [1700000000.5, 1700000001.0]),
            (("2024-05-08 07:00:41.5", "2024-05-08T07:00:42"), [1715151641.5, 1715151642.0]),
        ],
    )
    def test_stamps_are_times(self, cells: tuple[str, str], times: list[float]) -> None:
        recorded = table(f"timestamp,step,loss\n{cells[0]},1,0.5\n{cells[1]},2,0.4\n")
        assert keys(recorded) == ["loss"]
        assert [list(one.times) for one in recorded] == [times]

    def test_a_duration_is_a_series(self) -> None:
        assert points(table("step,time,loss\n1,0.25,2\n2,0.5,1\n"), "time") == [(1, 0.25), (2, 0.5)]

    def test_not_a_number_in_all_spellings(self) -> None:
        cells = ["nan", "NaN", '"NaN"', "inf", "-inf", "Infinity", "", "None", "tensor(0.5, device='cuda:0')"]
        text = "step;loss\n" + "".join(f"{step};{cell}\n" for step, cell in enumerate(cells))
        found = points(table(text), "loss")
        assert [step for step, _ in found] == [0, 1, 2, 3, 4, 5, 8]
        assert all(math.isnan(value) for _, value in found[:3])
        assert [value for _, value in found[3:]] == [math.inf, -math.inf, math.inf, 0.5]

    def test_decimal_commas(self) -> None:
        assert points(table("step;loss\n1;0,5\n2;1,25e-3\n"), "loss") == [(1, 0.5), (2, 0.00125)]

    @pytest.mark.parametrize("text", ["step\tloss\n1\t0.5\n", '"step","loss"\n"1","0.5"\n', "# step loss\n  1   0.5\n"])
    def test_delimiters_and_quotes(self, text: str) -> None:
        assert points(table(text), "loss") == [(1, 0.5)]

    def test_bom_crlf_and_holes(self) -> None:
        recorded = table(b"\xef\xbb\xbfstep,loss\r\n1,0.5\r\n\0\0\0\0\0\0\0\0\n2,0.4\r\n")
        assert points(recorded, "loss") == [(1, 0.5), (2, 0.4)]
        assert [list(one.lines) for one in recorded] == [[2, 4]]
        assert recorded.problems == []

    def test_the_header_again_after_a_restart(self) -> None:
        recorded = table("step,loss\n1,0.5\nstep,loss\n2,0.4\n")
        assert points(recorded, "loss") == [(1, 0.5), (2, 0.4)]
        assert recorded.problems == []

    def test_another_header_in_the_middle(self) -> None:
        recorded = table("step,loss\n1,0.5\nstep,lr,loss\n2,0.1,0.4\n")
        assert points(recorded, "loss") == [(1, 0.5), (2, 0.4)]
        assert points(recorded, "lr") == [(2, 0.1)]
        assert recorded.problems == ["the header changes at line 3"]

    def test_a_word_in_the_first_column_is_no_header(self) -> None:
        recorded = table("phase,step,loss\ntrain,1,0.5\nval,1,0.6\n")
        assert points(recorded, "loss") == [(1, 0.5), (1, 0.6)]

    def test_rows_of_another_width(self) -> None:
        recorded = table("step,loss,lr\n1,0.5,0.1,\n2,0.4,0.1,7\n3,0.3,0.\n4,0.25,0.0")
        assert points(recorded, "loss") == [(1, 0.5), (3, 0.3), (4, 0.25)]
        assert recorded.problems == ["1 rows do not fit their header"]

    def test_a_torn_row_gives_all_but_its_last_cell(self) -> None:
        recorded = table("step,loss,acc,lr\n1,0.5,0.9,0.1\n2,0.4,0.")
        assert points(recorded, "loss") == [(1, 0.5), (2, 0.4)]
        assert points(recorded, "acc") == [(1, 0.9)]

    def test_no_header(self) -> None:
        recorded = table("1,0.5\n2,0.4\n")
        assert recorded.problems == ["no header, columns are named by their place"]
        assert points(recorded, "column 2") == [(1, 0.5), (2, 0.4)]

    def test_the_line_of_the_first_bad_value(self) -> None:
        rows = "".join(f"{step},{'nan' if step > 30_000 else 0.5}\n" for step in range(40_000))
        (loss,) = table("step,loss\n" + rows)
        first = loss.nonfinite_from()
        assert first == 30_001
        assert loss.lines[first] == 30_003

    def test_values_of_many_blocks_stay_in_order(self) -> None:
        (loss,) = table("step,loss\n" + "".join(f"{step},{step}.5\n" for step in range(200_000)))
        assert list(loss.steps) == list(range(200_000))
        assert list(loss.lines) == list(range(2, 200_002))
        assert list(loss.values) == [step + 0.5 for step in range(200_000)]


class TestJsonLines:
    def test_an_evaluation_of_mmengine_stands_at_the_step_of_its_epoch(self) -> None:
        """Made by mmengine 0.10.7: `step` of its evaluation rows counts epochs, that of the others iterations."""
        recorded = read("mmengine_scalars.json")
        assert [step for step, _ in points(recorded, "loss")] == [2, 4, 6, 8, 10, 12]
        assert [step for step, _ in points(recorded, "acc", evaluation=True)] == [4, 8, 12]
        assert [step for step, _ in points(recorded, "time", evaluation=True)] == [4, 8, 12]

    def test_iterations_within_the_epoch(self) -> None:
        """Rows of mmcv 1.x as in mmdetection issue 4927: `iter` starts again, that of `val` counts other batches."""
        rows = [
            {"env_info": "sys.platform: linux", "seed": 0},
            {"mode": "train", "epoch": 1, "iter": 50, "loss": 0.9},
            {"mode": "train", "epoch": 1, "iter": 100, "loss": 0.8},
            {"mode": "val", "epoch": 1, "iter": 890, "lr": 0.02, "bbox_mAP": 0.296},
            {"mode": "train", "epoch": 2, "iter": 50, "loss": 0.7},
            {"mode": "train", "epoch": 2, "iter": 100, "loss": 0.6},
        ]
        recorded = table("".join(json.dumps(row) + "\n" for row in rows))
        assert points(recorded, "loss") == [(50, 0.9), (100, 0.8), (150, 0.7), (200, 0.6)]
        assert points(recorded, "bbox_mAP", evaluation=True) == [(100, 0.296)]

    def test_iterations_that_go_on_stay(self) -> None:
        """IterBasedRunner of mmcv counts on (mmsegmentation issue 2899)."""
        rows = [
            {"mode": "train", "epoch": 1, "iter": 50, "loss": 1},
            {"mode": "train", "epoch": 2, "iter": 150, "loss": 1},
        ]
        recorded = table("".join(json.dumps(row) + "\n" for row in rows))
        assert points(recorded, "loss") == [(50, 1.0), (150, 1.0)]

    def test_numbers_of_fairseq_are_strings(self) -> None:
        """Lines of `--log-format json` as in public logs of fairseq."""
        recorded = table(
            '2020-04-22 07:42:21 | INFO | train | {"epoch": 2, "train_loss": "1.603", "train_num_updates": "104"}\n'
            '2020-04-22 07:42:23 | INFO | valid | {"epoch": 2, "valid_loss": "1.7", "valid_num_updates": "104"}\n'
        )
        assert points(recorded, "train_loss") == [(104, 1.603)]
        assert points(recorded, "valid_loss", evaluation=True) == [(104, 1.7)]

    def test_nested_objects(self) -> None:
        assert points(table('{"step": 1, "val": {"acc": {"top1": 0.5}}}\n'), "val.acc.top1") == [(1, 0.5)]
        ray = '{"training_iteration": 3, "info": {"learner": {"loss": 0.5}}}\n'
        assert points(table(ray), "info/learner/loss") == [(3, 0.5)]

    def test_not_a_number_as_token_and_as_text(self) -> None:
        recorded = table('{"step": 1, "loss": NaN}\n{"step": 2, "loss": "NaN"}\n{"step": 3, "loss": -Infinity}\n')
        values = [value for _, value in points(recorded, "loss")]
        assert [math.isnan(values[0]), math.isnan(values[1]), values[2]] == [True, True, -math.inf]

    def test_ranks(self) -> None:
        recorded = table('{"step": 1, "rank": 0, "loss": 2.0}\n{"step": 1, "rank": 1, "loss": 2.5}\n')
        assert [(one.rank, list(one.values)) for one in recorded] == [(0, [2.0]), (1, [2.5])]

    @pytest.mark.parametrize("stride", [1, 3, 50])
    def test_rows_of_several_kinds_stay_in_order(self, stride: int) -> None:
        """Rows of one kind are added together; the order of a key that several kinds have must not suffer."""
        rows = [{"step": at, "loss": at + 0.5} | ({"lr": 0.1} if at // stride % 2 else {}) for at in range(500)]
        recorded = table("".join(json.dumps(row) + "\n" for row in rows))
        assert points(recorded, "loss") == [(at, at + 0.5) for at in range(500)]
        assert [list(one.lines) for one in recorded if one.key == "loss"] == [list(range(1, 501))]

    def test_damaged_rows_are_counted(self) -> None:
        recorded = table('{"step": 1, "loss": 2.0}\n{"step": 2, "lo\n{"step": 3, "loss": 1.0}\n{"step": 4')
        assert points(recorded, "loss") == [(1, 2.0), (3, 1.0)]
        assert recorded.problems == ["2 rows are no valid JSON"]


class TestHostile:
    def test_a_line_without_end(self) -> None:
        recorded = table(b"step,loss\n1,0.5\n" + b"9" * (100 << 20) + b"\n2,0.4\n")
        assert points(recorded, "loss") == [(1, 0.5), (2, 0.4)]
        assert recorded.problems == ["1 lines longer than 1 MB passed over"]
        assert [list(one.lines) for one in recorded] == [[2, 4]]

    def test_a_hundred_thousand_columns(self) -> None:
        names = ",".join(f"k{place}" for place in range(100_000))
        recorded = table(f"{names}\n{','.join('1' * 100_000)}\n")
        assert len(recorded.series) == MOST_COLUMNS
        assert recorded.problems == [f"only the first {MOST_COLUMNS} of 100000 columns are read"]

    @pytest.mark.parametrize(
        "text",
        ["", "\n\n", "step,loss", '"', "\0" * 100, "[" * 100_000, '{"a":' * 100_000, '{"loss": ' + "1" * 5000 + "}"],
    )
    def test_nothing_to_read(self, text: str) -> None:
        assert keys(table(text)) == []

    def test_numbers_beyond_all_bounds(self) -> None:
        recorded = table('{"step": 1' + "0" * 400 + ', "loss": 1' + "0" * 400 + "}\n")
        assert points(recorded, "loss") == [(-1, math.inf)]
        assert points(table("step,loss\n" + "9" * 400 + ",1e999\n"), "loss") == [(-1, math.inf)]

    @settings(max_examples=300, deadline=None)
    @given(
        st.one_of(
            st.binary(max_size=300), st.text('step,los;\t\n"{}[]:.0123eE-naif#\\ \r', max_size=200).map(str.encode)
        )
    )
    def test_never_raises(self, text: bytes) -> None:
        table(text)

    @settings(max_examples=200, deadline=None)
    @given(
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
            lambda inner: (
                st.lists(inner, max_size=4)
                | st.dictionaries(st.sampled_from(["step", "epoch", "mode", "loss", "rank", "time", "iter"]), inner)
            ),
            max_leaves=20,
        )
    )
    def test_any_json(self, value: object) -> None:
        recorded = table(f"{json.dumps(value)}\n" * 3)
        for series in recorded:
            assert len(series.steps) == len(series.values) == len(series.times) == len(series.lines)

    def test_a_torn_archive_gives_its_beginning(self, tmp_path: Path) -> None:
        import gzip
        import random

        rows = "".join(f"{step},{random.Random(step).random()}\n" for step in range(20_000))  # noqa: S311 - not a secret
        packed = gzip.compress(("step,loss\n" + rows).encode())
        path = tmp_path / "metrics.csv.gz"
        path.write_bytes(packed[: len(packed) // 2])
        recorded = read_numbers([path], "metrics")
        assert len(points(recorded, "loss")) > 1000
        assert any(problem.startswith("reading stopped") for problem in recorded.problems)

    def test_a_file_that_is_gone(self, tmp_path: Path) -> None:
        with pytest.raises(UnreadableArtifact):
            read_numbers([tmp_path / "metrics.csv"], "metrics")
