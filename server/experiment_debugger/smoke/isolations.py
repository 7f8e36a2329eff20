"""The changes that `--try` knows, each with the hypothesis that it isolates and what a pass or a failure says of it.

--try fp32 lr/10     Change("fp32", "reduced precision", passed="for", failed="against"), Change("lr/10", ...)
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from experiment_debugger.errors import DebuggerError

Reading = Literal["for", "against", "nothing"]


@dataclass(frozen=True, slots=True)
class Change:
    """One change and the hypothesis `about` which it tells.

    `passed` and `failed`: what either outcome says of the hypothesis, where the same command failed without the change.
    `number` is the N of `workers=N`, or the factor of the batch size.
    """

    name: str
    about: str
    passed: Reading = "for"
    failed: Reading = "against"
    number: float = 0.0


_KNOWN = (
    Change("fp32", "reduced precision: a value leaves the range or resolution of 16 bits"),
    Change("half-batch", "memory that grows with the batch", number=0.5),
    Change("workers=N", "the processes of the data loader"),
    Change("lr/10", "optimisation that is not stable at this learning rate"),
    Change("no-compile", "the compiler: torch.compile changes or breaks the model"),
    Change("blocking", "an asynchronous CUDA error: the traceback now shows its place", "nothing", "nothing"),
    Change("one-process", "distribution: ranks that wait for each other or see different data"),
    Change("deterministic", "kernels whose result differs from run to run"),
)
QUARTER_BATCH = Change("quarter-batch", "memory that grows with the batch", number=0.25)
"""No choice of the user: a third point for a + b * batch where the whole batch did not fit."""


def parse_change(text: str) -> Change:
    """The change that a word of `--try` means; raises `DebuggerError` naming the allowed ones."""
    workers = re.fullmatch(r"workers=(\d{1,3})", text)
    if workers:
        return Change(text, "the processes of the data loader", number=int(workers[1]))
    known = {change.name: change for change in _KNOWN if change.name != "workers=N"}
    if text not in known:
        allowed = ", ".join(change.name for change in _KNOWN)
        raise DebuggerError(f"expected one of {allowed} after --try; found {text!r}; N is a number, as in workers=0")
    return known[text]
