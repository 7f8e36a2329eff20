"""Where torch lets others listen: around every optimizer step, before every backward pass, at every scaled loss."""

from __future__ import annotations

import functools
import sys
from typing import Any, Callable, Sequence

Listener = Callable[[Any], None]


def around_optimizer_steps(torch: Any, before: Sequence[Listener], after: Sequence[Listener]) -> None:
    """Call `before` and `after` with the optimizer around each `optimizer.step()`, of all classes of optimizers.

    A step that calls the step of its base class is announced twice by torch; it has ended when the inner one has.
    """
    module = sys.modules["torch.optim.optimizer"]  # torch.optim deletes the attribute of this name
    begun: set[int] = set()

    def before_step(optimizer: Any, *_: Any) -> None:
        begun.add(id(optimizer))
        for listen in before:
            listen(optimizer)

    def after_step(optimizer: Any, *_: Any) -> None:
        if id(optimizer) in begun:
            begun.discard(id(optimizer))
            for listen in after:
                listen(optimizer)

    if hasattr(module, "register_optimizer_step_post_hook"):
        module.register_optimizer_step_pre_hook(before_step)
        module.register_optimizer_step_post_hook(after_step)
    else:
        wrap_steps_of_new_optimizers(torch.optim.Optimizer, before_step, after_step)


def wrap_steps_of_new_optimizers(base: Any, before: Listener, after: Listener) -> None:
    """The same for torch < 2.0: the step of a class is wrapped when its first optimizer is made."""
    initialize = base.__init__

    @functools.wraps(initialize)
    def initialized(self: Any, *args: Any, **kwargs: Any) -> None:
        initialize(self, *args, **kwargs)
        if not getattr(type(self).step, "listened_to", False):
            type(self).step = _listened_to(type(self).step, before, after)

    base.__init__ = initialized


def _listened_to(step: Any, before: Listener, after: Listener) -> Any:
    @functools.wraps(step)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        before(self)
        result = step(self, *args, **kwargs)
        after(self)
        return result

    call.listened_to = True  # type: ignore[attr-defined]
    return call


def before_backward(torch: Any, listen: Listener) -> None:
    """Call with the tensors of each backward pass; `Tensor.backward` comes through here, too."""
    backward = torch.autograd.backward

    @functools.wraps(backward)
    def call(*args: Any, **kwargs: Any) -> Any:
        listen(args[0] if args else kwargs.get("tensors"))
        return backward(*args, **kwargs)

    torch.autograd.backward = call


def gradient_scaler(torch: Any) -> Any:
    """The class that all gradient scalers are of; torch < 2.3 has one for CUDA only."""
    return getattr(getattr(torch, "amp", None), "GradScaler", None) or torch.cuda.amp.GradScaler


def after_scaling(torch: Any, listen: Callable[[Any, Any], None]) -> None:
    """Call with the loss and the scaled loss whenever a GradScaler scales one."""
    scaler = gradient_scaler(torch)
    scale = scaler.scale

    @functools.wraps(scale)
    def call(self: Any, outputs: Any) -> Any:
        scaled = scale(self, outputs)
        listen(outputs, scaled)
        return scaled

    scaler.scale = call
