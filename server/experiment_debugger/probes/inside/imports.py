"""Runs a callback after a module was imported, and leaves no trace of it.

A finder stands on sys.meta_path while somebody waits. It asks the other finders for the module's spec and covers
`exec_module` of that one loader object by an attribute of the same name, which goes away when the module has been
executed: its loader and spec are then what they always were, for importlib.reload, importlib.resources and inspect.
"""

from __future__ import annotations

import sys
import threading
from typing import Any, Callable, Sequence

Callback = Callable[[Any], None]


class _Finder:
    def __init__(self) -> None:
        self._waiting: dict[str, list[Callback]] = {}
        self._lock = threading.RLock()

    def wait(self, name: str, callback: Callback) -> None:
        with self._lock:
            self._waiting.setdefault(name, []).append(callback)
            if self not in sys.meta_path:
                sys.meta_path.insert(0, self)

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: Any = None) -> Any:
        """The spec that the other finders give, its loader covered; None for names that nobody waits for."""
        if name not in self._waiting:
            return None
        spec = self._found_by_others(name, path, target)
        if spec is not None and not isinstance(spec.loader, type) and hasattr(spec.loader, "exec_module"):
            self._cover(spec.loader, name)
        return spec

    def _found_by_others(self, name: str, path: Sequence[str] | None, target: Any) -> Any:
        for finder in list(sys.meta_path):
            find_spec = None if finder is self else getattr(finder, "find_spec", None)
            spec = find_spec(name, path, target) if find_spec else None
            if spec is not None:
                return spec
        return None

    def _cover(self, loader: Any, name: str) -> None:
        if "exec_module" in getattr(loader, "__dict__", {}):
            return  # somebody asked for the spec before
        execute = loader.exec_module

        def exec_module(module: Any) -> None:
            execute(module)
            if module.__name__ == name:  # a loader may serve several modules
                vars(loader).pop("exec_module", None)
                self._imported(name, module)

        try:
            loader.exec_module = exec_module
        except AttributeError:
            return  # a loader without room for attributes

    def _imported(self, name: str, module: Any) -> None:
        with self._lock:
            callbacks = self._waiting.pop(name, [])
            if not self._waiting and self in sys.meta_path:
                sys.meta_path.remove(self)
        for callback in callbacks:
            callback(module)


_finder = _Finder()


def when_imported(name: str, callback: Callback) -> None:
    """Call back with the module once it has been imported; at once where it already is.

    An exception of a callback reaches the import statement: see `Agent.when_imported`.
    """
    module = sys.modules.get(name)
    if module is None or getattr(getattr(module, "__spec__", None), "_initializing", False):
        _finder.wait(name, callback)
    else:
        callback(module)
