"""The files of a synced run whose record file is gone.

files/wandb-summary.json    {"_step": 1200, "_timestamp": 1796051478.9, "train/loss": 0.25, "epoch": 3}
files/wandb-metadata.json   {"program": "train.py", "args": ["--lr", "0.02"], "git": {"commit": "3f2a9c1d"}, ...}
files/config.yaml           lr: {desc: null, value: 0.02}
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from experiment_debugger.errors import UnreadableArtifact
from experiment_debugger.readers.configs import read_config
from experiment_debugger.readers.series import Recorded
from experiment_debugger.readers.wandb.records import open_records
from experiment_debugger.readers.wandb.rows import MOST_KEYS, numbers_in, whole_number
from experiment_debugger.readers.wandb.run import INTERNAL, LONGEST_FACT, command_line

SUMMARY, METADATA, CONFIG = "wandb-summary.json", "wandb-metadata.json", "config.yaml"
SYNCED_FILES = frozenset({SUMMARY, METADATA, CONFIG})
LARGEST_FILE = 8 << 20  # bytes
_FACTS = {"os": "os", "python": "python", "program": "program", "gpu": "gpu", "cudaVersion": "cuda"}
_VALUE = re.compile(r"\.value(?=\.|$)")


def read_synced(path: Path) -> Recorded:
    """The last values, facts or settings that one of these files holds."""
    if path.name == CONFIG:
        return Recorded(settings=_settings(read_config(path)), records=1, bytes=path.stat().st_size)
    content, size = _json_object(path)
    recorded = Recorded(records=1, bytes=size)
    if path.name == METADATA:
        recorded.facts = _facts_of(content)
    else:
        _add_summary(recorded, content)
    return recorded


def _json_object(path: Path) -> tuple[dict[str, Any], int]:
    with open_records(path) as stream:
        raw = stream.read(LARGEST_FILE + 1)
    if len(raw) > LARGEST_FILE:
        raise UnreadableArtifact(f"{path.name}: expected less than {LARGEST_FILE >> 20} MiB, found more; not read")
    try:
        content = json.loads(raw)
    except (ValueError, RecursionError) as problem:
        raise UnreadableArtifact(f"{path.name}: expected JSON, found: {str(problem)[:160]}") from None
    if not isinstance(content, dict):
        raise UnreadableArtifact(f"{path.name}: expected a JSON object, found {type(content).__name__}")
    return content, len(raw)


def _add_summary(recorded: Recorded, content: dict[str, Any]) -> None:
    """One point a key: its last value, at the last call of `run.log`."""
    own = {key: number for key in ("_step", "_timestamp") for _, number in numbers_in(content.get(key), key)}
    step, time = own.get("_step", -1.0), own.get("_timestamp", float("nan"))
    for key, value in content.items():
        for name, number in numbers_in(value, key) if not key.startswith("_") else ():
            if len(recorded.series) >= MOST_KEYS:
                recorded.problems.append(f"more than {MOST_KEYS} keys; further ones were passed over")
                return
            recorded.of(name).add(whole_number(step), number, time)


def _facts_of(content: dict[str, Any]) -> dict[str, str]:
    found = {name: content.get(key) for key, name in _FACTS.items()}
    git, arguments = content.get("git"), content.get("args")
    found["commit"] = git.get("commit") if isinstance(git, dict) else None
    program, executable = content.get("program"), content.get("executable")
    if isinstance(program, str) and program:
        given = [str(argument) for argument in arguments] if isinstance(arguments, list) else []
        found["command"] = command_line(executable if isinstance(executable, str) else "python", program, given)
    return {name: value[:LONGEST_FACT] for name, value in found.items() if isinstance(value, str) and value}


def _settings(config: dict[str, Any]) -> dict[str, Any]:
    """`lr.value` is `lr`; descriptions and what wandb keeps for itself are none."""
    values = {key: value for key, value in config.items() if key.split(".")[0] != INTERNAL and _VALUE.search(key)}
    return {_VALUE.sub("", key, count=1): value for key, value in values.items()}
