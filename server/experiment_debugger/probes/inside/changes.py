"""One change to try, everything else as it was: {"lr_factor": 0.1}.

{"kind": "changed", "change": "lr_factor", "says": "learning rate 0.001 -> 0.0001", "before": 0.001, "after": 0.0001}

A row is written when a change really took effect, so that its absence tells of one that could not.
"""

from __future__ import annotations

import functools
import os
from typing import Any, Callable

from . import loaders
from .agent import Agent
from .change import Change
from .hooks import gradient_scaler


def attach(agent: Agent, torch: Any) -> None:
    """Put the wanted changes into torch, before the program has used it."""
    for name, apply in _CHANGES.items():
        wanted = agent.config.changes.get(name)
        if wanted is not None and wanted is not False:
            agent.safely(apply)(Change(agent, name, wanted), torch)


def single_precision(change: Change, torch: Any) -> None:
    """Autocast and gradient scalers are made switched off, in every layout that torch has had for them."""
    autocast = getattr(torch, "autocast", None) or torch.cuda.amp.autocast
    scaler = gradient_scaler(torch)
    _switch_off(autocast, change, "autocast off")
    _switch_off(scaler, change, "gradient scaler off")


def _switch_off(kind: Any, change: Change, says: str) -> None:
    initialize = kind.__init__

    @functools.wraps(initialize)
    def initialized(self: Any, *args: Any, **kwargs: Any) -> None:
        initialize(self, *args, **kwargs)
        if self._enabled:
            self._enabled = False
            change.took_effect(says)

    kind.__init__ = initialized


def learning_rate(change: Change, torch: Any) -> None:  # noqa: ARG001  # all changes have one signature
    """Scaled for the time of each step: whatever a scheduler, a checkpoint or the program sets is scaled, too."""
    scaling = _Scaling(change)
    change.agent.before_step.append(change.agent.safely(scaling.scale))
    change.agent.after_step.append(change.agent.safely(scaling.restore))


class _Scaling:
    """Scales the rates of an optimizer's groups before a step, and puts back its own ones after it."""

    def __init__(self, change: Change) -> None:
        self._change = change
        self._scaled: dict[int, list[tuple[dict[str, Any], Any, Any]]] = {}
        self._is_reported = False

    def scale(self, optimizer: Any) -> None:
        self.restore(optimizer)  # of a step that raised
        for group in optimizer.param_groups:
            if self._is_scaled(group["lr"]):
                continue  # an optimizer that steps inside another one, whose groups it shares
            own, scaled = group["lr"], group["lr"] * self._change.wanted
            self._scaled.setdefault(id(optimizer), []).append((group, own, scaled))
            group["lr"] = scaled
            self._report(own, scaled)

    def restore(self, optimizer: Any) -> None:
        for group, own, scaled in self._scaled.pop(id(optimizer), ()):
            if group["lr"] is scaled:
                group["lr"] = own

    def _is_scaled(self, rate: Any) -> bool:
        return any(rate is scaled for groups in self._scaled.values() for _, _, scaled in groups)

    def _report(self, own: Any, scaled: Any) -> None:
        if not self._is_reported:
            self._is_reported = True
            before, after = float(own), float(scaled)
            self._change.took_effect(f"learning rate {before:g} -> {after:g}", before=before, after=after)


def deterministic(change: Change, torch: Any) -> None:
    """Operations without a deterministic form raise."""
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # cuBLAS reads it when it starts
    torch.use_deterministic_algorithms(True, warn_only=False)  # noqa: FBT003
    torch.backends.cudnn.benchmark = False
    change.took_effect("deterministic algorithms on")


_CHANGES: dict[str, Callable[[Change, Any], None]] = {
    "fp32": single_precision,
    "lr_factor": learning_rate,
    "batch_factor": loaders.scale_batches,
    "workers": loaders.set_workers,
    "deterministic": deterministic,
}
