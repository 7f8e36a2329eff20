"""read-run-metrics: which series, how they went, what is odd in them, and that nothing that matters is thinned away."""

from __future__ import annotations

import math
import random
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import Cli, write

from experiment_debugger.diagnose import examine
from experiment_debugger.errors import DebuggerError
from experiment_debugger.metrics import MetricsView, read_metrics
from experiment_debugger.metrics.course import anomalies, rounded
from experiment_debugger.metrics.pairs import partings
from experiment_debugger.metrics.selection import Curve, Wanted, every_curve, range_of, select
from experiment_debugger.metrics.thinning import thinned
from experiment_debugger.metrics.trends import Trend, trend
from experiment_debugger.metrics.units import unit_of
from experiment_debugger.project import find_project
from experiment_debugger.report.budget import compact, size
from experiment_debugger.report.metrics import fitted_metrics, metrics_markdown
from experiment_debugger.run import resolve

NUMBERS = st.floats(allow_nan=True, allow_infinity=True, width=32)
ARTIFACTS = Path(__file__).parent / "artifacts" / "projects"
VERB = "read-run-metrics"


def curve(values: Sequence[float], steps: Sequence[int] | None = None, **facts: Any) -> Curve:
    own: dict[str, Any] = {"run_id": "42", "path": "a.csv", "key": "loss", "role": "loss", "rank": None}
    own |= {"evaluation": False, "axis": "step"} | facts
    return Curve(**own, steps=array("q", steps or range(len(values))), values=array("d", values))


def noisy(level: Callable[[int], float], count: int = 400, sigma: float = 0.05) -> list[float]:
    source = random.Random(0)  # noqa: S311 (noise)
    return [level(at) + source.gauss(0, sigma) for at in range(count)]


@given(st.lists(NUMBERS, min_size=1, max_size=600), st.integers(1, 80))
def test_thinning_keeps_the_extremes_and_the_edges_of_every_gap(values: list[float], most: int) -> None:
    kept = thinned(values, most)
    assert kept == sorted(set(kept))
    assert {0, len(values) - 1} <= set(kept)
    finite = [value for value in values if math.isfinite(value)]
    if finite:
        shown = [values[at] for at in kept if math.isfinite(values[at])]
        assert (min(shown), max(shown)) == (min(finite), max(finite))
    bad = {at for at, value in enumerate(values) if not math.isfinite(value)}
    edges = {at for at in bad if at - 1 not in bad or at + 1 not in bad}
    if len(edges) < most // 2:
        assert edges <= set(kept)
    assert not bad or bad & set(kept)


def test_thinning_keeps_its_number() -> None:
    values = [math.sin(at / 50) for at in range(100_000)]
    values[64_123], values[99_000] = 40.0, math.nan
    for most in (20, 100, 2000):
        kept = thinned(values, most)
        assert len(kept) <= most
        assert {64_123, 99_000} <= set(kept)


@pytest.mark.parametrize(
    ("values", "name", "sign"),
    [
        (noisy(lambda at: 2 * math.exp(-at / 100) + 0.3), "falling", -1),
        (noisy(lambda at: 1.5 - math.exp(-at / 100)), "rising", 1),
        (noisy(lambda _: 2.0, sigma=0.001), "flat", 0),
        (noisy(lambda _: 1.0, sigma=0.6), "noisy", 0),
        ([min(1.0, at / 40) * (1 + math.cos(math.pi * at / 400)) for at in range(400)], "rises then falls", 0),
        (noisy(lambda at: 1 + (3 - at / 20 if at < 60 else at / 200)), "falls then rises", -1),
        ([1 + math.cos(at / 20) for at in range(400)], "turning", 0),
        ([3.0, 2.0, 1.0], "falling", -1),
        ([0.0] * 20, "flat", 0),
        ([1.5, *[0.02] * 200, 0.45], "flat between its ends", 0),
    ],
)
def test_a_course_has_few_words(values: list[float], name: str, sign: int) -> None:
    found = trend(curve(values))
    assert found is not None
    assert found.name == name
    assert (found.change or 0) * sign >= 0
    assert sign == 0 or found.change


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([8388608 / 2 ** min(at, 6) * (1 if at < 300 else 4) for at in range(600)], Trend("falling", -0.94)),
        ([0.02, *[1.0] * 300], Trend("rising", factor=50.0)),
        ([*[1.0] * 300, 1e6, 1e12, math.inf], Trend("rising", factor=1e12)),
        ([10 ** (-7 + at / 50) for at in range(400)], Trend("rising", factor=3.1e7)),
        ([5e-30, 2.0, 1e300, 4.0, math.nan], Trend("rises then falls")),
        ([13789.0, *[14.0 - at / 10 for at in range(130)]], Trend("falling", factor=8e-05)),
        ([-285.0, -12.0, -3.0, 0.9], Trend("rising", 1.0)),
        ([1e308, 0.0, -1e308], Trend("falling", -2.0)),
    ],
)
def test_a_large_change_is_a_factor(values: list[float], expected: Trend) -> None:
    assert trend(curve(values)) == expected


@given(st.lists(NUMBERS, min_size=3, max_size=200))
def test_a_trend_never_contradicts_the_first_and_the_last_value(values: list[float]) -> None:
    found, finite = trend(curve(values)), [value for value in values if math.isfinite(value)]
    if found is not None and finite[0] < finite[-1]:
        assert found.name != "falling"
        assert found.change is None or found.change > 0
        assert found.factor is None or finite[0] < 0 or found.factor > 1
    if found is not None and finite[0] > finite[-1]:
        assert found.name != "rising"
        assert found.change is None or found.change < 0


def test_two_points_have_no_course() -> None:
    assert trend(curve([1.0, 2.0])) is None
    assert trend(curve([math.nan] * 50)) is None


def kinds(one: Curve) -> dict[str, dict[str, Any]]:
    return {fact["kind"]: fact for fact in anomalies(one)}


def test_a_spike_comes_back_and_a_jump_does_not() -> None:
    values = noisy(lambda at: 2 * math.exp(-at / 100) + 0.3)
    assert kinds(curve(values)) == {}
    values[250] = 41.0
    assert kinds(curve(values))["spike"] == {
        "kind": "spike", "step": 250, "value": 41, "before": rounded(values[249]), "count": 1,
    }  # fmt: skip
    assert kinds(curve([-value for value in values], role="metric"))["drop"]["step"] == 250
    risen = [value + (5.0 if at >= 300 else 0.0) for at, value in enumerate(noisy(lambda _: 1.0))]
    assert kinds(curve(risen))["jump"]["step"] == 300
    assert kinds(curve(risen, role="learning-rate")) == {}, "a schedule may jump"


def test_periodic_spikes_are_all_counted() -> None:
    values = noisy(lambda _: 0.02, count=250, sigma=0.0005)
    for at, height in ((0, 1.5), (49, 0.45), (99, 0.77), (149, 0.45), (199, 0.76), (249, 0.46)):
        values[at] = height
    assert kinds(curve(values, role="step-time"))["spike"] == {
        "kind": "spike", "step": 99, "value": 0.77, "before": rounded(values[98]), "count": 5, "every": 50,
    }  # fmt: skip
    values[149] = values[148]
    spike = kinds(curve(values, role="step-time"))["spike"]
    assert (spike["count"], "every" in spike) == (4, False)


def test_gaps_restarts_overflows_and_nan_are_told_with_their_number() -> None:
    steps = [*range(50), *range(200, 250), *range(100, 150)]
    values = [1.0] * 148 + [math.nan, math.inf]
    found = kinds(curve(values, steps))
    assert found["nonfinite"] == {"kind": "nonfinite", "step": 148, "value": "nan", "count": 2}
    assert found["steps-back"] == {"kind": "steps-back", "step": 249, "to": 100, "count": 1}
    assert found["gap"] == {"kind": "gap", "step": 49, "to": 200}
    scale = kinds(curve([65536.0, 32768.0, 32768.0, 16384.0, 8.0], [0, 1, 2, 3, 0], role="loss-scale"))
    assert scale["overflow"] == {"kind": "overflow", "step": 1, "value": 32768, "count": 2}, "a restart is none"


@pytest.mark.parametrize(
    ("value", "shown"), [(0.1 + 0.2, 0.3), (16777217.0, 16777217), (math.nan, "nan"), (-math.inf, "-inf"), (3e-9, 3e-9)]
)
def test_values_have_six_digits_and_whole_numbers_all(value: float, shown: object) -> None:
    assert rounded(value) == shown
    assert type(rounded(value)) is type(shown)


def test_two_runs_part_where_they_differ_beyond_noise() -> None:
    values = noisy(lambda at: 2 * math.exp(-at / 100) + 0.3)
    later = [value + (1.0 if at >= 200 else 0.0) for at, value in enumerate(values)]
    (fact,) = partings([curve(values)], [curve(later, run_id="43")])
    assert (fact["step"], fact["equal_up_to"]) == (200, 199)
    other = [value + 0.01 * (-1) ** at for at, value in enumerate(values)]
    assert partings([curve(values)], [curve(other, run_id="43")]) == [], "noise from the first step on"
    assert partings([curve(values)], [curve(values, run_id="43")]) == []


CURVES = [
    curve([1.0, 2.0], key="train/loss"),
    curve([1.0, 2.0], key="val/loss", role="eval-loss", rank=3),
    curve([1.0, 2.0], key="Acc,1", role="metric", axis="epoch"),
    curve([1.0, 2.0], [600, 700], key="odd[0]", role=None),
]


@pytest.mark.parametrize(
    ("wanted", "keys"),
    [
        (Wanted(), ["train/loss", "val/loss", "Acc,1", "odd[0]"]),
        (Wanted(keys="*/LOSS"), ["train/loss", "val/loss"]),
        (Wanted(keys="odd[0], TRAIN/loss"), ["train/loss", "odd[0]"]),
        (Wanted(keys="Acc,1"), ["Acc,1"]),
        (Wanted(roles="eval_loss,other"), ["val/loss", "odd[0]"]),
        (Wanted(rank=3), ["val/loss"]),
        (Wanted(steps="500:"), ["odd[0]"]),
        (Wanted(steps=":600"), ["train/loss", "val/loss", "Acc,1", "odd[0]"]),
    ],
)
def test_series_are_chosen_by_key_role_rank_and_step(wanted: Wanted, keys: list[str]) -> None:
    assert [one.key for one in select(CURVES, wanted, "42")] == keys


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        (Wanted(keys="train/los"), "near: train/loss"),
        (Wanted(keys="zzzzzz"), "it has Acc,1, odd"),
        (Wanted(keys=" , "), "Expected a key"),
        (Wanted(roles="sadness"), "loss, eval-loss, metric, grad-norm"),
        (Wanted(roles="grad-norm"), "found only loss, eval-loss, metric, other"),
        (Wanted(rank=9), "ranks 3"),
        (Wanted(steps="9000:"), "steps 0:700, epochs 0:1"),
        (Wanted(steps="7"), "A:B"),
        (Wanted(steps="9:1"), "A <= B"),
        (Wanted(keys="*a" * 60 + "q"), "Expected a metric"),
    ],
)
def test_what_fits_nothing_is_one_clear_line(wanted: Wanted, says: str) -> None:
    with pytest.raises(DebuggerError) as problem:
        select(CURVES, wanted, "42")
    assert says in str(problem.value)
    assert "\n" not in str(problem.value)


def test_no_series_at_all_is_no_empty_answer(tmp_path: Path) -> None:
    write(tmp_path / "logs" / "run-42.log", "hello\n")
    with pytest.raises(DebuggerError, match=r"found none in its files; read-run-logs"):
        every_curve(examine(resolve(find_project(tmp_path, tmp_path, {}), "42")).evidence)
    (tmp_path / "logs" / "run-42").mkdir()
    (tmp_path / "logs" / "run-42" / "events.out.tfevents.1.host.1.0").write_bytes(b"no records in here" * 9)
    with pytest.raises(DebuggerError, match=r"found none in its files; unreadable: .*logs/run-42.*; read-run-logs"):
        every_curve(examine(resolve(find_project(tmp_path, tmp_path, {}), "42")).evidence)
    assert range_of(" 600 : ") == (600, None)


@pytest.mark.parametrize(
    ("key", "unit"),
    [
        ("system.proc.memory.rssMB", "MB"), ("system.disk./.usageGB", "GB"), ("mem_gb", "GB"),
        ("system.memory_percent", "%"), ("gpu.0.memoryAllocatedBytes", "bytes"), ("iter_ms", "ms"),
        ("eval/samples_per_second", "samples/s"), ("tok/s", "toks/s"), ("train_tokens_per_sec", "tokens/s"),
        ("loss", ""), ("step_time", ""), ("acc", ""), ("losses", ""),
    ],
)  # fmt: skip
def test_a_name_may_tell_its_unit(key: str, unit: str) -> None:
    assert unit_of(key) == unit


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with 42 series; the last of them, without a role, turns NaN."""
    names = [f"layer{at}/" + "x" * 60 for at in range(40)]
    rows = [",".join(["step", "loss", *names, "zz"])]
    for step in range(400):
        row = [step, 3 / (step + 1), *(step + at for at in range(40)), "nan" if step > 300 else 1]
        rows.append(",".join(map(str, row)))
    root = tmp_path_factory.mktemp("many")
    write(root / "runs" / "run-42" / "metrics.csv", "\n".join(rows) + "\n")
    return root


@pytest.fixture(scope="module")
def view(many: Path) -> MetricsView:
    return read_metrics(examine(resolve(find_project(many, many, {}), "42")), Wanted(keys="*"))


def test_what_nobody_asked_for_is_counted_and_named(cli: Cli, many: Path) -> None:
    answer = cli(VERB, "42", "--json", "--project", str(many)).data
    assert [one["key"] for one in answer["series"]] == ["loss", "zz"]
    assert (answer["omitted"]["series"], answer["omitted"]["roles"]) == (40, {"other": 40})
    assert "layer3/" + "x" * 60 in answer["omitted"]["keys"]
    assert "--keys or --roles" in answer["omitted"]["how"]
    assert len(cli(VERB, "42", "--json", "--project", str(many), "--roles", "other").data["series"]) > 2


def shown(root: Path, head: str, rows: Sequence[str]) -> list[str]:
    write(root / "runs" / "run-42" / "metrics.csv", "\n".join([head, *rows]) + "\n")
    one = read_metrics(examine(resolve(find_project(root, root, {}), "42")), Wanted())
    return [told.curve.key for told in one.shown]


def test_single_points_and_readings_of_the_machine_come_last(tmp_path: Path) -> None:
    rows = [f"{s},{2 - s / 50},{70 + s % 3},{s},{'' if s else 0.5},{'' if s else 0.7}" for s in range(20)]
    head = "step,loss,system.gpu.0.memoryAllocatedBytes,epoch,val_loss,test_loss"
    assert shown(tmp_path / "a", head, rows) == ["loss", "val_loss", "test_loss"], "they are all there is of their role"
    more = [f"{row},{1 + s % 3}" for s, row in enumerate(rows)]
    assert shown(tmp_path / "b", f"{head},eval_loss", more) == ["loss", "eval_loss"]
    assert shown(tmp_path / "c", "step,foo,bar", [f"{s},{s % 7},{s % 5}" for s in range(20)]) == ["foo", "bar"]
    assert shown(tmp_path / "d", "step,system.cpu", [f"{s},{s % 7}" for s in range(20)]) == ["system.cpu"]


@pytest.mark.parametrize("max_tokens", [200, 400, 1500, 6000, 50_000])
@pytest.mark.parametrize("points", [0, 50, 2000])
def test_every_answer_fits_and_counts_what_it_leaves_out(view: MetricsView, max_tokens: int, points: int) -> None:
    answer = fitted_metrics(view, points, max_tokens)
    assert max(size(compact(answer)), size(metrics_markdown(answer))) < max_tokens * 4
    left_out = answer.get("omitted", {})
    assert len(answer["series"]) + left_out.get("series", 0) == 42
    if left_out:
        assert "read-run-metrics 42 with" in left_out["how"]
    if any("points" in one for one in answer["series"]):
        shown = sum(len(one["points"]) for one in answer["series"])
        assert shown + left_out.get("points", 0) == sum(one["n"] for one in answer["series"])
    assert max_tokens < 50_000 or len(answer["series"]) == 42


def test_points_of_a_series_are_as_many_as_were_asked_for(cli: Cli, many: Path) -> None:
    options = ["--keys", "zz", "--points", "40", "--json", "--project", str(many), "--steps", "100:350"]
    (one,) = cli(VERB, "42", *options).data["series"]
    assert (one["n"], one["first"], one["last"]) == (251, [100, 1], [350, "nan"])
    assert 10 < len(one["points"]) <= 40
    assert [301, "nan"] in one["points"]
    assert one["anomalies"][-1] == {"kind": "nonfinite", "step": 301, "value": "nan", "count": 50}


def test_the_finding_of_the_diagnosis_stands_at_its_series(cli: Cli) -> None:
    project = ARTIFACTS / "nan-plain-loop"
    found = cli("gather-run-context", "--json", "--project", str(project)).data["runs"][0]["id"]
    answer = cli(VERB, found, "--json", "--project", str(project)).data
    loss = next(one for one in answer["series"] if one["role"] == "loss")
    rules = {fact["rule"]: fact for fact in loss["anomalies"] if fact["kind"] == "finding"}
    assert rules["loss-nan-onset"]["value"] == "nan"
    assert rules["loss-nan-onset"]["step"] == next(
        fact["step"] for fact in loss["anomalies"] if fact["kind"] == "nonfinite"
    )
    assert [one["role"] for one in answer["series"]][:2] == ["loss", "grad-norm"]


def test_two_runs_stand_on_one_list(cli: Cli, tmp_path: Path) -> None:
    for name, extra in (("42", 0.0), ("43", 1.0)):
        lines = [f"step {s} loss {3 / (s + 1) + (extra if s >= 50 else 0):.4f}\n" for s in range(100)]
        write(tmp_path / "logs" / f"run-{name}.log", "".join(lines))
    answer = cli(VERB, "42", "--with", "43", "--json", "--project", str(tmp_path)).data
    assert [(one["run"], one["key"]) for one in answer["series"]] == [("42", "loss"), ("43", "loss")]
    assert answer["parted"][0]["step"] == 50
    text = cli(VERB, "42", "--with", "43", "--project", str(tmp_path)).out
    assert "the runs part at 50" in text


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--keys", "lss"], "near: loss"),
        (["--roles", "sad"], "found 'sad'"),
        (["--steps", "x"], "--steps A:B"),
        (["--points", "2001"], "at most 2000"),
        (["--with", "99"], "99"),
        (["--plot", "a.pdf"], "FILE.png"),
        (["--plot", "no/such/folder/a.png"], "create it"),
    ],
)
def test_a_wrong_option_is_one_line_and_status_2(cli: Cli, project: Path, options: list[str], says: str) -> None:
    done = cli(VERB, "42", *options, cwd=project)
    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1
    assert says in done.err


def test_names_of_metrics_are_data(cli: Cli, tmp_path: Path) -> None:
    rows = ["step,sk-ant-abcdefghijklmnopqrst0123/loss,\u202eevil\x1b[31m loss"] + [f"{s},1.0,2.0" for s in range(20)]
    write(tmp_path / "runs" / "run-42" / "metrics.csv", "\n".join(rows) + "\n")
    out = cli(VERB, "42", "--project", str(tmp_path)).out + cli(VERB, "42", "--json", "--project", str(tmp_path)).out
    assert "[REDACTED:anthropic-key]/loss" in out
    assert not {"\u202e", "\x1b", "sk-ant-abcdefghijklmnopqrst0123"} & set(out)
    assert "sk-ant" not in out
