"""Commands that job files and run registries declare as text or as a list.

jobs/42.yaml            command: LR=3e-4 python train.py --config configs/a.yaml
job.yaml (Kubernetes)   containers: [{command: [python, train.py], args: [--lr, "3e-4"], env: [{name: A, value: b}]}]
docs/ops/runs.yaml      runs: {"42": {command: python train.py}}

They are read anew: what discovery keeps of them is redacted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from experiment_debugger.discovery.jobfiles import MAX_YAML_DEPTH
from experiment_debugger.discovery.registry import registry_entries
from experiment_debugger.errors import DebuggerError
from experiment_debugger.run import Artifact, Run
from experiment_debugger.smoke.handovers import refuse_handover
from experiment_debugger.smoke.order import Command
from experiment_debugger.smoke.shell_words import argument_list, leading_settings
from experiment_debugger.yaml_text import BrokenYaml, parse_documents

_COMMANDS = ("command", "cmd", "entrypoint")
_ENVIRONMENTS = ("env", "environment", "environment_variables")
_SHELLS = ("sh", "bash", "dash", "zsh")


def declared_commands(run: Run) -> Iterator[Command | DebuggerError]:
    """The command of each job YAML of the run and of its registry entry, or why it cannot be started as it stands."""
    for artifact in run.of_kind("job"):
        if artifact.name.endswith((".yaml", ".yml")):
            yield from _of_file(artifact)
    for record in registry_entries(run.project, []):
        if record.at == run.declared.command_at and "command" in record.fields:
            yield _tried(record.fields["command"], {}, record.at)


def _of_file(artifact: Artifact) -> Iterator[Command | DebuggerError]:
    try:
        text = artifact.path.read_text(encoding="utf-8", errors="replace")
        nodes = [node for document in parse_documents(text) for node in _nodes(document)]
    except (OSError, BrokenYaml):
        return
    environment = {name: value for node in nodes for key in _ENVIRONMENTS for name, value in _settings(node.get(key))}
    for node in nodes:
        for key in _COMMANDS:
            if isinstance(node.get(key), str | list):
                yield _tried(_whole(node, key), environment, f"{artifact.name}:{_line(text, key)}")


def _nodes(value: Any, depth: int = 0) -> Iterator[dict[str, Any]]:
    """Every mapping of a document, outer ones first."""
    if depth > MAX_YAML_DEPTH:
        return
    if isinstance(value, dict):
        yield value
    for child in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _nodes(child, depth + 1)


def _whole(node: dict[str, Any], key: str) -> str | list[str]:
    """The command with the `args` beside it."""
    command, more = node[key], node.get("args")
    if isinstance(command, list) and isinstance(more, list):
        return [str(word) for word in (*command, *more)]
    if isinstance(command, list):
        return [str(word) for word in command]
    return f"{command} {more}" if isinstance(more, str) else str(command)


def _line(text: str, key: str) -> int:
    """The 1-based line of the first such key."""
    lines = text.split("\n")
    return next((number for number, line in enumerate(lines, 1) if line.strip(" -\"'").startswith(key)), 1)


def _settings(value: Any) -> Iterator[tuple[str, str]]:
    """`{A: b}`, `[{name: A, value: b}]` and `["A=b"]`."""
    if isinstance(value, dict):
        yield from ((str(name), str(one)) for name, one in value.items() if isinstance(one, str | int | float))
    for one in value if isinstance(value, list) else ():
        if isinstance(one, dict) and "name" in one and isinstance(one.get("value"), str | int | float):
            yield str(one["name"]), str(one["value"])
        elif isinstance(one, str) and "=" in one:
            name, _, setting = one.partition("=")
            yield name, setting


def _tried(command: str | list[str], environment: dict[str, str], at: str) -> Command | DebuggerError:
    try:
        return _command(command, environment, at)
    except DebuggerError as problem:
        return problem


def _command(command: str | list[str], environment: dict[str, str], at: str) -> Command:
    settings, argv = argument_list(command, at) if isinstance(command, str) else leading_settings(command)
    _refuse_redacted(argv, at)
    if not argv:
        raise DebuggerError(f"{at}: expected a command; found none; give it after --")
    if argv[0].rpartition("/")[2] in _SHELLS and any(word.startswith("-") and "c" in word for word in argv[1:2]):
        raise DebuggerError(
            f"{at}: expected a command of plain words; found a string for {argv[0]} -c; put it into a job script, or "
            "give the command after --"
        )
    refuse_handover(argv, at)
    return Command(argv, at, {**environment, **settings})


def _refuse_redacted(argv: tuple[str, ...], at: str) -> None:
    hidden = next((word for word in argv if "[REDACTED:" in word), None)
    if hidden is not None:
        raise DebuggerError(
            f"{at}: expected the whole command; found {hidden}, a secret that was taken out; give the command after --"
        )
