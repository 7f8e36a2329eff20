"""The process between the server and the user's command: it starts it, bounds it, records it, and ends all of it.

    {"argv": ["python", "train.py"], "cwd": ..., "seconds": 45.0, ...}     first line of standard input
    cancel                                                                 a later line
    (end of input)                                                         the server is gone: everything ends at once

It lives in a session of its own, so that it is still there when the server dies by whatever signal. It writes
console.log, samples.csv and result.json, waits until the end of its input says that they have been looked at, and runs
the commands that clean up. Standard library and psutil. On Windows, where this was never tried, there are no process
groups, no adopted orphans and no death with the supervisor; children are found by psutil and by the marker.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from experiment_debugger.smoke.cleanup import clean_up
from experiment_debugger.smoke.containment import Tree
from experiment_debugger.smoke.launch import launch, refusal, signal_name
from experiment_debugger.smoke.orders import GONE, Orders
from experiment_debugger.smoke.output import Console
from experiment_debugger.smoke.records import CONSOLE, RESULT, Records
from experiment_debugger.smoke.sampling import Sampler
from experiment_debugger.smoke.spec import Ending, Spec
from experiment_debugger.smoke.stopping import BY_ORDER, Bounds, Stop

TICK = 0.05  # seconds between two looks at the process
GRACE = 2.0  # seconds between SIGTERM and the end
LEFT_OVER_GRACE = 1.0  # seconds between the end of the main process and that of its children
READ_SECONDS = 300.0  # for the server to look at the records before the commands that clean up run


def main() -> None:
    """Take the spec from standard input and see the command through."""
    orders = Orders(sys.stdin.fileno())
    line = orders.first_line()
    if line is None:
        return
    spec = Spec.parse(line)
    try:
        ending = supervise(spec, orders)
        Records(Path(spec.records)).write(RESULT, ending.as_json())
        orders.wait_until_over(READ_SECONDS)
    finally:
        clean_up(spec.cleanup)


def supervise(spec: Spec, orders: Orders) -> Ending:
    """Run the command to its end, or to ours."""
    console = Console(os.path.join(spec.records, CONSOLE), spec.output_bytes)
    tree = Tree(spec.id)
    try:
        command = tree.command = launch(spec)
    except OSError as problem:
        orders.listen()
        status, line = refusal(problem, spec)
        console.finish(line)
        return Ending(exit=status, reason=line.encode("utf-8", "replace").decode(), memory_bytes=spec.memory_bytes)
    try:
        orders.listen()
        return Supervision(spec, orders, console, command, tree).ending()
    finally:
        tree.end()


class Supervision:
    """A command that runs."""

    def __init__(
        self, spec: Spec, orders: Orders, console: Console, command: subprocess.Popen[bytes], tree: Tree
    ) -> None:
        self._spec, self._orders, self._console, self._command, self._tree = spec, orders, console, command, tree
        self._started = time.monotonic()
        if command.stdout:
            console.follow(command.stdout)
        self._sampler = Sampler(spec, command.pid)
        self._bounds = Bounds(spec)

    def ending(self) -> Ending:
        """Watch it until it ends or must be stopped, end everything, and say how it went."""
        stop = self._watch()
        seconds = time.monotonic() - self._started
        self._sampler.take(self._tree.alive())
        if stop:
            self._console.log_is_over()
        if stop and stop.gentle:
            self._tree.terminate()
        self._wait_until_gone(GRACE if stop and stop.gentle else 0 if stop else LEFT_OVER_GRACE)
        left_over = 0 if stop else len(self._tree.alive())
        survivors = self._tree.end()
        self._sampler.close()
        code = self._command.poll()
        left_out = self._console.finish(f"stopped: {stop.reason}" if stop else None)
        return Ending(
            exit=code if code is None or code >= 0 else None,
            signal=signal_name(-code) if code is not None and code < 0 else None,
            stopped=stop.kind if stop else None,
            reason=stop.reason if stop else None,
            seconds=round(seconds, 3),
            peak_rss_bytes=self._sampler.peak,
            memory_bytes=self._spec.memory_bytes,
            output_bytes=self._console.seen,
            output_left_out=left_out,
            last_words=self._console.last_words,
            left_over=left_over,
            python_processes=self._sampler.interpreters.started(),
            survivors=survivors,
        )

    def _watch(self) -> Stop | None:
        """The reason to stop it; None when it ends by itself."""
        while self._command.poll() is None:
            stop = self._over_bounds() or BY_ORDER.get(self._orders.next(TICK) or "")
            if stop and self._command.poll() is None:
                return stop
        return None

    def _over_bounds(self) -> Stop | None:
        over = self._bounds.time_is_over() or self._bounds.disk_is_full()
        if over or not self._sampler.is_due:
            return over
        return self._bounds.memory_is_over(self._sampler.take(self._tree.alive()))

    def _wait_until_gone(self, seconds: float) -> None:
        """Let the processes end by themselves; not longer than the server lives."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and (self._command.poll() is None or self._tree.alive()):
            if self._orders.next(TICK) == GONE:
                return


if __name__ == "__main__":
    main()
