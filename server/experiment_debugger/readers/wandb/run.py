"""What a run's record file says about the run itself: config, command, commit, versions, exit code.

run { run_id: "z6nxraci" project: "scorer" display_name: "exp-21" config { update { key: "lr" value_json: "0.02" } } }
environment { python: "CPython 3.11.7" program: "train.py" args: "--lr" args: "0.02" git { commit: "3f2a9c1d..." } }
exit { exit_code: 1 }
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Any

from experiment_debugger.readers.wandb.fields import fields, messages, numbers, texts

LONGEST_SETTING = 1 << 20  # bytes of JSON
LONGEST_FACT = 2000  # characters
MOST_SETTINGS = 10_000
MOST_ARGUMENTS = 1000
DEEPEST = 12  # levels of a setting
INTERNAL = "_wandb"
_RUN_TEXTS = {1: "run_id", 3: "project", 8: "name", 6: "group", 12: "sweep"}
_RUN_CONFIG, _RUN_GIT, _COMMIT = 4, 21, 2
_ENVIRONMENT_TEXTS = {1: "os", 6: "program", 18: "gpu", 25: "cuda"}
_PYTHON, _ARGUMENTS, _ENVIRONMENT_GIT, _EXECUTABLE = 2, 5, 9, 14


class RunFacts:
    """Settings and facts, as the records that carry them come; later ones replace earlier ones."""

    def __init__(self) -> None:
        self._config: dict[str, Any] = {}
        self.facts: dict[str, str] = {}

    def take_run(self, message: bytes) -> None:
        """Identity and config of the run."""
        self._name(message, _RUN_TEXTS)
        for config in messages(message, _RUN_CONFIG):
            self.take_config(config)
        self._commit(message, _RUN_GIT)

    def take_config(self, message: bytes) -> None:
        """Keys that were set (field 1) and removed (field 2)."""
        for number, item in fields(message):
            key, text = _setting(item) if isinstance(item, bytes) else ("", b"")
            self._config.pop(key, None)
            if number == 1 and key and len(self._config) < MOST_SETTINGS:
                self._config[key] = _value(text)

    @property
    def settings(self) -> dict[str, Any]:
        """The config with dotted keys, without what wandb keeps there for itself."""
        found: dict[str, Any] = {}
        for key, value in self._config.items():
            if key.split(".")[0] != INTERNAL:
                found.update(dotted(value, key))
        return found

    def take_environment(self, message: bytes) -> None:
        """Program, arguments, commit, versions; wandb writes several such records, each with a part."""
        self._name(message, _ENVIRONMENT_TEXTS)
        self._commit(message, _ENVIRONMENT_GIT)
        said = texts(message)
        if _PYTHON in said:
            self._say("python", said[_PYTHON].removeprefix("CPython "))
        arguments = [raw.decode("utf-8", "replace") for raw in messages(message, _ARGUMENTS)]
        if said.get(6):
            self._say("command", command_line(said.get(_EXECUTABLE, "python"), said[6], arguments))

    def take_header(self, message: bytes) -> None:
        """The version of wandb that wrote the file: `0.31.0+15f8cbc5...`."""
        for version in messages(message, 1):
            self._say("wandb", texts(version).get(1, "").partition("+")[0])

    def take_exit(self, message: bytes) -> None:
        """The exit code; a code of 0 is not written out."""
        code = numbers(message).get(1, 0)
        self._say("exit_code", str(code))
        self._say("state", "failed" if code else "finished")

    def take_preempting(self, _message: bytes) -> None:
        """The program called `run.mark_preempting()`."""
        self._say("preempting", "the program marked itself as being preempted")

    def _name(self, message: bytes, names: dict[int, str]) -> None:
        said = texts(message)
        for number, name in names.items():
            self._say(name, said.get(number, ""))

    def _commit(self, message: bytes, number: int) -> None:
        for git in messages(message, number):
            self._say("commit", texts(git).get(_COMMIT, ""))

    def _say(self, name: str, value: str) -> None:
        if value:
            self.facts[name] = value[:LONGEST_FACT]


def command_line(executable: str, program: str, arguments: list[str]) -> str:
    """The command as typed in a shell; `program` may be `-m package.module`."""
    name = PurePosixPath(executable).name or "python"
    quoted: Iterator[str] = (shlex.quote(argument) for argument in arguments[:MOST_ARGUMENTS])
    return " ".join([name, program, *quoted])


def dotted(value: Any, key: str, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """A nested setting as dotted keys."""
    if isinstance(value, dict) and value and depth < DEEPEST:
        for name, child in value.items():
            yield from dotted(child, f"{key}.{name}", depth + 1)
    else:
        yield key, value


def _setting(item: bytes) -> tuple[str, bytes]:
    """(dotted key, JSON) of a config item."""
    parts = [(number, value) for number, value in fields(item) if isinstance(value, bytes)]
    key = ".".join(value.decode("utf-8", "replace") for number, value in parts if number <= 2)
    return key, next((value for number, value in parts if number == 16), b"")


def _value(text: bytes) -> Any:
    if len(text) <= LONGEST_SETTING:
        with suppress(ValueError, RecursionError):
            return json.loads(text)
    return text[:LONGEST_FACT].decode("utf-8", "replace")
