"""probe.json: what the parent asks of the agent.

{"id": "s-20261130-214501-3f2a", "records": "/p/.experiment-debugger/smoke/s-...", "steps": 20,
 "deadline": 1796074000.0, "protected": ["/p/checkpoints/last.pt"], "changes": {"lr_factor": 0.1, "workers": 0}}
"""

from __future__ import annotations

import json
from typing import Any

CONFIG = "EXPERIMENT_DEBUGGER_PROBE"
"""The environment variable with the path of probe.json."""


class Config:
    """`steps` to stop after (None: never), `deadline` in seconds since 1970, `changes` to try by name."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self.records: str = fields["records"]
        self.steps: int | None = fields.get("steps")
        self.deadline: float | None = fields.get("deadline")
        self.protected: list[str] = fields.get("protected") or []
        self.changes: dict[str, Any] = fields.get("changes") or {}

    @classmethod
    def read(cls, path: str) -> Config:
        """Raises OSError, ValueError, or KeyError for a file without `records`."""
        with open(path, encoding="utf-8") as file:
            return cls(json.load(file))
