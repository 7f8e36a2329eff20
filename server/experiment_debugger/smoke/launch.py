"""Starting the command: a session of its own, no input, stdout and stderr on one pipe, no core files."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress

from experiment_debugger.smoke.spec import MARKER, Spec

LINUX = sys.platform == "linux"
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36  # linux/prctl.h
_LIBC = ctypes.CDLL(None) if LINUX else None
PIPE_BYTES = 1 << 20


def launch(spec: Spec) -> subprocess.Popen[bytes]:
    """Start the command; raises OSError when it cannot be started.

    `preexec_fn` is safe here because the supervisor has one thread until the command runs. It costs nothing, and what
    execve says (no such file, no permission) arrives as it is; a wrapper that execs would be a second interpreter in
    front of every command and would have to report its own failures.
    """
    _no_core_files()
    command = subprocess.Popen(  # noqa: S603 (an argument list that the user has agreed to, no shell)
        list(spec.argv),
        cwd=spec.cwd,
        env={**spec.env, MARKER: spec.id},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        bufsize=0,
        start_new_session=True,
        preexec_fn=_die_with_supervisor(os.getpid()) if LINUX else None,  # noqa: PLW1509
    )
    if command.stdout:
        _widen(command.stdout.fileno())
    return command


def adopt_orphans() -> None:
    """Processes whose parent has ended become children of this one (Linux), also those in a session of their own."""
    if _LIBC:
        _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1)


def refusal(problem: OSError, spec: Spec) -> tuple[int, str]:
    """The exit status and the line for a command that cannot be started, as a shell would give them."""
    reason = problem.strerror or type(problem).__name__
    if problem.filename == spec.cwd:
        return 126, f"cannot start in {spec.cwd}: {reason}"
    missing = isinstance(problem, FileNotFoundError)
    return 127 if missing else 126, f"cannot start {spec.argv[0]}: {reason}"


def signal_name(number: int) -> str:
    """11 -> "SIGSEGV"."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIG{number}"


def _die_with_supervisor(supervisor: int) -> Callable[[], None]:
    """What the child does before it becomes the command: it will be killed when the supervisor is."""

    def before_exec() -> None:
        if _LIBC:
            _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != supervisor:
            os._exit(1)

    return before_exec


def _no_core_files() -> None:
    """A soft limit: a job script that says `ulimit -c unlimited` must still work."""
    with suppress(ImportError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def _widen(pipe: int) -> None:
    """A command that prints much is not kept waiting by a small pipe."""
    if LINUX:
        import fcntl

        with suppress(OSError):
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
