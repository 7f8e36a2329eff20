"""`trainer_state.json` of the Trainer of transformers, and its `all_results.json`; other JSON documents of metrics.

      "log_history": [
        {
          "epoch": 0.5,
          "grad_norm": 2.8864006996154785,
          "loss": 1.2835489511489868,
          "step": 2
        },

The file is written with one key a line, so each value has a line that can be quoted; a torn file is read up to there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO, Any

from experiment_debugger.errors import UnreadableArtifact
from experiment_debugger.readers.blocks import read_document
from experiment_debugger.readers.columns import meaning_of, number_of, position, preferred
from experiment_debugger.readers.json_rows import JsonRows, flattened, parsed
from experiment_debugger.readers.lines import to_text
from experiment_debugger.readers.series import Axis, Recorded

SETTINGS = ("train_batch_size", "logging_steps", "save_steps", "eval_steps")
MOST_LISTS = 5000  # series of one document
_MEMBER = re.compile(rb'^( *)"((?:[^"\\]|\\.)*)": ([^\[{].*?),?\s*$')
_TOP = 2  # spaces in front of a key of the outermost object
_ENTRY = 6  # and of one of an entry of `log_history`


@dataclass(slots=True)
class _Member:
    """One `"key": value` and its line."""

    value: Any
    line: int


@dataclass(slots=True)
class _Layout:
    """What a document says that has one key a line."""

    top: dict[str, _Member] = field(default_factory=dict)
    entries: list[dict[str, _Member]] = field(default_factory=list)


def is_document(head: bytes) -> bool:
    """Whether JSON that begins so is one document; else each line is a row."""
    head = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    first, end, rest = head.partition(b"\n")
    if head.startswith(b"[") or first.strip() == b"{":
        return True
    row = parsed(first)
    if isinstance(row, dict):
        return not rest.strip() or any(isinstance(value, list) for value in row.values())
    return not end and b'": [' in first[:400]


def read_json(stream: IO[bytes]) -> Recorded:
    """The numbers of one JSON document; raises `UnreadableArtifact` where it holds none that can be read."""
    recorded = Recorded()
    text = read_document(stream, recorded)
    value, layout = parsed(text), _layout(text)
    if isinstance(value, list):
        rows = JsonRows(recorded)
        rows.rows(value)
        rows.finish()
    elif layout.entries or (isinstance(value, dict) and "log_history" in value):
        _take_state(recorded, value if isinstance(value, dict) else None, layout)
    elif isinstance(value, dict):
        _take_object(recorded, value, layout)
    else:
        raise UnreadableArtifact("expected a JSON document of metrics, found damaged or other text")
    return recorded


def _layout(text: bytes) -> _Layout:
    layout, is_history = _Layout(), False
    for number, line in enumerate(text.split(b"\n"), 1):
        if line.startswith(b'  "log_history": ['):
            is_history = True
        elif is_history and line.startswith(b"  ]"):
            is_history = False
        elif is_history and line.startswith(b"    {"):
            layout.entries.append({})
        elif found := _MEMBER.match(line[:4000]):
            indent, key = len(found.group(1)), to_text(found.group(2))
            member = _Member(parsed(found.group(3)), number)
            if is_history and layout.entries and indent == _ENTRY:
                layout.entries[-1][key] = member
            elif not is_history and indent in {_TOP, 2 * _TOP}:  # all_results.json has four spaces
                layout.top.setdefault(key, member)
    return layout


def _take_state(recorded: Recorded, state: dict[str, Any] | None, layout: _Layout) -> None:
    top = {key: member.value for key, member in layout.top.items()} if state is None else state
    history = state.get("log_history") if state is not None else None
    rows = [row for row in history if isinstance(row, dict)] if isinstance(history, list) else []
    if state is None:
        recorded.problems.append(f"damaged or cut off, {len(layout.entries)} entries of log_history are readable")
        rows = [{key: member.value for key, member in entry.items()} for entry in layout.entries]
    has_lines = len(rows) == len(layout.entries)
    for index, row in enumerate(rows):
        _take_entry(recorded, row, layout.entries[index] if has_lines else {})
    recorded.planned_steps = _count(top.get("max_steps"))
    recorded.planned_epochs = _count(top.get("num_train_epochs"))
    recorded.settings.update((key, top[key]) for key in SETTINGS if top.get(key) is not None)


def _take_entry(recorded: Recorded, row: dict[str, Any], members: dict[str, _Member]) -> None:
    step = position(number_of(row.get("step")))
    for key, cell in row.items():
        number = number_of(cell)
        if number is None or key in {"step", "epoch"} or len(recorded.series) >= MOST_LISTS:
            continue
        member = members.get(key)
        series = recorded.of(key)
        series.add(step, number, line=member.line if member else 0)


def _count(value: Any) -> int | None:
    count = position(number_of(value))
    return count if count > 0 else None


def _take_object(recorded: Recorded, document: dict[str, Any], layout: _Layout) -> None:
    """One list a key (`history.history` of Keras, counted in epochs from 0), or one number a key."""
    leaves = dict(flattened(document))
    step = preferred(list(leaves))
    epoch = next((key for key in leaves if meaning_of(key) == "epoch"), None)
    at, axis = _place(leaves, step, epoch)
    for key, value in leaves.items():
        if key in {step, epoch} or len(recorded.series) >= MOST_LISTS:
            continue
        if isinstance(value, list):
            for index, number in _numbers(value):
                recorded.of(key, axis="epoch").add(index, number)
        elif (number_or_none := number_of(value)) is not None and not isinstance(value, str):
            member = layout.top.get(key)
            recorded.of(key, axis=axis).add(at, number_or_none, line=member.line if member else 0)


def _place(leaves: dict[str, Any], step: str | None, epoch: str | None) -> tuple[int, Axis]:
    if step is not None and not isinstance(leaves[step], list):
        return position(number_of(leaves[step])), "step"
    if epoch is not None and not isinstance(leaves[epoch], list):
        return position(number_of(leaves[epoch])), "epoch"
    return -1, "record"


def _numbers(values: list[Any]) -> Iterator[tuple[int, float]]:
    for index, value in enumerate(values):
        number = number_of(value)
        if number is not None and not isinstance(value, str):
            yield index, number
