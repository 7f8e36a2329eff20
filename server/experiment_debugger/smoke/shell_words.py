"""A line of shell as the words of an argument list, as far as a list can express it.

SEED=1 python train.py --name "a b"    {"SEED": "1"}, ("python", "train.py", "--name", "a b")
cd src && python train.py --out $OUT   DebuggerError: `&&` needs a shell
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from experiment_debugger.errors import DebuggerError

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_QUOTED = re.compile(r"'[^']*'|\\.|\"(?:[^\"\\$`]|\\.)*\"", re.DOTALL)
"""What a shell takes literally: single quotes, escaped characters, and double quotes without `$` and backticks."""
_SYNTAX = re.compile(
    r"&&|\|\||[;|&<>()`\n*?]|\$\{?\w*\}?|(?<![\w/.=-])~(?=/|\s|$)|\{[^{}\s]*(?:,|\.\.)[^{}\s]*\}|(?:^|(?<=\s))#"
)
_OPERATORS = frozenset(";&|<>()")


def argument_list(text: str, at: str) -> tuple[dict[str, str], tuple[str, ...]]:
    """(the settings in front, the words) of one command; raises `DebuggerError` where it needs a shell.

    `at` is where the text stands.
    """
    line = re.sub(r"\\\r?\n", " ", text).strip()
    if found := _SYNTAX.search(_without_literals(line)):
        sign = "several lines" if found[0] == "\n" else f"`{found[0]}`"
        raise DebuggerError(
            f"{at}: expected a command of plain words; found {sign}, which needs a shell; "
            "put it into a job script, or give the command after --"
        )
    try:
        words = shlex.split(line)
    except ValueError as problem:
        raise DebuggerError(
            f"{at}: expected a command; found {str(problem).lower()}; give the command after --"
        ) from None
    return leading_settings(words)


def _without_literals(line: str) -> str:
    return _QUOTED.sub(lambda quoted: "_" * len(quoted[0]), line)


def leading_settings(words: list[str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """`VAR=value` words in front of a command, and the command."""
    environment: dict[str, str] = {}
    for index, word in enumerate(words):
        setting = _ASSIGNMENT.fullmatch(word)
        if setting is None:
            return environment, tuple(words[index:])
        environment[setting[1]] = setting[2]
    return environment, ()


def script_commands(text: str) -> Iterator[tuple[int, list[str]]]:
    """The simple commands of a shell script with their 1-based lines, without settings in front.

    What a here-document feeds to a program is no command of the script.
    """
    end = ""
    for number, line in logical_lines(text):
        if end:
            end = "" if line.strip() == end else end
            continue
        document = re.search(r"<<-?\s*['\"]?(\w+)", line)
        end = document[1] if document else ""
        for words in _simple_commands(line):
            yield number, words


def words_and_operators(line: str) -> list[str]:
    """`OUT=x python "a b" > log  # why` is `OUT=x`, `python`, `a b`, `>` and `log`."""
    comment = re.search(r"(?:^|(?<=\s))#", _without_literals(line))
    lexer = shlex.shlex(line[: comment.start()] if comment else line, posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""  # its own comments begin inside of words, too: `$#`
    try:
        return list(lexer)
    except ValueError:  # a quote that ends on a later line
        return line.split()


def script_words(text: str) -> Iterator[list[str]]:
    """The words of every simple command of a shell script."""
    return (words for _, words in script_commands(text))


def logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines without comments, continued ones joined, each with the number of its first line."""
    start, whole = 1, ""
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        if not whole:
            start = number
        if line.endswith("\\"):
            whole += line[:-1] + " "
            continue
        whole += line
        if not whole.lstrip().startswith("#"):
            yield start, whole
        whole = ""
    if whole:
        yield start, whole


def _simple_commands(line: str) -> Iterator[list[str]]:
    """`a && X=1 b | c` is three commands: a, b and c."""
    command: list[str] = []
    for token in [*words_and_operators(line), ";"]:
        if not set(token) <= _OPERATORS:
            command.append(token)
        elif command:
            words = list(leading_settings(command)[1])
            command = []
            if words:
                yield words
