"""What is wanted of one change, and the report of what it did."""

from __future__ import annotations

from typing import Any

from .agent import Agent

MOST_ROWS = 20


class Change:
    """One entry of `changes` in probe.json: {"workers": 0} is wanted == 0 of the change named "workers"."""

    def __init__(self, agent: Agent, name: str, wanted: Any) -> None:
        self.agent = agent
        self.name = name
        self.wanted = wanted
        self._said: set[str] = set()

    def took_effect(self, says: str, **fields: Any) -> None:
        """Record what the change did, each thing once."""
        if says not in self._said and len(self._said) < MOST_ROWS:
            self._said.add(says)
            self.agent.record("changed", change=self.name, says=says, **fields)
