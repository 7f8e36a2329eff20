"""The numbers of tensors, streamed: NaN, infinity, nothing but zeros, and a digest that tells whether they changed."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from experiment_debugger.readers.checkpoints.tensors import Tensor, Values, chunks_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BITS = {"bfloat16": (0x7F80, 0x007F), "float8_e5m2": (0x7C, 0x03)}
"""Exponent and fraction of formats unknown to numpy: an exponent of ones is infinite, or NaN with a fraction."""


def values_of(tensor: Tensor) -> Values | None:
    """What the numbers of a tensor are; None where they are not to be had."""
    if tensor.place is None:
        return None
    nan = inf = 0
    nonzero = False
    digest = hashlib.blake2b(digest_size=8)
    for block in chunks_of(tensor):
        digest.update(block)
        nonzero = nonzero or block.count(0) != len(block)
        if nonzero and "float" in tensor.dtype:
            more_nan, more_inf = _nonfinite(block, tensor.dtype)
            nan, inf = nan + more_nan, inf + more_inf
    return Values(nan, inf, not nonzero and tensor.elements > 0, digest.hexdigest())


def _nonfinite(block: bytes, dtype: str) -> tuple[int, int]:
    import numpy as np

    if dtype in {"float64", "float32", "float16"}:
        numbers: NDArray[Any] = np.frombuffer(block[: len(block) - len(block) % np.dtype(dtype).itemsize], dtype)
        nan = int(np.isnan(numbers).sum())
        return nan, len(numbers) - nan - int(np.isfinite(numbers).sum())
    if dtype == "float8_e4m3fn":  # has no infinity
        codes = np.frombuffer(block, np.uint8)
        return int(((codes & 0x7F) == 0x7F).sum()), 0
    exponent, fraction = _BITS[dtype]
    codes = (
        np.frombuffer(block[: len(block) - len(block) % 2], np.uint16)
        if dtype == "bfloat16"
        else np.frombuffer(block, np.uint8)
    )
    full = (codes & exponent) == exponent
    nan = int((full & ((codes & fraction) != 0)).sum())
    return nan, int(full.sum()) - nan
