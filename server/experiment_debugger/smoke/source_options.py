"""Options that the source of a training program declares, read from its syntax tree; nothing of it is run.

parser.add_argument("--resume", type=str)         {"resume": "--resume"}
@click.option("--ckpt-path")                      {"ckpt_path": "--ckpt-path"}
@dataclass class Args: resume: str = ""           {"resume": "--resume"}       with tyro.cli(Args) or HfArgumentParser
parser.add_argument("--resume", action="store_true")    takes no value, so it is none of them
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from experiment_debugger.discovery.names import words
from experiment_debugger.smoke.options import spelled

_DECLARING = words("add_argument option Option add_option")
_ABSL = words("DEFINE_string")
_NO_VALUE = re.compile(r"store_(?:true|false|const)|count|append_const|BooleanOptionalAction")
_NO_TEXT = words("int bool float")


def declared_options(source: str) -> dict[str, str]:
    """Name: how it is written, of every option that takes a text; empty where the source is no Python."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return {}
    found = {spelled(word.lstrip("-")): word for node in ast.walk(tree) for word in _of_call(node)}
    if "tyro" in source or "HfArgumentParser" in source or "simple_parsing" in source:
        found |= {name: f"--{name}" for node in ast.walk(tree) for name in _fields(node)}
    if "fire.Fire" in source or "typer" in source:
        found |= {name: f"--{name.replace('_', '-')}" for node in ast.walk(tree) for name in _parameters(node)}
    if "HfArgumentParser" in source and "resume_from_checkpoint" in source:
        found["resume_from_checkpoint"] = "--resume_from_checkpoint"  # a field of transformers.TrainingArguments
    if "LightningCLI" in source:
        found["ckpt_path"] = "--ckpt_path"  # of its subcommands fit, validate and test
    return found


def _of_call(node: ast.AST) -> Iterator[str]:
    """The long spellings of one declared option that takes a text."""
    if not isinstance(node, ast.Call):
        return
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    texts = [one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    if name in _ABSL and texts:
        yield f"--{texts[0]}"
    elif name in _DECLARING and not any(_refuses_text(keyword) for keyword in node.keywords):
        yield from (text for text in texts if re.fullmatch(r"--[A-Za-z][\w.-]*", text))


def _refuses_text(keyword: ast.keyword) -> bool:
    said = ast.unparse(keyword.value)
    if keyword.arg == "action":
        return bool(_NO_VALUE.search(said))
    return (keyword.arg == "type" and said in _NO_TEXT) or (keyword.arg == "is_flag" and said == "True")


def _fields(node: ast.AST) -> Iterator[str]:
    """Annotated fields of a class, as far as they may hold a text."""
    for one in node.body if isinstance(node, ast.ClassDef) else ():
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name) and _may_hold_text(one.annotation):
            yield one.target.id


def _parameters(node: ast.AST) -> Iterator[str]:
    """Parameters with a default of a function."""
    if isinstance(node, ast.FunctionDef) and node.args.defaults:
        for one in node.args.args[-len(node.args.defaults) :]:
            if one.annotation is None or _may_hold_text(one.annotation):
                yield one.arg


def _may_hold_text(annotation: ast.expr) -> bool:
    return bool(re.search(r"\b(?:str|Path|Any|PathLike)\b", ast.unparse(annotation)))
