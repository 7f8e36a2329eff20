"""The settings on a command line, by dotted key.

LR=1 torchrun --nproc_per_node 4 train.py --config a.yaml optim.lr=3e-4 --no-amp
{"env.LR": "1", "torchrun.nproc_per_node": "4", "program": "torchrun train.py", "config": "a.yaml", ...}
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

LAUNCHERS = frozenset(
    [
        "torchrun",
        "accelerate",
        "deepspeed",
        "srun",
        "mpirun",
        "mpiexec",
        "horovodrun",
        "python",
        "-m",
        "env",
        "nohup",
        "time",
        "uv",
        "run",
        "poetry",
    ]
)
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_OVERRIDE = re.compile(r"(\+{0,2}|~)([A-Za-z_][\w.@/-]*)=(.*)", re.DOTALL)
_OPTION = re.compile(r"--?([A-Za-z][\w.-]*)(?:=(.*))?$", re.DOTALL)
_SCRIPT = re.compile(r"[\w./@~-]+\.(?:py|sh|ipynb)$")


def command_settings(command: str) -> dict[str, str]:
    """Settings of a shell command by key; `ValueError` where its quotes do not close."""
    return dict(_settings(shlex.split(command)))


def _settings(words: list[str]) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(words) and (found := _ASSIGNMENT.fullmatch(words[at])):
        yield f"env.{found[1]}", found[2]
        at += 1
    program: list[str] = []
    launcher = ""
    while at < len(words):
        word = words[at]
        at += 1
        option, override = _OPTION.match(word), _OVERRIDE.fullmatch(word)
        if option and not _is_number(word):
            key = _named(option[1])
            takes_next = option[2] is None and at < len(words) and _is_value(words[at], key)
            value = option[2] if option[2] is not None else words[at] if takes_next else "true"
            at += takes_next
            if key == "m" and launcher == "python":
                program.append(value)
                launcher = ""
                continue
            yield _switched(f"{launcher}.{key}" if launcher else key, value)
        elif override:
            yield override[2], override[3]
        elif word.startswith("~"):
            yield word[1:], "removed"
        elif launcher or not program:
            name = word.rpartition("/")[2]
            program.append("python" if re.fullmatch(r"python[\d.]*", name) else name)
            launcher = program[-1] if program[-1] in LAUNCHERS and not _SCRIPT.fullmatch(word) else ""
        else:
            program.append(word)
    yield "program", " ".join(program)


def _is_value(word: str, key: str) -> bool:
    """Whether the word behind an option is its value: no option itself, no override, not the script."""
    if word.startswith("-") and not _is_number(word):
        return False
    return not (_OVERRIDE.fullmatch(word) and "." in word.partition("=")[0]) and not (
        _SCRIPT.fullmatch(word) and word.endswith(".py") and not re.search(r"config|script|file", key)
    )


def _is_number(word: str) -> bool:
    return re.fullmatch(r"-?\d[\d._]*(?:[eE][-+]?\d+)?", word) is not None


def _named(option: str) -> str:
    return option.replace("-", "_")


def _switched(key: str, value: str) -> tuple[str, str]:
    """--no-amp is amp=false."""
    if value == "true" and (found := re.fullmatch(r"no_?(\w+)", key)):
        return found[1].lstrip("_"), "false"
    return key, value
