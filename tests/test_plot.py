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
from experiment_debugger.report.panels import shortened
from experiment_debugger.report.plot import LARGEST, draw
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
    assert drawn.panels[0].marks[0].text == "nan at step 640"
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
    assert [mark.text for mark in panel.marks if mark.kind == "resume"] == ["resumed at 60 (from 99)"]
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


def test_a_long_name_loses_its_middle() -> None:
    assert shortened("abcdefghij", 7) == "abc\u2026hij"
    assert shortened("abc", 7) == "abc"
