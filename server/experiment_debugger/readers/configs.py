"""Config files as dotted keys, and the settings that people ask about first.

optimizer: {lr: 0.02}   ->   {"optimizer.lr": 0.02}
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from experiment_debugger.errors import UnreadableArtifact
from experiment_debugger.yaml_text import parse_yaml

LARGEST_CONFIG = 1 << 20  # bytes
DEEPEST = 12
MOST_ALIASES = 200  # YAML aliases; more is an anchor bomb, not a config
MOST_VALUES = 200_000  # aliases of aliases grow exponentially: a hundred of them can stand for more than fit anywhere
KEY_SETTINGS = re.compile(
    r"(?:^|[._-])(?:lr|learning_rate|batch_size|micro_batch_size\w*|global_batch_size|train_batch_size|per_device_\w*batch_size"
    r"|gradient_accumulation(?:_steps)?|accumulate_grad_batches|max_steps|num_train_epochs|max_epochs|epochs|num_epochs|warmup(?:_steps|_ratio)?"
    r"|precision|fp16|bf16|amp|seed|num_workers|dataloader_num_workers|optimizer|weight_decay|max_grad_norm|gradient_clip_val|clip_grad\w*"
    r"|model(?:_name(?:_or_path)?)?|arch|dataset|data(?:_dir|_path|_root)?|max_seq_len(?:gth)?|seq_len(?:gth)?|num_classes|resume(?:_from\w*)?|stage"
    r"|deepspeed|devices|nodes|num_nodes|strategy)$",
    re.IGNORECASE,
)


def read_config(path: Path) -> dict[str, Any]:
    """Dotted keys of a YAML or JSON file; raises `UnreadableArtifact` with one line when it is broken or too large."""
    try:
        if path.stat().st_size > LARGEST_CONFIG:
            raise UnreadableArtifact(f"{path.name}: expected a config below 1 MB, found more; it was not read")
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as problem:
        raise UnreadableArtifact(f"{path.name}: {problem.strerror or problem}") from None
    try:
        return read_settings(text, path.name)
    except (ValueError, RecursionError) as problem:
        raise UnreadableArtifact(
            f"{path.name}: expected {path.suffix.lstrip('.')}, found: {str(problem)[:160]}"
        ) from None


def settings_of(text: str, name: str) -> dict[str, Any]:
    """Dotted keys of a YAML or JSON text by the name of its file; none where it is broken or something else."""
    if len(text) > LARGEST_CONFIG or not name.endswith((".yaml", ".yml", ".json")):
        return {}
    try:
        return read_settings(text, name)
    except (ValueError, RecursionError):
        return {}


def read_settings(text: str, name: str) -> dict[str, Any]:
    """Dotted keys of a YAML or JSON text by the name of its file; `ValueError` or `RecursionError` where broken."""
    return dict(_dotted(_parse(text, name)))


def _parse(text: str, name: str) -> Any:
    return json.loads(text) if name.endswith(".json") else _parse_yaml(text)


def _parse_yaml(text: str) -> Any:
    if len(re.findall(r"(?m)(?:^|[\s\[,{])\*\w", text)) > MOST_ALIASES:
        raise ValueError("too many YAML aliases")
    value = parse_yaml(text)
    if _expanded(value, {}) > MOST_VALUES:
        raise ValueError(f"YAML aliases that stand for more than {MOST_VALUES} values")
    return value


def _expanded(value: Any, known: dict[int, float]) -> float:
    """How many values there are once every alias is written out; what holds itself is endless."""
    if not isinstance(value, (dict, list)):
        return 1
    if id(value) not in known:
        known[id(value)] = float("inf")
        children = value.values() if isinstance(value, dict) else value
        known[id(value)] = 1 + sum(_expanded(child, known) for child in children)
    return known[id(value)]


def _dotted(value: Any, prefix: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and depth < DEEPEST:
        for key, child in value.items():
            yield from _dotted(child, f"{prefix}.{key}" if prefix else str(key), depth + 1)
    elif prefix:
        yield prefix, value


def is_key_setting(key: str, value: Any) -> bool:
    """Whether a setting is one of those that explain most failures: optimisation, precision, data, scale."""
    return bool(KEY_SETTINGS.search(key)) and _is_short(value)


def _is_short(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float)) or (isinstance(value, str) and len(value) <= 120)
