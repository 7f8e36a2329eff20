"""Pictures: what is marked, what the caption says, and that no name of a metric can break one."""

from __future__ import annotations

import io
import math
from pathlib import Path

import pytest
from PIL import Image
from samples import Cli, write

from experiment_debugger.diagnose import examine
from experiment_debugger.metrics import Chart, Wanted, chart_of, read_metrics
from experiment_debugger.project import find_project
from experiment_debugger.report.captions import shortened, told_apart
from experiment_debugger.report.panels import note_rows
from experiment_debugger.report.plot import LARGEST, _figure, _places, draw
from experiment_debugger.run import resolve

VERB = "read-run-metrics"


def table(root: Path, head: str, rows: list[str], run: str = "42") -> Path:
    write(root / "runs" / f"run-{run}" / "metrics.csv", "\n".join([head, *rows]) + "\n")
    return root


def chart(root: Path, wanted: Wanted | None = None, other: str | None = None) -> Chart:
    project = find_project(root, root, {})
    second = examine(resolve(project, other)) if other else None
    view = read_metrics(examine(resolve(project, "42")), wanted or Wanted(), second)
    return chart_of(view, chosen=wanted is not None)


def opened(png: bytes) -> Image.Image:
    assert len(png) <= LARGEST
    image = Image.open(io.BytesIO(png))
    assert image.format == "PNG"
    return image


def test_a_nan_is_marked_and_named_below(tmp_path: Path) -> None:
    rows = [f"{s},{'nan' if s >= 640 else 2 / (s + 1)},{1 + s % 3}" for s in range(700)]
    drawn = chart(table(tmp_path, "step,train/loss,grad_norm", rows))
    assert drawn.title == "run 42"
    assert "loss-nan-onset, step 640" in drawn.caption
    assert [panel.name for panel in drawn.panels] == ["loss", "gradient norm"]
    assert drawn.panels[0].scale == "log"
    assert drawn.panels[0].marks[0].text == "nan from step 640 on"
    image = opened(draw(drawn))
    assert image.width == 800
    assert image.info["Description"] == drawn.caption


def test_a_spike_of_one_point_in_many_survives(tmp_path: Path) -> None:
    rows = [f"{s},{40 if s == 31_123 else 1 + s % 7 / 10}" for s in range(50_000)]
    (panel,) = chart(table(tmp_path, "step,loss", rows)).panels
    (line,) = panel.lines
    assert len(line.steps) < 1500
    assert line.values[line.steps.index(31_123)] == 40.0
    assert [mark.text for mark in panel.marks if mark.kind == "spike"] == ["spike to 40 at step 31,123"]


def test_epochs_and_steps_have_panels_of_their_own(tmp_path: Path) -> None:
    table(tmp_path, "epoch,val_acc", [f"{e},{e / 10}" for e in range(5)])
    write(tmp_path / "runs" / "run-42" / "train.log", "".join(f"step {s} loss {2 - s / 99:.3f}\n" for s in range(50)))
    drawn = chart(tmp_path)
    assert [(panel.name, panel.axis) for panel in drawn.panels] == [("loss", "step"), ("metric", "epoch")]
    opened(draw(drawn))


def test_a_resume_breaks_the_line_and_is_marked(tmp_path: Path) -> None:
    steps = [*range(100), *range(60, 150)]
    (panel,) = chart(table(tmp_path, "step,loss", [f"{s},{2 - s / 100}" for s in steps])).panels
    assert [mark.text for mark in panel.marks if mark.kind == "resume"] == ["back to 60 (from 99)"]
    hole = [at for at, step in enumerate(panel.lines[0].steps) if math.isnan(step)]
    assert hole == [100]


def test_the_same_numbers_in_two_files_are_one_line(tmp_path: Path) -> None:
    table(tmp_path, "step,loss", [f"{s},{2 - s / 99}" for s in range(50)])
    write(tmp_path / "runs" / "run-42" / "train.log", "".join(f"step {s} loss {2 - s / 99:.4f}\n" for s in range(50)))
    (panel,) = chart(tmp_path).panels
    assert [line.label for line in panel.lines] == ["loss"]


def test_two_runs_share_a_panel_and_the_caption_says_where_they_part(tmp_path: Path) -> None:
    for run, extra in (("42", 0.0), ("43", 1.0)):
        table(tmp_path, "step,loss", [f"{s},{2 - s / 200 + extra * (s >= 70)}" for s in range(100)], run)
    drawn = chart(tmp_path, other="43")
    assert [(line.label, line.other_run) for line in drawn.panels[0].lines] == [
        ("loss, run 42", False),
        ("loss, run 43", True),
    ]
    assert drawn.caption.startswith("The runs part at 70: loss")
    opened(draw(drawn))


HOSTILE = (
    "$\\frac{loss}{",
    "_loss",
    "\u635f\u5931/loss",
    "\u202eloss\u202c \x1b[31m",
    "x" * 3000 + "/loss",
    "\u05e9\u05dc\u05d5\u05dd loss",
    "a\\b{}^_$$ loss",
    "\U0001f600 loss",
)


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_of_a_metric_breaks_a_picture(tmp_path: Path, name: str) -> None:
    drawn = chart(table(tmp_path, f"step,{name}", [f"{s},{s / 9}" for s in range(30)]), Wanted(keys="*"))
    assert len(drawn.panels) == 1
    opened(draw(drawn))


@pytest.mark.parametrize(
    "values",
    [
        ["1"], ["nan"], ["inf", "nan", "-inf"], ["0", "0"], ["1e308", "-1e308", "1e308"], ["5e-324", "1e308"],
        ["1", "nan", "2", "nan", "3"], ["nan" if s % 2 else "1" for s in range(5000)], ["-5", "1e9", "0", "3"],
    ],
)  # fmt: skip
def test_no_value_breaks_a_picture(tmp_path: Path, values: list[str]) -> None:
    drawn = chart(table(tmp_path, "step,loss", [f"{s},{value}" for s, value in enumerate(values)]))
    opened(draw(drawn))


def test_a_crowded_picture_stays_small(tmp_path: Path) -> None:
    names = ["loss", "acc", "grad_norm", "lr"]
    head = ",".join(
        ["step", *(f"{name}{at}" if name == "acc" else f"{name}/{at}" for name in names for at in range(9))]
    )
    rows = [",".join(str(hash((s, at)) % 10_007) if at else str(s) for at in range(37)) for s in range(1500)]
    drawn = chart(table(tmp_path, head, rows))
    assert len(drawn.panels) == 4
    assert all(len(panel.lines) == 6 for panel in drawn.panels)
    assert sum(panel.left_out for panel in drawn.panels) == 12
    opened(draw(drawn))


def test_a_settings_file_of_the_project_does_not_reach_the_picture(cli: Cli, tmp_path: Path) -> None:
    table(tmp_path, "step,loss", [f"{s},{s / 9}" for s in range(30)])
    write(tmp_path / "matplotlibrc", "text.usetex: True\nfigure.facecolor: red\n")
    done = cli(VERB, "42", "--plot", "a.png", "--json", cwd=tmp_path)
    assert done.code == 0, done.err
    assert done.data["plot"]["path"] == "a.png"
    image = opened((tmp_path / "a.png").read_bytes()).convert("RGB")
    assert image.getpixel((0, 0)) == (255, 255, 255)


def test_a_picture_is_never_written_over_a_file(cli: Cli, tmp_path: Path) -> None:
    table(tmp_path, "step,loss", [f"{s},{s / 9}" for s in range(30)])
    write(tmp_path / "a.png", "precious")
    (tmp_path / "b.png").symlink_to("nowhere")
    for name in ("a.png", "b.png"):
        done = cli(VERB, "42", "--plot", name, cwd=tmp_path)
        assert (done.code, done.err.count("\n")) == (2, 1)
        assert "exists; name another one" in done.err
    assert (tmp_path / "a.png").read_text(encoding="utf-8") == "precious"


def test_below_marks_it_never_says_that_nothing_is_odd(tmp_path: Path) -> None:
    for run, odd in (("42", False), ("43", True)):
        rows = [f"{s},{30 if odd and s == 70 else 2 - s / 200 + s % 3 / 50}" for s in range(100)]
        table(tmp_path, "step,loss", rows, run)
    drawn = chart(tmp_path, other="43")
    assert [mark.text for mark in drawn.panels[0].marks] == ["spike to 30 at step 70"]
    assert "Run 43: loss jumps to 30 at step 70" in drawn.caption
    assert "No anomaly" not in drawn.caption
    quiet = chart(table(tmp_path / "q", "step,loss", [f"{s},{2 - s / 200 + s % 3 / 50}" for s in range(100)]))
    assert (quiet.panels[0].marks, quiet.caption) == ((), "No anomaly found.")


def test_caption_and_marks_come_from_the_densest_source(tmp_path: Path) -> None:
    values = {s: "nan" if s >= 58 else 2 + s / 50 for s in range(100)}
    table(tmp_path, "step,train/loss", [f"{s},{value}" for s, value in values.items()])
    log = "".join(f"step {s} loss {value}\n" for s, value in values.items() if s % 20 == 0)
    write(tmp_path / "runs" / "run-42" / "train.log", log)
    drawn = chart(tmp_path)
    assert "3.14 at step 57" in drawn.caption
    assert "(loss-nan-onset, step 58)" in drawn.caption
    assert [line.label for line in drawn.panels[0].lines] == ["train/loss"]
    assert [mark.step for mark in drawn.panels[0].marks] == [58]
    asked = chart(tmp_path, Wanted(roles="loss")).panels[0]
    assert sorted(line.label for line in asked.lines) == ["loss", "train/loss"]


def test_sources_that_disagree_are_both_drawn(tmp_path: Path) -> None:
    table(tmp_path, "step,train/loss", [f"{s},{2 - s / 99}" for s in range(50)])
    write(tmp_path / "runs" / "run-42" / "train.log", "".join(f"step {s} loss {3 - s / 99:.4f}\n" for s in range(50)))
    assert len(chart(tmp_path).panels[0].lines) == 2


def test_a_sliver_before_nan_is_enlarged(tmp_path: Path) -> None:
    rows = [f"{s},{'nan' if s >= 45 else 2 - s / 50},{s % 3 / 10}" for s in range(3000)]
    drawn = chart(table(tmp_path, "step,loss,val_acc", rows))
    zoom = drawn.zooms["step"]
    assert (zoom.low, zoom.high, zoom.last) == (0, 88, 2999)
    loss = drawn.panels[0].lines[0]
    assert loss.steps[:45] == tuple(range(45)), "all points of what is shown"
    assert max(loss.steps) <= 88
    opened(draw(drawn))
    late = chart(table(tmp_path / "l", "step,loss", [f"{s},{'nan' if s >= 1500 else 1}" for s in range(3000)]))
    assert late.zooms == {}
    spiked = [f"{s},{'nan' if s >= 45 else 2 - s / 50},{9 if s == 2000 else s % 3 / 10}" for s in range(3000)]
    assert chart(table(tmp_path / "s", "step,loss,val_loss", spiked)).zooms == {}, "a mark would be cut off"


def limits(drawn: Chart) -> tuple[float, float]:
    """The y axis of the first panel."""
    return _figure(drawn).axes[0].get_ylim()


def test_axes_cover_the_data_and_no_more(tmp_path: Path) -> None:
    rows = [f"{s},{10 ** (s / 2) if s < 58 else 'inf'}" for s in range(100)]
    low, high = limits(chart(table(tmp_path, "step,loss", rows)))
    assert low > 1e-3
    assert high < 1e31, "the data ends at 3e28"
    near = [f"{s},{0.97481 + s % 2 * 1e-6}" for s in range(20)]
    low, high = limits(chart(table(tmp_path / "n", "step,val_acc", near)))
    assert high - low >= 0.009
    opened(draw(chart(table(tmp_path / "n", "step,val_acc", near))))


def test_units_and_signs_have_panels_of_their_own(tmp_path: Path) -> None:
    head = "step,mem_gb,memory_percent,val_acc,reward,r2"
    rows = [f"{s},{30 + s},{50 + s % 3},{s / 99},{200 + s},{-300 / (s + 1)}" for s in range(60)]
    names = [panel.name for panel in chart(table(tmp_path, head, rows), Wanted(keys="*")).panels]
    assert {"memory (GB)", "memory (%)"} <= set(names) or names.count("metric") >= 2
    memory = chart(tmp_path, Wanted(roles="memory,host-memory"))
    assert sorted((panel.name, len(panel.lines)) for panel in memory.panels) == [("memory (%)", 1), ("memory (GB)", 1)]
    metrics = chart(tmp_path, Wanted(keys="val_acc,reward"))
    assert [len(panel.lines) for panel in metrics.panels] == [1, 1]


def test_records_of_two_sources_are_no_common_positions(tmp_path: Path) -> None:
    lines = [f"{{'loss': {2 - s / 99}}}\n" + ("" if s % 5 else f"{{'eval_loss': {2.2 - s / 99}}}\n") for s in range(30)]
    write(tmp_path / "logs" / "run-42.log", "".join(lines))
    panels = chart(tmp_path).panels
    assert [(panel.shared, len(panel.lines)) for panel in panels] == [("record 30", 1), ("record 6", 1)]
    ends = [axes.get_xlim()[1] for axes in _figure(chart(tmp_path)).axes]
    assert ends == pytest.approx([29, 5], rel=0.1)
    rows = [f"{2 - s / 99},{'' if s % 5 else 2.2 - s / 99}" for s in range(30)]
    (panel,) = chart(table(tmp_path / "rows", "loss,val_loss", rows)).panels
    assert len(panel.lines) == 2, "rows of one table"


def test_single_points_are_not_drawn_unasked(tmp_path: Path) -> None:
    head = "step,loss,val_acc"
    table(tmp_path, head, [f"{s},{2 - s / 99},{0.5 if s == 40 else ''}" for s in range(50)])
    assert [panel.name for panel in chart(tmp_path).panels] == ["loss"]
    assert [panel.name for panel in chart(tmp_path, Wanted(keys="*")).panels] == ["loss", "metric"]


def test_points_of_one_epoch_stand_within_it(tmp_path: Path) -> None:
    (panel,) = chart(table(tmp_path, "epoch,loss", [f"{s // 4},{2 - s / 99}" for s in range(20)])).panels
    assert panel.axis == "epoch"
    assert panel.lines[0].steps[:6] == (0.0, 0.25, 0.5, 0.75, 1.0, 1.25)


def test_a_learning_rate_that_sinks_is_logarithmic_and_its_zeros_stand_apart(tmp_path: Path) -> None:
    rows = [f"{s},{0.05 * 0.1 ** (s // 10) if s < 200 else 0}" for s in range(400)]
    sinking = chart(table(tmp_path, "step,lr", rows))
    assert sinking.panels[0].scale == "log"
    assert _figure(sinking).axes[0].get_ylabel() == "learning rate\n(log, 0 at the bottom)"
    opened(draw(sinking))
    cosine = [f"{s},{1 + math.cos(math.pi * s / 400)}" for s in range(401)]
    assert chart(table(tmp_path / "c", "step,lr", cosine)).panels[0].scale == "linear"


def test_lines_that_cover_each_other_have_both_names(tmp_path: Path) -> None:
    (panel,) = chart(
        table(tmp_path, "step,loss/total,loss/digit", [f"{s},{2 - s / 99},{2 - s / 99}" for s in range(50)])
    ).panels
    assert [line.label for line in panel.lines] == ["loss/total = loss/digit"]


def test_remarks_are_no_anomalies(tmp_path: Path) -> None:
    rows = [f"{s},{2 - s / 400},{1.5 if s == 0 else 0.02 + s % 3 / 1000}" for s in range(250)]
    drawn = chart(table(tmp_path, "step,loss,step_time", rows))
    assert [panel.marks for panel in drawn.panels] == [(), ()]
    assert drawn.caption == "No anomaly found."


def test_marks_at_one_place_are_one_and_have_numbers_where_there_are_several(tmp_path: Path) -> None:
    rows = [f"{s},{'nan' if s >= 90 else 30 if s == 70 else 2 - s / 200 + s % 3 / 50}" for s in range(100)]
    (place,) = _places(chart(table(tmp_path, "step,loss", rows)))
    assert [text for text, _ in note_rows(place.notes)] == [
        "1  nan from step 90 on    2  loss-growth-before-nan, spike to 30 at step 70"
    ]
    assert [text for text, _ in note_rows(place.notes[:1])] == ["nan from step 90 on"]


def test_names_lose_what_they_share_first() -> None:
    names = [f"train/some/very/long/prefix/fold{at}/events.out.tfevents.1796065967.host.7737" for at in range(3)]
    assert told_apart(names, 20) == ["\u20260\u2026", "\u20261\u2026", "\u20262\u2026"]
    assert told_apart(["loss", "x" * 30], 20) == ["loss", shortened("x" * 30, 20)]
    assert told_apart(["loss", "acc"], 20) == ["loss", "acc"]


def test_a_long_name_loses_its_middle() -> None:
    assert shortened("abcdefghij", 7) == "abc\u2026hij"
    assert shortened("abc", 7) == "abc"
