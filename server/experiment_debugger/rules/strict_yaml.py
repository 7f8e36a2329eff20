"""A YAML loader that loses nothing silently.

PyYAML keeps the last of two equal keys, turns `no` into False and `12:30:45` into a number, and cuts `a # b`. Rules
hold log text, where each of that is a bug. Here every scalar is text, a duplicate key is refused, and each mapping in
the top-level list knows its line.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from experiment_debugger.errors import InvalidRule

_Loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


def load_entries(text: str, origin: str | Path) -> list[tuple[int, dict[str, Any]]]:
    """(1-based line, entry) of a YAML list of mappings; raises `InvalidRule` with origin and line."""
    try:
        root = yaml.compose(text, Loader=_Loader)
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        where = f":{mark.line + 1}" if mark else ""
        raise InvalidRule(f"{origin}{where}: expected YAML, found {getattr(problem, 'problem', problem)}") from None
    if root is None:
        return []
    if not isinstance(root, yaml.SequenceNode):
        raise InvalidRule(f"{origin}:1: expected a list of entries that each begin with '- id:', found something else")
    entries = []
    for node in root.value:
        if not isinstance(node, yaml.MappingNode):
            raise InvalidRule(f"{origin}:{node.start_mark.line + 1}: expected an entry with keys, found {node.tag}")
        entries.append((node.start_mark.line + 1, _construct(node, origin)))
    return entries


def _construct(node: yaml.Node, origin: str | Path) -> Any:
    if isinstance(node, yaml.MappingNode):
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = key_node.value
            if key in result:
                raise InvalidRule(f"{origin}:{key_node.start_mark.line + 1}: key '{key}' stands twice; keep one")
            result[key] = _construct(value_node, origin)
        return result
    if isinstance(node, yaml.SequenceNode):
        return [_construct(child, origin) for child in node.value]
    return node.value
