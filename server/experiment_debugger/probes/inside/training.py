"""What is watched once torch is there: optimizer steps and their losses, memory, the stop, and the changes to try."""

from __future__ import annotations

from typing import Any

from . import changes, memory, steps, stop
from .agent import Agent
from .hooks import around_optimizer_steps

PARTS = (steps.attach, memory.attach, changes.attach, stop.attach)
"""In the order in which they act after a step: what it was is recorded before anything is put back or ended."""


def attach(agent: Agent, torch: Any) -> None:
    """Put every part into place, before the program has used torch."""
    built_for = getattr(torch.version, "cuda", None) or getattr(torch.version, "hip", None)
    agent.record("torch", version=str(torch.__version__), cuda=built_for is not None)
    for attach in PARTS:
        agent.safely(attach)(agent, torch)
    around_optimizer_steps(torch, agent.before_step, agent.after_step)
