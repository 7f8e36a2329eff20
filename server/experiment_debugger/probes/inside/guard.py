"""Keeps the run's own artifacts as they are: writing, renaming or removing one is refused.

{"kind": "blocked", "path": "/p/checkpoints/last.pt", "operation": "open"}
PermissionError: experiment-debugger: /p/checkpoints/last.pt belongs to the run's artifacts; write somewhere else

Python announces what it does to files by audit events. Writers in C++ and Rust (torch.save, safetensors) announce
nothing; their Python functions are wrapped. Other programs (`os.system("rm ...")`) are not seen here.
"""

from __future__ import annotations

import functools
import os
import sys
from typing import Any, Callable, Iterator

from .agent import Agent

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def install(agent: Agent) -> None:
    """Listen from now on: an audit hook cannot be taken away."""
    if not agent.config.protected:
        return
    guard = Guard(agent, agent.config.protected)
    sys.addaudithook(guard.audit)
    agent.when_imported("torch", guard.wrap_torch)
    agent.when_imported("safetensors", guard.wrap_safetensors)


class Guard:
    """`protected` are files, or folders with all that they hold."""

    def __init__(self, agent: Agent, protected: list[str]) -> None:
        self._agent = agent
        self._paths = {form for path in protected for form in (_entry(path), os.path.realpath(path))}
        self._folders = tuple(path + os.sep for path in self._paths if os.path.isdir(path))

    def audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Called by the interpreter for every audited event: most are none of ours, and most files are only read."""
        if event == "open":
            if arguments[2] & _WRITES:
                self.check("open", arguments[0], followed=True)
        elif event in _CHANGES:
            for path, descriptor, followed in _CHANGES[event](arguments):
                self.check(event, path, descriptor, followed=followed)

    def check(self, operation: str, path: Any, descriptor: int | None = None, *, followed: bool = False) -> None:
        """Refuse an operation on a protected path; `followed` where it acts on what a link points to."""
        try:
            text = _located(path, descriptor)
            target = None if text is None else os.path.realpath(text) if followed else _entry(text)
        except (OSError, TypeError, ValueError):
            return  # the operation will fail by itself
        if target is not None and self._is_protected(target, operation):
            self._agent.safely(self._agent.record)("blocked", path=target, operation=operation)
            raise PermissionError(f"experiment-debugger: {target} belongs to the run's artifacts; write somewhere else")

    def _is_protected(self, path: str, operation: str) -> bool:
        if path in self._paths or path.startswith(self._folders):
            return True
        holds_some = operation in ("os.rename", "shutil.rmtree")
        return holds_some and any(each.startswith(path + os.sep) for each in self._paths)

    def wrap_torch(self, torch: Any) -> None:
        """Its archives are written in C++."""
        torch.save = self._checked(torch.save, "torch.save", place=1)
        torch.jit.save = self._checked(torch.jit.save, "torch.jit.save", place=1)

    def wrap_safetensors(self, module: Any) -> None:
        """All its save_file functions end in this one, which the modules of the package import from here."""
        module.serialize_file = self._checked(module.serialize_file, "safetensors", place=1)

    def _checked(self, function: Callable[..., Any], operation: str, place: int) -> Callable[..., Any]:
        """The function, which is given a path or an open file as its argument number `place`, or as f or filename."""

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            path = args[place] if len(args) > place else kwargs.get("f", kwargs.get("filename"))
            if isinstance(path, (str, bytes, os.PathLike)):
                self.check(operation, path, followed=True)
            return function(*args, **kwargs)

        return call


Touched = Iterator["tuple[Any, int | None, bool]"]
"""Path, descriptor of the folder that it is relative to, and whether a link is followed."""


def _first_path(arguments: tuple[Any, ...]) -> Touched:
    yield arguments[0], (arguments[1] if len(arguments) > 1 else None), False


def _truncated(arguments: tuple[Any, ...]) -> Touched:
    yield arguments[0], None, True


def _source_and_target(arguments: tuple[Any, ...]) -> Touched:
    yield arguments[0], arguments[2], False
    yield arguments[1], arguments[3], False


def _target(arguments: tuple[Any, ...]) -> Touched:
    yield arguments[1], arguments[-1], False


_CHANGES: dict[str, Callable[[tuple[Any, ...]], Touched]] = {
    "os.remove": _first_path,
    "os.rmdir": _first_path,
    "os.truncate": _truncated,
    "os.rename": _source_and_target,
    "os.link": _target,
    "os.symlink": _target,
    "shutil.rmtree": _first_path,
}


def _located(path: Any, descriptor: int | None) -> str | None:
    """The path as text, made absolute; None for an open file, whose opening was checked."""
    if isinstance(path, int):
        return None
    text = os.fsdecode(path)
    if descriptor is not None and descriptor >= 0 and not os.path.isabs(text):
        text = os.path.join(os.readlink(f"/proc/self/fd/{descriptor}"), text)
    return text


def _entry(path: str) -> str:
    """The entry in its real folder: a link stays a link."""
    folder, name = os.path.split(os.path.abspath(path))
    return os.path.join(os.path.realpath(folder), name)
