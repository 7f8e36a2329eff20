"""Commands that experiment trackers wrote down.

wandb/run-x/files/wandb-metadata.json   {"program": "/x/train.py", "codePath": "train.py", "args": ["--lr", "1"]}
                                        {"program": "-m pkg.train", "args": []}
outputs/.../.hydra/hydra.yaml           hydra: {job: {name: train, config_name: big}}
outputs/.../.hydra/overrides.yaml       - optim.lr=3e-4

Neither records a launcher such as torchrun: what they give starts one process.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from experiment_debugger.errors import DebuggerError
from experiment_debugger.run import Artifact, Run
from experiment_debugger.smoke.order import Command
from experiment_debugger.yaml_text import BrokenYaml, parse_yaml

WANDB = "wandb-metadata.json"
LARGEST = 1 << 20  # bytes


def wandb_commands(run: Run) -> Iterator[Command | DebuggerError]:
    """The command of the newest try for which W&B recorded a program that is in the project."""
    for artifact in _newest(run, WANDB):
        metadata = _json(_text(artifact))
        arguments = metadata.get("args") or []
        program = _program(metadata, run)
        if program and isinstance(arguments, list):
            words = [str(word) for word in arguments]
            if any("[REDACTED:" in word for word in words):
                yield DebuggerError(
                    f"{artifact.name}: expected the whole command; found a secret that was taken out; "
                    "give the command after --"
                )
            else:
                yield Command(("python", *program, *words), artifact.name)


def _program(metadata: dict[str, Any], run: Run) -> tuple[str, ...]:
    """The script relative to the project, or `-m` and a module."""
    program = str(metadata.get("program") or "")
    if program.startswith("-m "):
        return ("-m", program[3:].strip())
    root = str(run.project.root)
    for key in ("codePathLocal", "codePath", "program"):
        path = str(metadata.get(key) or "")
        name = os.path.relpath(path, root) if os.path.isabs(path) else os.path.normpath(path) if path else ""
        if name.endswith(".py") and not name.startswith("..") and os.path.isfile(os.path.join(root, name)):
            return (name,)
    return ()


def hydra_commands(run: Run) -> Iterator[Command | DebuggerError]:
    """The command of the newest try whose `.hydra` folder names a script that is in the project."""
    for artifact in _newest(run, ".hydra/hydra.yaml"):
        job = _mapping(_mapping(_yaml(_text(artifact)).get("hydra")).get("job"))
        script = _script(run, str(job.get("name") or ""))
        if script is None:
            continue
        overrides = _overrides(run, artifact)
        if overrides is None:
            yield DebuggerError(
                f"{artifact.name}: expected the overrides beside it; found no overrides.yaml; give the command after --"
            )
            continue
        config = str(job.get("config_name") or "")
        names_it = config and f'"{config}"' not in (source := _source(run, script)) and f"'{config}'" not in source
        chosen = ["--config-name", config] if names_it else []
        yield Command(("python", script, *chosen, *overrides), artifact.name)


def _script(run: Run, name: str) -> str | None:
    """The file from which hydra took the job's name; None where none or several could be it."""
    if not name:
        return None
    root = str(run.project.root)
    likely = [f"{name}.py", f"src/{name}.py", f"scripts/{name}.py", f"tools/{name}.py"]
    found = [path for path in likely if os.path.isfile(os.path.join(root, path))]
    found = found or [one.name for one in run.of_kind("code") if one.path.name == f"{name}.py"]
    return found[0] if found and (len(found) == 1 or found[0] == likely[0]) else None


def _overrides(run: Run, artifact: Artifact) -> list[str] | None:
    path = artifact.path.with_name("overrides.yaml")
    if not path.is_file() or not run.project.may_read(path):
        return None
    try:
        listed = parse_yaml(path.read_text(encoding="utf-8", errors="replace"))
    except (OSError, BrokenYaml):
        return None
    return [str(word) for word in listed] if isinstance(listed, list) else [] if listed is None else None


def _newest(run: Run, ending: str) -> list[Artifact]:
    found = [one for one in run.artifacts if one.name == ending or one.name.endswith("/" + ending)]
    return sorted(found, key=lambda one: (-one.attempt, -one.mtime))


def _source(run: Run, script: str) -> str:
    try:
        return (run.project.root / script).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _text(artifact: Artifact) -> str:
    try:
        with artifact.path.open(encoding="utf-8", errors="replace") as stream:
            return stream.read(LARGEST)
    except OSError:
        return ""


def _json(text: str) -> dict[str, Any]:
    try:
        return _mapping(json.loads(text))
    except (ValueError, RecursionError):
        return {}


def _yaml(text: str) -> dict[str, Any]:
    try:
        return _mapping(parse_yaml(text))
    except BrokenYaml:
        return {}


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
