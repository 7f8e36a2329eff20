"""Checkpoints held against each other, or one by itself: how far, which state, what is damaged, NaN or never moved.

runs/42/ckpt-10.pt | runs/42/ckpt-20.pt      step 10 | 20; 2 tensors never changed: encoder.0.weight, encoder.0.bias
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from experiment_debugger.models import Value
from experiment_debugger.project import Project
from experiment_debugger.readers.checkpoints.checkpoint import Checkpoint, is_checkpoint, read_checkpoint
from experiment_debugger.readers.checkpoints.differences import CheckpointDifference, compare_checkpoints
from experiment_debugger.readers.checkpoints.values import values_of
from experiment_debugger.results import Comparison, Difference

MOST_NAMED = 4


def checkpoints_named(project: Project, names: Sequence[str], *, typed: bool) -> list[Path]:
    """The paths, where every name is that of a checkpoint; none otherwise. `typed`: paths may lead outside."""
    paths = []
    for name in names:
        if "/" not in name and "." not in name:
            return []
        path = project.confined(name, typed=typed)
        if not path.exists() or not is_checkpoint(path):
            return []
        paths.append(path)
    return paths


def compare_checkpoint_files(project: Project, paths: Sequence[Path]) -> Comparison:
    """One checkpoint looked through, or the first held against the others; `UnreadableArtifact` where one is none."""
    found = [read_checkpoint(path) for path in paths]
    facts = list(_facts(found))
    pairs = [compare_checkpoints(found[0], other) for other in found[1:]]
    changes = [change for index, pair in enumerate(pairs, 1) for change in _changes(pair, index, len(found))]
    numbers = list(_numbers(found))
    sections = {"checkpoint": (*facts, *changes), "values": tuple(numbers)}
    return Comparison(
        run_ids=tuple(project.show(path) for path in paths),
        verdict=_verdict(found, pairs, numbers),
        differences={name: differences for name, differences in sections.items() if differences},
    )


def _facts(found: Sequence[Checkpoint]) -> Iterator[Difference]:
    yield Difference(key="format", values=tuple(one.format for one in found))
    for name in ("step", "epoch", "damage"):
        values = tuple(getattr(one, name) for one in found)
        if any(value is not None for value in values):
            yield Difference(key=name, values=values)
    yield Difference(key="tensors", values=tuple(len(one.tensors) for one in found))
    yield Difference(key="state", values=tuple(_state(one) for one in found))
    for name in ("hostile", "foreign"):
        named = tuple(_few(getattr(one, name)) or None for one in found)
        if any(named):
            yield Difference(key=name, values=named)


def _state(one: Checkpoint) -> str:
    if one.state is None:
        return "weights only"
    absent = [part for part, present in one.state.items() if not present]
    present = [part for part, there in one.state.items() if there]
    return f"has {', '.join(present) or 'nothing to resume from'}" + (f"; lacks {', '.join(absent)}" if absent else "")


def _changes(pair: CheckpointDifference, index: int, count: int) -> Iterator[Difference]:
    """What the first and one other have otherwise; the values stand in the columns of the two."""

    def row(key: str, first: Value | None, other: Value | None, note: str | None = None) -> Difference:
        values: list[Value | None] = [None] * count
        values[0], values[index] = first, other
        return Difference(key=key, values=tuple(values), note=note)

    if pair.missing:
        yield row("only in the first", len(pair.missing), 0, _few(pair.missing))
    if pair.unexpected:
        yield row("only in the other", 0, len(pair.unexpected), _few(pair.unexpected))
    if pair.renamed:
        shown = _few([f"{one} = {other}" for one, other in pair.renamed])
        yield row("renamed", len(pair.renamed), len(pair.renamed), shown)
    if pair.reshaped:
        yield row(
            "other shape or dtype", None, len(pair.reshaped), _few([f"{key}: {what}" for key, what in pair.reshaped])
        )
    if pair.frozen and pair.moved:
        yield row("never changed", None, len(pair.frozen), _few(pair.frozen))


def _numbers(found: Sequence[Checkpoint]) -> Iterator[Difference]:
    """Tensors with NaN or infinity, and weights that are nothing but zeros."""
    for index, one in enumerate(found):
        bad, zero = [], []
        for tensor in one.tensors:
            values = values_of(tensor)
            if values is None:
                continue
            if values.nan or values.inf:
                bad.append(f"{tensor.key} ({values.nan} NaN, {values.inf} inf)")
            elif values.all_zero and len(tensor.shape) > 1:  # biases and counters begin at zero
                zero.append(tensor.key)
        for name, keys in (("NaN or inf", bad), ("all zero", zero)):
            if keys:
                values_row: list[Value | None] = [None] * len(found)
                values_row[index] = len(keys)
                yield Difference(key=name, values=tuple(values_row), note=_few(keys))


def _verdict(found: Sequence[Checkpoint], pairs: Sequence[CheckpointDifference], numbers: Sequence[Difference]) -> str:
    hostile = [name for one in found for name in one.hostile]
    if hostile:
        return f"Hostile: loading it would run {_few(hostile)}. Do not load it; nothing of it was executed here."
    said = [f"{one.path.name} is damaged: {one.damage}" for one in found if one.damage]
    said += [f"{one.key} in {one.note}" for one in numbers]
    said += [what for pair in pairs for what in _told(pair)]
    text = "; ".join(said) or "nothing is damaged, NaN or all zero"
    return f"{text[0].upper()}{text[1:]}."


def _told(pair: CheckpointDifference) -> Iterator[str]:
    """What a pair means for whoever loads the one into the model of the other."""
    missing, unexpected = len(pair.missing), len(pair.unexpected)
    if missing or unexpected:
        yield f"the keys differ ({missing} missing, {unexpected} unexpected), which strict=False hides"
    if pair.renamed:
        example = " = ".join(pair.renamed[0])
        yield f"keys that differ in their prefix alone ({len(pair.renamed)}, {example}): strict=False loads none"
    if pair.frozen and pair.moved:
        yield f"tensors that did not change while {pair.moved} others did: {len(pair.frozen)}"
    elif pair.frozen:
        yield "all numbers are the same"


def _few(names: Sequence[str]) -> str:
    rest = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {rest} more" if rest > 0 else "")
