"""A pickle as plain data: its opcodes are walked, nothing in it is imported, called or built.

GLOBAL 'torch._utils _rebuild_tensor_v2'    ->   Global("torch._utils._rebuild_tensor_v2")
... REDUCE                                  ->   Call(Global(...), (Persistent(("storage", ...)), 0, (4, 3), ...))
GLOBAL 'os system' ... REDUCE               ->   Call(Global("os.system"), ("rm -rf /",)): told, never done
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import IO, Any

from experiment_debugger.discovery.names import words

MOST_OPCODES = 20_000_000
"""More is no checkpoint but an attempt to keep us busy; the largest real state dicts have a few hundred thousand."""
_MARK = object()


class BrokenPickle(ValueError):
    """The opcodes end too early, or make no sense."""


@dataclass(frozen=True, slots=True)
class Global:
    """A name that unpickling would import."""

    name: str


@dataclass(slots=True)
class Call:
    """Something that unpickling would call: what it is given, and the state that it would be given afterwards."""

    target: Any
    args: Any
    state: Any = None
    items: dict[Any, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of what would be called."""
        return self.target.name if isinstance(self.target, Global) else ""


@dataclass(frozen=True, slots=True)
class Persistent:
    """A reference to data outside the pickle: a storage of a tensor."""

    id: Any


@dataclass(slots=True)
class Pickled:
    """The value of a pickle and the names that it would import, in order."""

    value: Any
    globals: tuple[str, ...]


def walk(stream: IO[bytes]) -> Pickled:
    """The next pickle of a stream; raises `BrokenPickle` where it is no pickle or ends too early."""
    machine = _Machine()
    try:
        for count, (opcode, argument, _) in enumerate(pickletools.genops(stream)):
            if count > MOST_OPCODES:
                raise BrokenPickle(f"more than {MOST_OPCODES} opcodes")
            machine.step(opcode.name, argument)
    except (ValueError, IndexError, KeyError, TypeError, EOFError, OverflowError, RecursionError) as problem:
        raise BrokenPickle(str(problem)[:160] or type(problem).__name__) from None
    if not machine.stack or machine.stack[-1] is _MARK:
        raise BrokenPickle("a pickle without a value")
    return Pickled(machine.stack[-1], tuple(machine.globals))


class _Machine:
    """The stack and memo of the pickle machine; values are plain data, `Global`, `Call` and `Persistent`."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}
        self.globals: dict[str, None] = {}

    def step(self, name: str, argument: Any) -> None:
        if name in _PUSHED:
            self.stack.append(argument)
        elif name in _CONSTANTS:
            self.stack.append(_CONSTANTS[name]())
        elif name in _HANDLERS:
            _HANDLERS[name](self, argument)
        elif name not in _IGNORED:
            raise BrokenPickle(f"opcode {name}")

    def pop_to_mark(self) -> list[Any]:
        at = len(self.stack) - 1
        while self.stack[at] is not _MARK:
            at -= 1
            if at < 0:
                raise BrokenPickle("no mark")
        items = self.stack[at + 1 :]
        del self.stack[at:]
        return items

    def remember(self, name: str) -> Global:
        self.globals.setdefault(name)
        return Global(name)


_IGNORED = frozenset({"PROTO", "FRAME", "STOP"})
_PUSHED = words(
    "INT BININT BININT1 BININT2 LONG LONG1 LONG4 FLOAT BINFLOAT STRING BINSTRING SHORT_BINSTRING UNICODE BINUNICODE "
    "SHORT_BINUNICODE BINUNICODE8 BINBYTES SHORT_BINBYTES BINBYTES8 BYTEARRAY8"
)
_CONSTANTS: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_LIST": list,
    "EMPTY_DICT": dict,
    "EMPTY_TUPLE": tuple,
    "EMPTY_SET": set,
    "MARK": lambda: _MARK,
    "NEXT_BUFFER": lambda: None,
}


def _key(value: Any) -> Any:
    """A value as a key of a dict: what cannot be one is known by its text."""
    try:
        hash(value)
    except TypeError:
        return repr(value)[:200]
    return value


def _into(target: Any, pairs: list[Any]) -> None:
    """Set items of a dict, or of an object that would be one (an OrderedDict)."""
    items = target.items if isinstance(target, Call) else target
    if isinstance(items, dict):
        for key, value in zip(pairs[::2], pairs[1::2], strict=True):
            items[_key(key)] = value


def _extend(target: Any, values: list[Any]) -> None:
    if isinstance(target, list):
        target.extend(values)
    elif isinstance(target, set):
        target.update(_key(value) for value in values)


def _call(machine: _Machine, _: Any) -> None:
    args = machine.stack.pop()
    target = machine.stack.pop()
    machine.stack.append(Call(target, args))


def _build(machine: _Machine, _: Any) -> None:
    state = machine.stack.pop()
    target = machine.stack[-1]
    if isinstance(target, Call):
        target.state = state


def _object(machine: _Machine, _: Any) -> None:
    target, *args = machine.pop_to_mark()
    machine.stack.append(Call(target, tuple(args)))


def _instance(machine: _Machine, argument: Any) -> None:
    machine.stack.append(Call(machine.remember(argument.replace(" ", ".", 1)), tuple(machine.pop_to_mark())))


def _extended_new(machine: _Machine, _: Any) -> None:
    keywords, args, target = (machine.stack.pop() for _ in range(3))
    machine.stack.append(Call(target, (args, keywords)))


def _stack_global(machine: _Machine, _: Any) -> None:
    name = machine.stack.pop()
    machine.stack.append(machine.remember(f"{machine.stack.pop()}.{name}"))


def _tuple_of(count: int) -> Callable[[_Machine, Any], None]:
    def build(machine: _Machine, _: Any) -> None:
        items = tuple(machine.stack[-count:])
        del machine.stack[-count:]
        machine.stack.append(items)

    return build


def _pairs(items: list[Any]) -> dict[Any, Any]:
    return {_key(key): value for key, value in zip(items[::2], items[1::2], strict=True)}


def _set_item(machine: _Machine, _: Any) -> None:
    pair = machine.stack[-2:]
    del machine.stack[-2:]
    _into(machine.stack[-1], pair)


def _append(machine: _Machine, _: Any) -> None:
    value = machine.stack.pop()
    _extend(machine.stack[-1], [value])


def _with_items(put: Callable[[Any, list[Any]], None]) -> Callable[[_Machine, Any], None]:
    def apply(machine: _Machine, _: Any) -> None:
        items = machine.pop_to_mark()
        put(machine.stack[-1], items)

    return apply


def _collected(make: Callable[[list[Any]], Any]) -> Callable[[_Machine, Any], None]:
    return lambda machine, _: machine.stack.append(make(machine.pop_to_mark()))


_HANDLERS: dict[str, Callable[[_Machine, Any], Any]] = {
    "POP": lambda machine, _: machine.stack.pop(),
    "POP_MARK": lambda machine, _: machine.pop_to_mark(),
    "DUP": lambda machine, _: machine.stack.append(machine.stack[-1]),
    "APPEND": _append,
    "APPENDS": _with_items(_extend),
    "ADDITEMS": _with_items(_extend),
    "SETITEM": _set_item,
    "SETITEMS": _with_items(_into),
    "LIST": _collected(list),
    "TUPLE": _collected(tuple),
    "DICT": _collected(_pairs),
    "FROZENSET": _collected(lambda items: frozenset(map(_key, items))),
    "TUPLE1": _tuple_of(1),
    "TUPLE2": _tuple_of(2),
    "TUPLE3": _tuple_of(3),
    "PUT": lambda machine, at: machine.memo.__setitem__(at, machine.stack[-1]),
    "BINPUT": lambda machine, at: machine.memo.__setitem__(at, machine.stack[-1]),
    "LONG_BINPUT": lambda machine, at: machine.memo.__setitem__(at, machine.stack[-1]),
    "MEMOIZE": lambda machine, _: machine.memo.__setitem__(len(machine.memo), machine.stack[-1]),
    "GET": lambda machine, at: machine.stack.append(machine.memo[at]),
    "BINGET": lambda machine, at: machine.stack.append(machine.memo[at]),
    "LONG_BINGET": lambda machine, at: machine.stack.append(machine.memo[at]),
    "GLOBAL": lambda machine, name: machine.stack.append(machine.remember(name.replace(" ", ".", 1))),
    "STACK_GLOBAL": _stack_global,
    "INST": _instance,
    "REDUCE": _call,
    "NEWOBJ": _call,
    "NEWOBJ_EX": _extended_new,
    "OBJ": _object,
    "BUILD": _build,
    "PERSID": lambda machine, name: machine.stack.append(Persistent(name)),
    "BINPERSID": lambda machine, _: machine.stack.append(Persistent(machine.stack.pop())),
    "EXT1": lambda machine, code: machine.stack.append(machine.remember(f"extension.{code}")),
    "EXT2": lambda machine, code: machine.stack.append(machine.remember(f"extension.{code}")),
    "EXT4": lambda machine, code: machine.stack.append(machine.remember(f"extension.{code}")),
    "READONLY_BUFFER": lambda _machine, _: None,
}
