"""The metrics of a run, fitted into the budget: fewer points first, then fewer series; and as text for people.

# Metrics of run 42: 2 of 14 series
train/loss (loss, logs/run-42.log): 641 points, 0: 2.31 ... 640: nan; min 0.81 at 612, max 2.31 at 0; falling -65 %
    loss-nan-onset: nan at 640
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from experiment_debugger.metrics import MetricsView
from experiment_debugger.metrics.course import rank_of
from experiment_debugger.report.budget import Clip, Cut, Step, Tree, capacity, compact, shrink, size, speakable
from experiment_debugger.report.quoting import code, counted, fence, one_line, verbatim_line, word

PLAN: tuple[Step, ...] = (
    Cut("parted", 2),
    Cut("series.*.anomalies", 3, "anomalies"),
    Clip("series.*.path", 80),
    Clip("series.*.key", 80),
    Cut("series.*.anomalies", 1, "anomalies"),
    Cut("parted", 0),
    Clip("run", 40),
    Clip("with", 40),
    Clip("series.*.path", 40),
    Clip("series.*.key", 40),
    Cut("omitted.roles", 4),
    Cut("omitted.keys", 0),
    Cut("series", 0),
    Cut("omitted.roles", 0),
    Clip("omitted.how", 60),
)
"""What goes when even one series without points is too large."""
FEWEST_POINTS = 10
POINTS_A_LINE = 12


def fitted_metrics(view: MetricsView, points: int, max_tokens: int, picture: Tree | None = None) -> Tree:
    """As many series and points as fit, and what was left out; `picture` is the file that was written."""
    cap = capacity(max_tokens)

    def build(count: int, wanted: int) -> Tree:
        data = view.tree(count, wanted)
        data |= {"plot": picture} if picture is not None else {}
        return speakable(_with_way(data))  # type: ignore[no-any-return]

    def fits(data: Tree) -> bool:
        return _cost(data) <= cap

    fewer = list(_fewer(points))
    for wanted in fewer:
        if wanted and fits(data := build(len(view), wanted)):
            return data
    least = fewer[-1] if points and len(view) else 0
    count = _most(len(view), lambda count: fits(build(count, least)))
    if count == 0 and least:
        count, least = _most(len(view), lambda count: fits(build(count, 0))), 0
    data, left_out = shrink(build(max(count, 1), least), PLAN, lambda tree, _: _cost(tree), cap)
    if left_out:
        omitted = data.get("omitted", {})
        data["omitted"] = {
            **{key: omitted.get(key, 0) + n for key, n in left_out.items() if key not in {"roles", "keys"}},
            **omitted,
        }
    return data


def _fewer(points: int) -> list[int]:
    """Numbers of points to try, the largest first."""
    tries = []
    while points > FEWEST_POINTS:
        tries.append(points)
        points = points * 2 // 3
    return [*tries, points]


def _most(available: int, fits: Callable[[int], bool]) -> int:
    """The largest number that fits."""
    low, high = 0, available
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


def _cost(data: Tree) -> int:
    return max(size(compact(data)), size(metrics_markdown(data)))


def _with_way(data: Tree) -> Tree:
    """The answer with how to get what it leaves out."""
    omitted = data.get("omitted")
    if not omitted:
        return data
    ways = ["--keys or --roles"] if "series" in omitted else []
    ways += ["--steps A:B", "--points N"] if "points" in omitted else []
    how = f"read-run-metrics {word(data['run'])} with {', '.join(ways)} or a larger max-tokens"
    return {**data, "omitted": {**omitted, "how": how}}


def metrics_markdown(data: Tree) -> str:
    """The whole answer of `read-run-metrics` for people."""
    series, omitted = data["series"], data.get("omitted", {})
    total = len(series) + omitted.get("series", 0)
    shown = counted(total, "series") if len(series) == total else f"{len(series)} of {counted(total, 'series')}"
    runs = f"run {one_line(data['run'], 80)}" + (f" and run {one_line(data['with'], 80)}" if "with" in data else "")
    lines = [f"# Metrics of {runs}: {shown}"]
    if "plot" in data:
        lines.append(f"Picture: {one_line(data['plot']['path'])}")
    lines += fence([*_parted_lines(data), *(line for one in series for line in _series_lines(one))])
    return "\n".join([*lines, *_omitted_lines(omitted)])


def _series_lines(one: Tree) -> list[str]:
    """The facts on one line, what is odd below it, then the points."""
    about = [one.get("role", "no role"), *([f"run {one['run']}"] if "run" in one else []), one["path"]]
    about += [f"rank {one['rank']}"] if "rank" in one else []
    about += [f"by {one['axis']}"] if "axis" in one else []
    facts = [f"{counted(one['n'], 'points')}, {_point(one['first'])} ... {_point(one['last'])}"]
    if "min" in one:
        facts.append(f"min {one['min'][1]} at {one['min'][0]}, max {one['max'][1]} at {one['max'][0]}")
    if "trend" in one:
        facts.append(_course(one))
    lines = [f"{verbatim_line(one['key'])} ({verbatim_line(', '.join(about))}): {'; '.join(facts)}"]
    lines += [f"    {_anomaly(fact)}" for fact in one["anomalies"]]
    return [*lines, *_point_lines(one.get("points", ()))]


def _course(one: Tree) -> str:
    """`falling -65%`, `rising x41`, and of what it is told where the ends are not finite."""
    extent = f" x{one['factor']:g}" if "factor" in one else f" {one['change']:+.0%}" if one.get("change") else ""
    ends = (one["first"][1], one["last"][1])
    return f"{one['trend']}{extent}{' while finite' if any(isinstance(end, str) for end in ends) else ''}"


def _point(point: Sequence[Any]) -> str:
    return f"{point[0]}: {point[1]}"


def _anomaly(fact: Tree) -> str:
    name = fact.get("rule", fact["kind"])
    where = f" at {fact['step']}" if "step" in fact else ""
    value = f": {fact['value']}" if "value" in fact else ""
    before = f" after {fact['before']}" if "before" in fact else ""
    onto = f" to {fact['to']}" if "to" in fact else ""
    count = f", the {rank_of(fact['kind'])} of {fact['count']}" if fact.get("count", 1) > 1 else ""
    count += f", one every {fact['every']}" if "every" in fact else ""
    recovered = ", recovered" if fact.get("recovered") else ""
    return f"{name}{where}{value}{before}{onto}{count}{recovered}"


def _point_lines(points: Sequence[Sequence[Any]]) -> list[str]:
    rows = (points[at : at + POINTS_A_LINE] for at in range(0, len(points), POINTS_A_LINE))
    return [f"    {'  '.join(map(_point, row))}" for row in rows]


def _parted_lines(data: Tree) -> list[str]:
    lines = []
    for fact in data.get("parted", ()):
        one, other = fact["values"]
        equal = f", equal up to {fact['equal_up_to']}" if "equal_up_to" in fact else ""
        lines.append(f"the runs part at {fact['step']}: {verbatim_line(fact['key'])} {one} against {other}{equal}")
    return lines


def _omitted_lines(omitted: Tree) -> list[str]:
    if not omitted:
        return []
    counts = [counted(count, name) for name, count in omitted.items() if isinstance(count, int)]
    roles = ", ".join(f"{count} {one_line(role, 40)}" for role, count in omitted.get("roles", {}).items())
    keys = ", ".join(code(key, 80) for key in omitted.get("keys", ()))
    way = f" {omitted['how']}" if "how" in omitted else ""
    return [f"Left out: {', '.join(counts)}{f' ({roles})' if roles else ''}{f', such as {keys}' if keys else ''}.{way}"]
