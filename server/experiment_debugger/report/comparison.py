"""The answer of compare-runs: the verdict first, then what differs by section, then the lines that are new."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from experiment_debugger.models import Evidence, as_dict
from experiment_debugger.report.answers import LAST_RESORT
from experiment_debugger.report.budget import Clip, Cut, Drop, Step, Tree, capacity, compact, shrink, size, speakable
from experiment_debugger.report.markdown import evidence_lines
from experiment_debugger.report.quoting import counted, fence, one_line
from experiment_debugger.results import Comparison, Difference

COMPARISON_PLAN: tuple[Step, ...] = (
    Cut("differences.log", 12, "log lines"),
    Cut("differences.environment", 15),
    Cut("differences.config", 25),
    Drop("differences.*.*.at"),
    Cut("differences.log", 5, "log lines"),
    Clip("differences.log.*.quote", 160),
    Cut("differences.environment", 6),
    Cut("differences.code", 6),
    Cut("differences.config", 12),
    Cut("differences.command", 8),
    Cut("differences.metrics", 6),
    Cut("differences.*", 4, "differences"),
    Clip("verdict", 400),
    Cut("differences.*", 1, "differences"),
    *LAST_RESORT,
)


def fitted_comparison(result: Comparison, max_tokens: int) -> Comparison:
    """The comparison cut so that both its JSON and its Markdown fit; `omitted` counts what is missing."""

    def build(data: Tree, left_out: Counter[str]) -> Comparison:
        counts = {name: count for name, count in left_out.items() if name != "at"}
        return Comparison.model_validate({**data, "omitted": counts})

    def measure(data: Tree, left_out: Counter[str]) -> int:
        kept = build(data, left_out)
        return max(size(compact(as_dict(kept))), size(comparison_markdown(kept)))

    return build(*shrink(speakable(as_dict(result)), COMPARISON_PLAN, measure, capacity(max_tokens)))


def comparison_markdown(result: Comparison) -> str:
    """The whole answer for people."""
    names = " and ".join(one_line(name, 60) for name in result.run_ids)
    parts = [[f"# {names}", one_line(result.verdict, 1200)], *_parts(result), _end(result)]
    return "\n\n".join("\n".join(part) for part in parts if part)


def _parts(result: Comparison) -> Iterator[list[str]]:
    first = result.first_divergence
    if first is not None:
        before = f", equal up to {first.equal_up_to}" if first.equal_up_to is not None else ", the first report of both"
        values = " | ".join(map(str, first.values))
        yield [f"First difference of a metric: {one_line(first.key, 80)} at {first.step}: {values}{before}."]
    for section, found in result.differences.items():
        lines = [one for one in found if isinstance(one, Evidence)]
        told = [one for one in found if isinstance(one, Difference)]
        title = f"## {section}" if told else "## log: said otherwise before training, or new in the second run"
        yield [title, *map(_line, told), *fence(evidence_lines(lines))]


def _line(one: Difference) -> str:
    values = " | ".join("not set" if value is None else one_line(value, 120) for value in one.values)
    notes = [part for part in (one.group, one.note) if part]
    return f"- {one_line(one.key, 120)}: {values}" + (f" ({'; '.join(notes)})" if notes else "")


def _end(result: Comparison) -> list[str]:
    missing = (
        [f"Not compared, because it is not known: {one_line('; '.join(result.missing))}."] if result.missing else []
    )
    listed = ", ".join(counted(count, name) for name, count in result.omitted.items())
    return missing + ([f"Left out: {listed}; ask again with a larger max-tokens."] if listed else [])
