"""Two or more runs side by side: what differs, by section, where their curves part, and what that says together.

config       optimizer.lr  0.1 | 0.01        code  train.py changed (3f2a9c1..88aa021)
environment  torch  2.1.2 | 2.2.0            metrics  equal up to step 400, loss parts at 410
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from experiment_debugger import git
from experiment_debugger.compare.divergence import (
    Band,
    Divergence,
    bands_of,
    divergence_of,
    has_common,
    learning_curves,
)
from experiment_debugger.compare.experiment_keys import group_of
from experiment_debugger.compare.log_shapes import changed_lines, new_lines, shapes_of
from experiment_debugger.compare.used import Used, UsedValue, used_by
from experiment_debugger.compare.verdicts import verdict_of
from experiment_debugger.diagnose import Examination
from experiment_debugger.errors import DebuggerError
from experiment_debugger.metrics.course import rounded
from experiment_debugger.metrics.selection import Curve
from experiment_debugger.models import Evidence, Value
from experiment_debugger.project import Project
from experiment_debugger.results import Comparison, Difference, Parting

SECTIONS = ("config", "command", "environment", "data", "checkpoint")
_ORDER = ("model", "data", "split", "objective", "metric", "training", "unknown", "neutral")
_GROUPED = frozenset({"config", "command", "data"})
MOST_FILES = 12
"""Changed files that a comparison names."""
MOST_PAIRS = 3
"""Lines said otherwise before training that are quoted from both logs."""
SHORT = 12
FEWEST_SEEDS = 2


def compare_runs(runs: Sequence[Examination]) -> Comparison:
    """The comparison of examined runs; the first is the one that the others are held against."""
    used = [used_by(done) for done in runs]
    curves = [learning_curves(done.evidence) for done in runs]
    first, common = divergence_of(curves[0], curves[1]), has_common(curves[0], curves[1])
    found: dict[str, tuple[Difference, ...]] = {section: tuple(_differences(section, used)) for section in SECTIONS}
    found["code"] = tuple(_code(runs[0].evidence.run.project, used))
    found["metrics"] = tuple(_bands(used, curves))
    shapes = [shapes_of(done.evidence) for done in runs[:2]]
    said = changed_lines(*shapes)
    lines = (*(line for pair in said[:MOST_PAIRS] for line in pair), *new_lines(*shapes))
    every: dict[str, tuple[Difference, ...] | tuple[Evidence, ...]] = {**found, "log": lines}
    return Comparison(
        run_ids=tuple(one.run_id for one in used),
        verdict=verdict_of(
            found, first, said[0][1] if said else None, common=common, resumed=any(one.resumed for one in used[:2])
        ),
        first_divergence=_parting(first) if first else None,
        differences={name: differences for name, differences in every.items() if differences},
        missing=tuple(_missing(used, common=common)),
    )


def _differences(section: str, used: Sequence[Used]) -> Iterator[Difference]:
    """Keys whose values are not the same in all runs; where one run has nothing of a section, nothing is compared."""
    sides = [one.sections.get(section, {}) for one in used]
    if not all(sides):
        return
    every = dict.fromkeys(key for side in sides for key in side)
    if section == "environment":  # a package that only one list names says nothing about the other machine
        every = dict.fromkeys(key for key in every if all(key in side for side in sides))
    keys = [key for key in every if len({side[key].alike if key in side else None for side in sides}) > 1]
    groups = {key: group_of(key) if section in _GROUPED else None for key in keys}
    for key in sorted(keys, key=lambda key: (_ORDER.index(groups[key] or "unknown"), key)):
        places = tuple(side[key].at if key in side else "" for side in sides)
        yield Difference(key=key, values=tuple(_text(side, key) for side in sides), group=groups[key], at=places)


def _text(side: dict[str, UsedValue], key: str) -> str | None:
    return side[key].text if key in side else None


def _code(project: Project, used: Sequence[Used]) -> Iterator[Difference]:
    """The commits, where they differ, and the files that differ between the first two."""
    root, commits = project.root, [one.commit for one in used]
    if None in commits or len({str(commit)[:7] for commit in commits}) == 1:
        return
    yield Difference(key="commit", values=tuple(str(commit)[:SHORT] for commit in commits))
    named = [git.commit_named(root, str(commit)) if git.has_repository(root) else None for commit in commits[:2]]
    if None in named:
        return
    try:
        files = git.paths(root, "diff", "--name-only", "--no-renames", "-z", str(named[0]), str(named[1]))
    except DebuggerError:  # a shallow or damaged repository: the commits are told
        return
    yield from (Difference(key=name, values=(None, "changed")) for name in files[:MOST_FILES])


def _bands(used: Sequence[Used], curves: Sequence[Sequence[Curve]]) -> Iterator[Difference]:
    """Where runs of several seeds are among them: mean and deviation of their last values, and the others against."""
    seeds = [index for index, one in enumerate(used) if one.same_but_seed(used[0])]
    if len({used[index].seed for index in seeds} - {None}) < FEWEST_SEEDS:
        return
    for band in bands_of([curves[index] for index in seeds]):
        values = tuple(_at(run, band) for run in curves)
        beyond = [
            used[index].run_id
            for index, value in enumerate(values)
            if index not in seeds and isinstance(value, (int, float)) and not band.holds(float(value))
        ]
        spread = f"{band.runs} seeds at {band.step}: {rounded(band.mean)} ± {rounded(band.std)}"
        yield Difference(
            key=band.key, values=values, note=spread + (f"; beyond: {', '.join(beyond)}" if beyond else "")
        )


def _at(run: Sequence[Curve], band: Band) -> Value | None:
    curve = next((one for one in run if one.key == band.key and band.step in one.steps), None)
    return None if curve is None else rounded(curve.values[list(curve.steps).index(band.step)])


def _parting(first: Divergence) -> Parting:
    return Parting(key=first.key, step=first.step, values=first.values, equal_up_to=first.equal_up_to)


def _missing(used: Sequence[Used], *, common: bool) -> Iterator[str]:
    """What could not be compared, because a run does not say it."""
    for section in ("config", "command"):
        without = [one.run_id for one in used if not one.sections.get(section)]
        if without:
            yield f"{section} of {', '.join(without)}"
    without = [one.run_id for one in used if one.commit is None]
    if without:
        yield f"commit of {', '.join(without)}"
    if not common:
        yield "a metric that the first two report at the same step"
