"""What the supervisor is told, one JSON line on its standard input, and what it says at the end, result.json.

{"argv": ["python", "train.py"], "cwd": "/cache/worktrees/s-1", "env": {"PATH": "/usr/bin"}, "records": "/p/s-1",
 "seconds": 45.0, "memory_bytes": 4294967296, "output_bytes": 67108864, "id": "s-1", "cleanup": [["git", ...]]}

{"exit": 1, "signal": null, "stopped": null, "reason": null, "seconds": 3.21, "peak_rss_bytes": 402653184,
 "memory_bytes": 4294967296, "output_bytes": 1804, "output_left_out": 0, "last_words": "", "left_over": 0,
 "survivors": [], "python_processes": [{"pid": 4711, "parent": 4702, "seconds": 3.2, "command": "python train.py"}]}
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

MARKER = "EXPERIMENT_DEBUGGER_SMOKE"
"""Environment variable that carries the id of the test, by which its processes are known wherever they went."""


@dataclass(frozen=True, slots=True)
class Spec:
    """A command, where it runs, and its bounds.

    `cleanup` are commands that are run at the very end, whatever has happened.
    """

    argv: Sequence[str]
    cwd: str
    env: dict[str, str]
    records: str
    seconds: float
    memory_bytes: int
    output_bytes: int
    id: str
    cleanup: Sequence[Sequence[str]] = ()

    @classmethod
    def parse(cls, line: bytes) -> Spec:
        """The spec of one JSON line."""
        return cls(**json.loads(line))


@dataclass(slots=True)
class Ending:
    """How a command has ended: by its own `exit` or `signal`, or `stopped` by us for a `reason`.

    `reason` also says why a command could not be started.

    `last_words` is the end of what was printed while it was being ended. `peak_rss_bytes` counts pages that processes
    share once; `output_left_out` are bytes that console.log lacks; `left_over` processes were still alive when the main
    process had ended by itself; `survivors` are processes that could not be ended.
    """

    exit: int | None = None
    signal: str | None = None
    stopped: str | None = None
    reason: str | None = None
    seconds: float = 0.0
    peak_rss_bytes: int = 0
    memory_bytes: int = 0
    output_bytes: int = 0
    output_left_out: int = 0
    last_words: str = ""
    left_over: int = 0
    python_processes: list[dict[str, Any]] = field(default_factory=list)
    survivors: list[int] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """What result.json holds."""
        return asdict(self)
