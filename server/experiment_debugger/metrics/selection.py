"""Which series of a run are meant: by key, role, rank and a range of steps.

    --keys train/loss,val/*  --roles loss,grad-norm  --rank 3  --steps 600:700

A name that nothing carries is an error with the names that come near: an empty answer would read as "nothing wrong".
"""

from __future__ import annotations

import difflib
import fnmatch
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from experiment_debugger.errors import DebuggerError
from experiment_debugger.evidence import RunEvidence
from experiment_debugger.readers.roles import ROLES
from experiment_debugger.readers.series import Axis, Series

OTHER = "other"
"""What series without a role are asked for by."""
IN_ORDER = (
    "loss", "eval-loss", "metric", "grad-norm", "learning-rate", "loss-scale", "throughput", "step-time", "data-time",
    "memory", "host-memory",
)  # fmt: skip
"""The roles in the order in which they are shown; all others stand behind."""
_RANGE = re.compile(r"^\s*(\d{0,18})\s*:\s*(\d{0,18})\s*$")
MOST_NAMED = 12
MOST_FILES, LONGEST_REASON = 4, 120


@dataclass(frozen=True, slots=True)
class Wanted:
    """What was asked for, as it was typed; None is everything."""

    keys: str | None = None
    roles: str | None = None
    steps: str | None = None
    rank: int | None = None

    @property
    def by_name(self) -> bool:
        """Whether keys or roles were named: then nothing is too unimportant."""
        return self.keys is not None or self.roles is not None


@dataclass(frozen=True, slots=True)
class Curve:
    """One metric of one run: positions on `axis` (never unknown) and values, of equal length."""

    run_id: str
    path: str
    key: str
    role: str | None
    rank: int | None
    evaluation: bool
    axis: Axis
    steps: array[int]
    values: array[float]

    def __len__(self) -> int:
        """Number of points."""
        return len(self.values)

    @property
    def kind(self) -> str:
        """The role, or `other`."""
        return self.role or OTHER

    def between(self, low: int, high: int | None) -> Curve:
        """The points at these positions, both ends included."""
        kept = [i for i, step in enumerate(self.steps) if step >= low and (high is None or step <= high)]
        steps, values = array("q", [self.steps[i] for i in kept]), array("d", [self.values[i] for i in kept])
        return replace(self, steps=steps, values=values)


_MACHINE = re.compile(r"^system[./]", re.IGNORECASE)
"""Readings of the machine by W&B (`system.gpu.0.gpu`) and MLflow (`system/cpu_utilization_percentage`)."""
MACHINE = "machine"
"""What they are counted as."""
MACHINE_ROLES = frozenset({"gpu-utilisation", "gpu-temperature", "gpu-clock", "gpu-power", "cpu-utilisation"})


def is_machine(curve: Curve) -> bool:
    """Whether a curve is a reading of the machine, which a tracker or a monitor takes unasked."""
    return curve.role in MACHINE_ROLES or _MACHINE.search(curve.key) is not None


def curves_of(evidence: RunEvidence) -> list[Curve]:
    """All metric series of a run in the order of their roles, logs first."""
    curves = [_curve(evidence.run.id, entry.name, entry.artifact.rank, one) for entry, one in evidence.series()]
    return sorted(curves, key=place_of)


def place_of(curve: Curve) -> int:
    """Where a role stands in the answer."""
    return IN_ORDER.index(curve.kind) if curve.kind in IN_ORDER else len(IN_ORDER)


def _curve(run_id: str, path: str, rank: int | None, series: Series) -> Curve:
    axis, steps = _positions(series)
    return Curve(
        run_id,
        path,
        series.key,
        series.role,
        rank if series.rank is None else series.rank,
        series.evaluation,
        axis,
        steps,
        series.values,
    )


def _positions(series: Series) -> tuple[Axis, array[int]]:
    """Every point's position: unknown ones stand at the last known; where none is known, points are counted."""
    known = next((step for step in series.steps if step >= 0), None)
    if known is None:
        return "record", array("q", range(len(series)))
    if min(series.steps) >= 0:
        return series.axis, series.steps
    filled = array("q")
    for step in series.steps:
        known = step if step >= 0 else known
        filled.append(known)
    return series.axis, filled


def every_curve(evidence: RunEvidence) -> list[Curve]:
    """All curves of a run; raises `DebuggerError` where it has none, with the files that could not be read."""
    curves = curves_of(evidence)
    if curves:
        return curves
    gaps = [("unreadable", evidence.unreadable), ("not looked at", evidence.not_looked_at)]
    missed = "".join(f"; {what}: {_listed(names)}" for what, names in gaps if names)
    run_id = evidence.run.id
    raise DebuggerError(
        f"Expected metric series of run {run_id}, found none in its files{missed}; read-run-logs shows its text."
    )


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(" ".join(name.split())[:LONGEST_REASON] for name in names[:MOST_FILES])
    return f"{shown} and {len(names) - MOST_FILES} more" if len(names) > MOST_FILES else shown


def select(curves: Sequence[Curve], wanted: Wanted, run_id: str) -> list[Curve]:
    """The curves that are meant; raises `DebuggerError` where a name or range fits none."""
    if wanted.keys is not None:
        curves = _with_keys(curves, wanted.keys, run_id)
    if wanted.roles is not None:
        curves = _with_roles(curves, wanted.roles, run_id)
    if wanted.rank is not None:
        curves = _of_rank(curves, wanted.rank, run_id)
    return _in_range(curves, wanted.steps, run_id) if wanted.steps is not None else list(curves)


def _with_keys(curves: Sequence[Curve], keys: str, run_id: str) -> list[Curve]:
    if any(curve.key == keys for curve in curves):  # a key may hold a comma itself
        return [curve for curve in curves if curve.key == keys]
    names = {curve.key for curve in curves}
    chosen: set[str] = set()
    for asked in _parts(keys, "key"):
        found = _matching(names, asked)
        if not found:
            raise DebuggerError(f"Expected a metric of run {run_id}, found no '{asked}'; {_near(asked, names)}.")
        chosen |= found
    return [curve for curve in curves if curve.key in chosen]


def _matching(names: set[str], asked: str) -> set[str]:
    """The keys that are meant: exactly this one, else the same in another case, else those that a pattern covers."""
    if asked in names:
        return {asked}
    pattern = re.compile(fnmatch.translate(asked.casefold()))
    return {name for name in names if name.casefold() == asked.casefold()} or {
        name for name in names if pattern.match(name.casefold())
    }


def _near(asked: str, names: Iterable[str]) -> str:
    """The names that come near, else some of those that there are."""
    every = {name.casefold(): name for name in names}
    near = [every[name] for name in difflib.get_close_matches(asked.casefold()[:200], every, n=5, cutoff=0.5)]
    near += [name for folded, name in every.items() if asked.casefold() in folded and name not in near]
    if near:
        return f"near: {_named(near)}"
    return f"it has {_named(sorted(every.values()))}"


def _named(names: Sequence[str]) -> str:
    shown = ", ".join(name[:80] for name in names[:MOST_NAMED])
    return f"{shown} and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else shown


def _with_roles(curves: Sequence[Curve], roles: str, run_id: str) -> list[Curve]:
    there = dict.fromkeys(curve.kind for curve in curves)
    known = [*dict.fromkeys([*IN_ORDER, *(role for role, _ in ROLES), *there, OTHER])]
    asked = [part.casefold().replace("_", "-") for part in _parts(roles, "role")]
    for role in asked:
        if role not in known:
            raise DebuggerError(f"Expected a role ({', '.join(known)}), found '{role}'.")
    found = [curve for curve in curves if curve.kind in asked]
    if not found:
        raise DebuggerError(
            f"Expected series of the role {' or '.join(asked)} in run {run_id}, found only {', '.join(there)}."
        )
    return found


def _parts(text: str, what: str) -> list[str]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts:
        raise DebuggerError(f"Expected a {what} or several with commas, found '{text}'.")
    return parts


def _of_rank(curves: Sequence[Curve], rank: int, run_id: str) -> list[Curve]:
    found = [curve for curve in curves if curve.rank == rank]
    if not found:
        ranks = sorted({curve.rank for curve in curves if curve.rank is not None})
        there = f"ranks {_named([str(one) for one in ranks])}" if ranks else "no series that names its rank"
        raise DebuggerError(f"Expected series of rank {rank} in run {run_id}, found {there}.")
    return found


def _in_range(curves: Sequence[Curve], steps: str, run_id: str) -> list[Curve]:
    low, high = range_of(steps)
    found = [part for curve in curves if len(part := curve.between(low, high))]
    if not found:
        raise DebuggerError(
            f"Expected points of run {run_id} in --steps {steps.strip()}, found none; they lie in {_extent(curves)}."
        )
    return found


def range_of(steps: str) -> tuple[int, int | None]:
    """First and last step of `A:B`; either may be missing."""
    found = _RANGE.match(steps)
    low, high = found.groups() if found else ("", "")
    if not (low or high) or (low and high and int(low) > int(high)):
        raise DebuggerError(f"Expected --steps A:B with A <= B, either may be missing, found '{steps[:60]}'.")
    return int(low or 0), int(high) if high else None


def _extent(curves: Sequence[Curve]) -> str:
    """Where the points are, by axis."""
    return ", ".join(f"{axis}s {low}:{high}" for axis, low, high in _extents(curves))


def _extents(curves: Sequence[Curve]) -> Iterator[tuple[Axis, int, int]]:
    for axis in dict.fromkeys(curve.axis for curve in curves):
        own = [curve for curve in curves if curve.axis == axis]
        yield axis, min(min(curve.steps) for curve in own), max(max(curve.steps) for curve in own)
