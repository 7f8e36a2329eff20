"""Runs a script or a module as the interpreter itself does, so that the program cannot tell the difference."""

from __future__ import annotations

import io
import os
import pkgutil
import runpy
import sys
from importlib.machinery import SourceFileLoader
from types import CodeType
from typing import Any

INJECTION = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "path")


def run(arguments: list[str]) -> None:
    """`["train.py", "--lr", "1"]` or `["-m", "pkg.train", "--lr", "1"]`."""
    namespace = vars(sys.modules["__main__"])
    for name in [name for name in namespace if not name.startswith("__")]:
        del namespace[name]
    sys.path[:] = [entry for entry in sys.path if entry != INJECTION]  # still there under -S
    try:
        if arguments[0] == "-m":
            _run_module(arguments[1], arguments[2:])
        else:
            _run_script(arguments[0], arguments, namespace)
    except Exception as error:  # printed as by the interpreter, without the frames of this module
        error.__traceback__ = _of_the_program(error)
        sys.excepthook(type(error), error, error.__traceback__)
        sys.exit(1)


def _run_module(name: str, arguments: list[str]) -> None:
    sys.argv[:] = ["-m", *arguments]
    _set_first_path(os.getcwd())
    runpy._run_module_as_main(name)  # type: ignore[attr-defined]  # noqa: SLF001  # what the interpreter calls for -m


def _run_script(path: str, arguments: list[str], namespace: dict[str, Any]) -> None:
    sys.argv[:] = arguments
    full = path if sys.version_info < (3, 9) else os.path.abspath(path)
    if pkgutil.get_importer(full) is not None:  # a folder or an archive with a __main__ module
        if _has_no_first_path():
            sys.path.insert(0, full)
        sys.path[0] = full
        runpy._run_module_as_main("__main__", False)  # type: ignore[attr-defined]  # noqa: FBT003, SLF001
        return
    code = _code(full)
    _set_first_path(os.path.dirname(os.path.realpath(path)))
    namespace.update(__file__=full, __loader__=SourceFileLoader("__main__", full), __doc__=None)
    exec(code, namespace)  # noqa: S102  # the user's own program


def _code(path: str) -> CodeType:
    try:
        with io.open_code(path) as file:
            compiled: CodeType | None = pkgutil.read_code(file)
        if compiled is not None:
            return compiled
        with io.open_code(path) as file:
            return compile(file.read(), path, "exec")
    except OSError as error:
        sys.stderr.write(f"{sys.executable}: can't open file {path!r}: [Errno {error.errno}] {error.strerror}\n")
        sys.exit(2)


def _set_first_path(folder: str) -> None:
    """Put the program's folder where that of the launcher stands."""
    if not _has_no_first_path():
        sys.path[0] = folder


def _has_no_first_path() -> bool:
    """Isolated interpreters put no folder of the program in front."""
    return bool(sys.flags.isolated or getattr(sys.flags, "safe_path", False))


def _of_the_program(error: BaseException) -> Any:
    """The traceback without the outermost frames, which are of this module."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_frame.f_code.co_filename == __file__:
        traceback = traceback.tb_next
    return traceback
