"""What a verb is: one function with described parameters, from which both surfaces build themselves.

    Command(debug, title="Debug a run", exit_code=True)

is `experiment-debugger debug 42 --mode nan` on the command line and the tool `debug(run_id="42", mode="nan")` over MCP.
Nothing here imports pydantic or mcp, because `--help` must not wait for them.
"""

from __future__ import annotations

import inspect
import threading
import types
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, Literal, Union, get_args, get_origin

Surface = Literal["both", "cli", "mcp"]
BARE = types.UnionType


@dataclass(frozen=True, slots=True)
class Call:
    """What a surface tells a verb beside its arguments.

    `typed`: a person typed the arguments; only then may a path lead out of the project. `consent`: the user, or the
    operator, has agreed that the verb starts a command; `agreed` is the question as it was shown to them. `progress`
    takes (seconds done, seconds planned, message) from any thread; `cancelled` is set when nobody waits for the answer
    any more.
    """

    typed: bool = False
    consent: bool = False
    agreed: str | None = None
    progress: Callable[[float, float, str], None] = lambda _done, _total, _message: None
    cancelled: threading.Event = field(default_factory=threading.Event)


NOBODY = Call()
CALL: ContextVar[Call] = ContextVar("CALL", default=NOBODY)


@dataclass(frozen=True, slots=True)
class Param:
    """What a surface must know of one parameter, beyond its name, type and default.

    Without `help` the name says it all to a model. `pattern` and `numbers` (a number is as good as its text: "debug run
    42") are for MCP, where a model writes the value; a person on the command line may type any path, which `cli_help`
    may say. `name` is what the surfaces call it where that is no argument of the function: `with` is a word of Python,
    `plot` is a file here and a flag there.
    """

    help: str
    cli_help: str = ""
    positional: bool = False
    metavar: str | None = None
    ge: int | None = None
    le: int | None = None
    pattern: str | None = None
    numbers: bool = False
    surface: Surface = "both"
    name: str = ""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter as a surface sees it: `type` without Annotated and without `| None`.

    `argument` is its name in the function.
    """

    argument: str
    name: str
    type: Any
    default: Any
    about: Param

    @property
    def required(self) -> bool:
        """True when the function has no default for it."""
        return self.default is inspect.Parameter.empty


@dataclass(frozen=True)
class Command:
    """One verb. Its name, description and inputs are those of the function.

    `show` renders a structured answer for people; `exit_code` offers the option that turns a verdict into a status;
    `picture` says that the answer may be an image alone. `question` marks a verb that starts a command: it takes the
    verb's arguments, has no side effects, and gives what the user must agree to (None: nothing would be started).
    """

    function: Callable[..., Any]
    title: str
    result: Literal["text", "structured"] = "text"
    show: Callable[[Any], str] = str
    exit_code: bool = False
    picture: bool = False
    question: Callable[..., str | None] | None = None
    surface: Surface = "both"
    read_only: bool = True
    destructive: bool = False
    idempotent: bool = True
    open_world: bool = False

    @property
    def tool(self) -> str:
        """The name over MCP."""
        return self.function.__name__

    @property
    def verb(self) -> str:
        """The name on the command line."""
        return self.tool.replace("_", "-")

    @cached_property
    def description(self) -> str:
        """The first paragraph of the docstring, on one line."""
        paragraph = (inspect.getdoc(self.function) or "").split("\n\n", 1)[0]
        return " ".join(paragraph.split())

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """The function's parameters in order."""
        return tuple(_parameter(item) for item in inspect.signature(self.function).parameters.values())

    def of(self, surface: Literal["cli", "mcp"]) -> tuple[Parameter, ...]:
        """The parameters that this surface offers."""
        return tuple(item for item in self.parameters if item.about.surface in {"both", surface})


def _parameter(item: inspect.Parameter) -> Parameter:
    annotation, about = get_args(item.annotation)[:2] if get_origin(item.annotation) is Annotated else (None, None)
    if not isinstance(about, Param):
        raise TypeError(f"parameter {item.name}: expected Annotated[..., Param(...)], found {item.annotation!r}")
    if get_origin(annotation) in {Union, BARE}:
        annotation = next(kind for kind in get_args(annotation) if kind is not types.NoneType)
    return Parameter(item.name, about.name or item.name, annotation, item.default, about)
