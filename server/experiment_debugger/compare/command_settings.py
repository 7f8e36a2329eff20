"""The settings on a command line, by dotted key.

LR=1 torchrun --nproc_per_node 4 train.py --config a.yaml optim.lr=3e-4 --no-amp
{"env.LR": "1", "torchrun.nproc_per_node": "4", "program": "torchrun train.py", "config": "a.yaml", ...}
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from experiment_debugger.discovery.names import words

LAUNCHERS = words("torchrun accelerate deepspeed srun mpirun mpiexec horovodrun python env nohup time uv poetry")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_OVERRIDE = re.compile(r"(\+{0,2}|~)([A-Za-z_][\w.@/-]*)=(.*)", re.DOTALL)
_OPTION = re.compile(r"--?([A-Za-z][\w.-]*)(?:=(.*))?$", re.DOTALL)
_PYTHON = re.compile(r"^python[\d.]*$")
_SCRIPT = re.compile(r"[\w./@~-]+\.(?:py|sh|ipynb)$")


def command_settings(command: str) -> dict[str, str]:
    """Settings of a shell command by key; `ValueError` where its quotes do not close."""
    found: dict[str, str] = {}
    for key, value in _settings(shlex.split(command)):
        found[key] = f"{found[key]}, {value}" if key in found else value  # an option that is given twice
    return found


def _settings(command: list[str]) -> Iterator[tuple[str, str]]:
    rest = list(command)
    while rest and (found := _ASSIGNMENT.fullmatch(rest[0])):
        yield f"env.{found[1]}", found[2]
        rest.pop(0)
    program: list[str] = []
    launcher = ""  # until the script comes, options are the launcher's
    while rest:
        word = rest.pop(0)
        if (option := _OPTION.match(word)) and not _is_number(word):
            key, value = option[1].replace("-", "_"), option[2]
            if value is None:
                value = rest.pop(0) if rest and _is_value(rest[0], launcher) else "true"
                while _is_number(value.rpartition(" ")[2]) and rest and _is_number(rest[0]):  # --layers 1 2 3
                    value = f"{value} {rest.pop(0)}"
            if key == "m" and launcher:
                program, launcher = [*program, value], ""
            else:
                yield _switched(f"{launcher}.{key}" if launcher else key, value)
        elif program and (override := _OVERRIDE.fullmatch(word)):
            yield override[2], override[3]
        elif word.startswith("~"):
            yield word[1:], "removed"
        else:
            name = _PYTHON.sub("python", word.rpartition("/")[2])
            program.append(name)
            launcher = name if name in LAUNCHERS else "" if _SCRIPT.fullmatch(word) else launcher
    yield "program", " ".join(program)


def _is_value(word: str, launcher: str) -> bool:
    """Whether the word behind an option is its value: no option itself, and behind a launcher's no script."""
    if word.startswith("-") and not _is_number(word):
        return False
    return not (launcher and _SCRIPT.fullmatch(word)) and not _OVERRIDE.fullmatch(word)


def _is_number(word: str) -> bool:
    return re.fullmatch(r"-?\d[\d._]*(?:[eE][-+]?\d+)?", word) is not None


def _switched(key: str, value: str) -> tuple[str, str]:
    """--no-amp is amp=false."""
    if value == "true" and (found := re.fullmatch(r"no_(\w+)", key)):
        return found[1], "false"
    return key, value
