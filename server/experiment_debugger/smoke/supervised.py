"""A command under supervision, seen from the server.

    with closing(Supervised.start(spec)) as test:
        while (result := test.wait(0.5)) is None:
            ...                                # follow the records
        ...                                    # look at the folder of the command, which is still there
                                               # now the commands that clean up have run

The supervisor is told what to do through its standard input, which stays open: when this process dies, however, that
input ends, and everything that the command has started ends with it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from experiment_debugger.smoke.cleanup import SECONDS as CLEANUP_SECONDS
from experiment_debugger.smoke.cleanup import clean_up
from experiment_debugger.smoke.containment import end_all, marked
from experiment_debugger.smoke.orders import CANCEL, STEPS
from experiment_debugger.smoke.output import Console
from experiment_debugger.smoke.records import RESULT, Records
from experiment_debugger.smoke.spec import Ending, Spec

ERRORS = "supervisor.err"
LOOK_SECONDS = 0.05
ENDING_SECONDS = 30.0  # the supervisor ends everything well within
_START = "import runpy, sys; sys.path += sys.argv[1:]; runpy.run_module({module!r}, run_name='__main__')"
_MODULE = "experiment_debugger.smoke.supervisor"


class Supervised:
    """A command that runs under supervision, or has run."""

    def __init__(self, spec: Spec, process: subprocess.Popen[bytes]) -> None:
        self._spec = spec
        self._process = process
        self._records = Records(Path(spec.records))
        self._started = time.monotonic()
        self._result: dict[str, Any] | None = None

    @classmethod
    def start(cls, spec: dict[str, Any]) -> Supervised:
        """Start the supervisor and tell it what to do; see `Spec` for the keys."""
        checked = Spec(**spec)
        with open(os.path.join(checked.records, ERRORS), "ab") as errors:
            process = subprocess.Popen(  # noqa: S603 (this package's own module)
                _supervisor_command(),
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,  # this process's own may carry a protocol
                stderr=errors,
                start_new_session=True,
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
            )
        supervised = cls(checked, process)
        supervised._tell(json.dumps(spec))
        return supervised

    def poll(self) -> dict[str, Any] | None:
        """The result (`Ending`) once everything has ended, else None; what is to be cleaned up is still there."""
        if self._result is None:
            lost = self._process.poll() is not None  # asked before the file, which it writes before it ends
            self._result = self._records.read(RESULT) or (self._lost() if lost else None)
        return self._result

    def wait(self, timeout: float) -> dict[str, Any] | None:
        """The result as soon as there is one; None after so many seconds without."""
        deadline = time.monotonic() + timeout
        while (result := self.poll()) is None and (left := deadline - time.monotonic()) > 0:
            time.sleep(min(LOOK_SECONDS, left))
        return result

    def cancel(self) -> None:
        """End the command; the result says so."""
        self._tell(CANCEL)

    def stop_steps(self) -> None:
        """End the command, because it has made all the steps it was to make."""
        self._tell(STEPS)

    def close(self) -> None:
        """End the command if it still runs, and wait until the commands that clean up have run."""
        if self._process.stdin is None or self._process.stdin.closed:
            return
        with suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(ENDING_SECONDS + CLEANUP_SECONDS * len(self._spec.cleanup))
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.returncode:
            self.poll()
            clean_up(self._spec.cleanup)
        with suppress(OSError):
            if not os.path.getsize(self._errors):
                os.unlink(self._errors)

    @property
    def _errors(self) -> str:
        return os.path.join(self._spec.records, ERRORS)

    def _tell(self, line: str) -> None:
        """Write a line to the supervisor; one that is gone needs no orders."""
        with suppress(OSError, ValueError):
            if self._process.stdin:
                self._process.stdin.write(line.encode() + b"\n")
                self._process.stdin.flush()

    def _lost(self) -> dict[str, Any]:
        """What can be said when the supervisor died without a word; what it leaves behind is ended first."""
        survivors = end_all(lambda: marked(self._spec.id), lambda: True)
        reason = "the supervisor was lost"
        with suppress(OSError):
            Console(str(self._records.console), 0).finish(f"stopped: {reason}")
        seconds = round(time.monotonic() - self._started, 3)
        limit = self._spec.memory_bytes
        return Ending(
            stopped="supervisor-lost", reason=reason, seconds=seconds, memory_bytes=limit, survivors=survivors
        ).as_json()


def _supervisor_command() -> list[str]:
    """Isolated from the user's settings and the working folder, but with the folders of this package and of psutil.

    `-m` alone would not find them where they are installed for one user or named by PYTHONPATH.
    """
    import psutil

    import experiment_debugger

    folders = {
        os.path.dirname(os.path.dirname(os.path.abspath(str(it.__file__)))): None
        for it in (experiment_debugger, psutil)
    }
    return [sys.executable, "-I", "-c", _START.format(module=_MODULE), *folders]
