"""Hyper-parameters that stand in Python code, by the place and name they have there.

parser.add_argument("--lr", default=3e-4)        lr: 0.0003
LEARNING_RATE = 3e-4                             LEARNING_RATE: 0.0003
torch.optim.AdamW(params, weight_decay=0.1)      AdamW.weight_decay: 0.1
criterion = nn.CrossEntropyLoss()                criterion: nn.CrossEntropyLoss
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator

from experiment_debugger.compare.config_files import plain

_CHOSEN = re.compile(
    r"(?i)(?:^|_)(?:criterion|loss(?:_?fn|_func)?|optim(?:izer)?|(?:lr_)?scheduler|model|net|metrics?|sampler)$"
)
"""Names whose constructor is itself a decision."""
_MADE = re.compile(r"(?:^|\.)[A-Z]\w*$|(?:^|\.)(?:F|functional|optax|optim)\.\w+$")
"""Constructors, and losses that are functions; `loss = step(batch)` chooses nothing."""
_PLACES = frozenset({"dim", "axis", "dims", "axes", "keepdim"})
"""Where a function works, not with what: a wrong one is a bug, and its repair changes no setting."""
LONGEST = 80  # characters of a value; longer ones are texts, not settings


def code_settings(text: str) -> dict[str, tuple[str, ...]]:
    """Settings of a module by name, each with its values in order; `ValueError` where it does not parse."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, RecursionError, MemoryError) as problem:
        raise ValueError(f"does not parse: {getattr(problem, 'msg', problem)}") from None
    found: dict[str, list[str]] = defaultdict(list)
    for node in ast.walk(tree):
        for name, value in (*_of_node(node), *_of_body(node)):
            if len(value) <= LONGEST:
                found[name].append(value)
    return {name: tuple(sorted(values)) for name, values in found.items()}


def _of_node(node: ast.AST) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Call):
        yield from _of_call(node)
    elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
        made = _name(node.value.func)
        if _MADE.search(made):
            yield from ((name, made) for name in map(_target, node.targets) if _CHOSEN.search(name))
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        yield from _of_defaults(node.args)


def _of_call(node: ast.Call) -> Iterator[tuple[str, str]]:
    name = _name(node.func).rpartition(".")[2]
    if name in {"add_argument", "option", "Option"}:
        flag = next((value for word in node.args if (value := _text(word)) and value.startswith("--")), None)
        default = next((one.value for one in node.keywords if one.arg == "default"), None)
        if flag and default is not None and (value := _literal(default)) is not None:
            yield flag.lstrip("-").replace("-", "_"), value
        return
    for keyword in node.keywords:
        if keyword.arg and keyword.arg not in _PLACES and (value := _literal(keyword.value)) is not None:
            yield f"{name}.{keyword.arg}" if name else keyword.arg, value


def _of_body(node: ast.AST) -> Iterator[tuple[str, str]]:
    """What a module or a class sets; variables of a function are its own business."""
    if not isinstance(node, (ast.Module, ast.ClassDef)):
        return
    for line in node.body:
        targets = (
            line.targets if isinstance(line, ast.Assign) else [line.target] if isinstance(line, ast.AnnAssign) else []
        )
        value = getattr(line, "value", None)
        name = _target(targets[0]) if len(targets) == 1 else ""
        if not name or value is None:
            continue
        if isinstance(value, ast.Dict):
            yield from _of_dict(name, value)
        elif (literal := _literal(value)) is not None:
            yield name, literal


def _target(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _of_dict(prefix: str, node: ast.Dict) -> Iterator[tuple[str, str]]:
    for key, child in zip(node.keys, node.values, strict=True):
        name = _text(key) if key is not None else None
        if name is None:
            continue
        if isinstance(child, ast.Dict):
            yield from _of_dict(f"{prefix}.{name}", child)
        elif (value := _literal(child)) is not None:
            yield f"{prefix}.{name}", value


def _of_defaults(arguments: ast.arguments) -> Iterator[tuple[str, str]]:
    positional = [*arguments.posonlyargs, *arguments.args]
    pairs = [*zip(positional[len(positional) - len(arguments.defaults) :], arguments.defaults, strict=True)]
    pairs += [
        (one, default) for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if default
    ]
    for argument, default in pairs:
        if (value := _literal(default)) is not None:
            yield argument.arg, value


def _literal(node: ast.expr) -> str | None:
    """A literal as text; None for everything that is computed."""
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
    return plain(value)


def _text(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_name(node.value)}.{node.attr}".lstrip(".")
    return node.id if isinstance(node, ast.Name) else ""
