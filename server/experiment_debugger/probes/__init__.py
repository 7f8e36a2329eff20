"""Code that runs inside the user's Python processes, and how it gets there.

    PYTHONPATH=<probes>/path:$PYTHONPATH              `path` holds nothing but a sitecustomize module
    EXPERIMENT_DEBUGGER_PROBE=<records>/probe.json    what the agent shall do; without it nothing happens

Every Python process below inherits both; each writes `probe-<pid>.jsonl` next to probe.json, whose first line says that
the agent was loaded. Only this module runs in our own interpreter; the rest is Python 3.8 and standard library.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

INJECTION = Path(__file__).parent / "path"
LAUNCHER = Path(__file__).parent / "launch.py"
AGENT_CONFIG = "EXPERIMENT_DEBUGGER_PROBE"

_PYTHON = re.compile(r"python3?(\.\d+)?")
_LOSES_THE_PATH = frozenset("IES")
"""Options under which PYTHONPATH is not read, or sitecustomize not imported."""
_TAKES_A_VALUE = frozenset("WX")
_CANNOT_BE_LAUNCHED = frozenset("cx")
"""-c has no file to run; -x would skip the launcher's own first line."""


def injected(env: Mapping[str, str], config: Path) -> dict[str, str]:
    """The environment under which Python processes load the agent."""
    inherited = env.get("PYTHONPATH")
    path = os.pathsep.join([str(INJECTION), inherited] if inherited else [str(INJECTION)])
    return {**env, "PYTHONPATH": path, AGENT_CONFIG: str(config)}


def launched(argv: Sequence[str]) -> tuple[str, ...]:
    """The command, led through our launcher where the interpreter's options hide sitecustomize.

    python -I train.py --lr 1    python -I <probes>/launch.py train.py --lr 1
    python -Em pkg.train         python -E <probes>/launch.py -m pkg.train
    python train.py              unchanged, as are -c and a program read from standard input
    """
    if not argv or not _PYTHON.fullmatch(os.path.basename(argv[0])):
        return tuple(argv)
    options, program = _split(argv[1:])
    letters = {letter for option in options if not option.startswith("--") for letter in _letters(option)}
    if not letters & _LOSES_THE_PATH or letters & _CANNOT_BE_LAUNCHED or program[:1] in (["-c"], ["-"], []):
        return tuple(argv)
    return (argv[0], *options, str(LAUNCHER), *program)


def _split(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Options of the interpreter and what it runs: ("-W", "error", "-I"), ("-m", "pkg", "--lr", "1")."""
    options: list[str] = []
    rest = list(arguments)
    while rest and rest[0].startswith("-") and rest[0] != "-":
        word = rest.pop(0)
        if word == "--":
            return [*options, word], rest
        program = re.match(r"-([a-zA-Z?]*?)([cm])(.*)", word, re.DOTALL) if _names_a_program(word) else None
        if program:
            flags, kind, value = program.groups()
            return [*options, *([f"-{flags}"] if flags else [])], [f"-{kind}", *([value] if value else []), *rest]
        options.append(word)
        if word == "--check-hash-based-pycs" or (not word.startswith("--") and word[-1] in _TAKES_A_VALUE and rest):
            options.append(rest.pop(0))
    return options, rest


def _names_a_program(word: str) -> bool:
    """Whether an option holds -c or -m: "-Im" and "-cpass" do, "-Wcm" and "--check-hash-based-pycs" do not."""
    return not word.startswith("--") and bool({"c", "m"} & set(_letters(word)))


def _letters(option: str) -> str:
    """The flags of a combined option up to the first one that takes the rest as its value: "-sEWerror" is "sEW"."""
    found = re.match(r"-([^WXcm]*[WXcm]?)", option)
    return found[1] if found else ""
