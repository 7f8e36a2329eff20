"""What a job script says about folders, as far as it can be known without running it.

OUT=/scratch/$USER/run42         assignments: {"OUT": "/scratch/$USER/run42"}
cd "$(dirname "$0")/.."          changes of folder: $(dirname "$0")/..
--out $OUT/ckpt                  expanded with {"USER": "ann", "OUT": ...}: /scratch/ann/run42/ckpt
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Mapping

from experiment_debugger.smoke.shell_words import logical_lines

SHELL = (".sh", ".bash", ".sbatch", ".slurm", ".pbs")
DEEPEST = 8
_ASSIGNMENT = re.compile(r"^\s*(?:(?:export|readonly|local|declare)\s+)?([A-Za-z_]\w*)=(.*)$")
_CHANGE = re.compile(r"(?:^|[;&|({]|\bthen\b|\bdo\b)\s*(?:cd|pushd)\s+(?:-[LP]\s+|--\s+)*(?=\S)")
_SUBSTITUTION = re.compile(r"\$\((?:[^()]|\([^()]*\))*\)|`[^`]*`")
_OWN_PLACE = re.compile(r"\$0|BASH_SOURCE|\bpwd\b|\bPWD\b|show-toplevel")
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)(?::?-([^}]*))?\})")
_UNKNOWN = "\0"


def is_shell(name: str, text: str) -> bool:
    """Whether a file is a shell script, by its extension or first line."""
    return name.endswith(SHELL) or (text.startswith("#!") and "sh" in text.partition("\n")[0])


def assignments(text: str) -> dict[str, str]:
    """Variables that a script sets, the last value of each, unexpanded."""
    found = (_ASSIGNMENT.match(line) for _, line in logical_lines(text))
    return {one[1]: _first_word(one[2]) for one in found if one}


def changes_of_folder(text: str) -> Iterator[str]:
    """What stands behind `cd` and `pushd`, without the quotes around it."""
    for _, line in logical_lines(text):
        yield from (_first_word(line[found.end() :]) for found in _CHANGE.finditer(line))


def expanded(value: str, variables: Mapping[str, str], root: str) -> str | None:
    """The value with variables put in; None where one is unknown. Scripts start in the root; `0` is the script."""
    for _ in range(DEEPEST):
        before = value
        value = _SUBSTITUTION.sub(lambda found: _printed(_inner(found[0]), variables, root), value)
        value = _VARIABLE.sub(lambda found: _value(found, variables), value).replace('"', "")
        if value == before:
            break
    return None if _UNKNOWN in value or "$" in value else value


def is_own_place(value: str) -> bool:
    """Whether a value begins with where the script is or runs: in a copy that is the copy."""
    found = _SUBSTITUTION.match(value)
    return bool(found and _OWN_PLACE.search(found[0])) or value.startswith(("$PWD", "${PWD}"))


def _printed(command: str, variables: Mapping[str, str], root: str) -> str:
    """What a substitution prints, as far as it is about folders: `cd .. && pwd`, `dirname "$0"`, `mktemp -d`."""
    if targets := list(changes_of_folder(command)):
        place = expanded(targets[-1], variables, root)
        return _UNKNOWN if place is None else os.path.normpath(os.path.join(root, place))
    if "mktemp" in command:
        return os.path.join(tempfile.gettempdir(), "new")
    if not _OWN_PLACE.search(command):
        return _UNKNOWN
    of_script = "$0" in command or "BASH_SOURCE" in command
    path = os.path.join(root, variables.get("0", "")) if of_script else root
    return os.path.dirname(path) if of_script and "dirname" in command else path


def _inner(substitution: str) -> str:
    return substitution[2:-1] if substitution.startswith("$(") else substitution[1:-1]


def _value(found: re.Match[str], variables: Mapping[str, str]) -> str:
    default = found[3] if found[3] is not None else _UNKNOWN
    return variables.get(found[1] or found[2]) or default


def _first_word(text: str) -> str:
    """The first word of shell text; quotes and substitutions may hold blanks, quotes around all of it are dropped."""
    closing: list[str] = []
    for index, char in enumerate(text):
        inner = closing[-1] if closing else ""
        if char == inner:
            closing.pop()
        elif inner == "'":
            continue
        elif char == "(" and (inner != '"' or text[index - 1] == "$"):
            closing.append(")")
        elif char in "\"'`" and not (inner == '"' and char == "'"):
            closing.append(char)
        elif not closing and char in " \t;&|)":
            return _unquoted(text[:index])
    return _unquoted(text)


def _unquoted(word: str) -> str:
    return word[1:-1] if len(word) > 1 and word[0] == word[-1] and word[0] in "\"'" else word
