"""Which lines may report progress: those with a telling word, and lines of own loops that begin with a count.

   60  bce=nan                       it 60 ce 0.477                       {"train": {"mse": NaN}}
20: loss 2.281                       step 20, although `2: loss 2.1` of srun is the line of rank 2
"""

from __future__ import annotations

import re

from experiment_debugger.readers.lines import Line

_WORDS = (
    "loss Loss LOSS entropy grad_norm gnorm it/s s/it /step step: step= steps Steps iteration Iter iter: Epoch epoch"
)
_SPACED = ("step ", "Step ", "iter ", " it  ", " ep ", " avg", "[batch=", "Train on ", "Num Epochs = ", "G   ")
TELLING_WORDS = (*_WORDS.split(), *_SPACED, "auc", "rmse", "logloss", "s l1: ", "s l2: ", "| time/", "ccuracy of ")
"""A progress line holds at least one of them."""
LOOKED_AT = 2000
"""Lines without a telling word that are looked at from the begin of a file, and again behind each report among them."""
LONGEST = 4000  # bytes
_LABEL = re.compile(r"(\d+): +")
_MAY_COUNT = re.compile(rb"\s*(?:\d{1,9}(?:[ \t|,]|:[ \t])|\{\"|-{9})|.{0,80}\bit(?:er)?[ =:]+\d")
_MAY_BE_HEADER = re.compile(rb"\s*(?:step|it|iter|iteration)[\t,;]")


class Patience:
    """How long a file is still searched for progress lines that hold no telling word."""

    def __init__(self) -> None:
        self._left = LOOKED_AT

    def spend(self, *, on_report: bool) -> bool:
        """Whether to look at the next line, too."""
        self._left = LOOKED_AT if on_report else self._left - 1
        return self._left > 0


def may_report(line: Line) -> bool:
    """Whether a line begins as one that counts does; this is asked of every line of a file's begin."""
    if line.end - line.start > LONGEST:
        return False
    raw = line.raw
    return _MAY_COUNT.match(raw) is not None or _MAY_BE_HEADER.match(raw) is not None


class Labels:
    """Numbers in front of a colon: ranks return, steps only grow."""

    def __init__(self) -> None:
        self._last = -1
        self._grow = True

    def is_count(self, prefix: str) -> bool:
        """Whether this is such a number, and it and all before it can have been steps."""
        found = _LABEL.fullmatch(prefix)
        if found is None:
            return False
        self._grow = self._grow and int(found.group(1)) > self._last
        self._last = int(found.group(1))
        return self._grow
