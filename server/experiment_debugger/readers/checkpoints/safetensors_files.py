"""safetensors: eight bytes with the length of a JSON header, the header, then the numbers.

{"head.weight": {"dtype": "BF16", "shape": [10, 512], "data_offsets": [0, 10240]}, "__metadata__": {"format": "pt"}}
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from experiment_debugger.errors import UnreadableArtifact
from experiment_debugger.readers.checkpoints.tensors import Place, Tensor

LARGEST_HEADER = 100 << 20  # bytes; the format itself allows no more
_DTYPES = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2", "I64": "int64", "I32": "int32", "I16": "int16", "I8": "int8", "U8": "uint8",
    "U16": "uint16", "U32": "uint32", "U64": "uint64", "BOOL": "bool",
}  # fmt: skip


def read_safetensors(path: Path) -> tuple[list[Tensor], str | None]:
    """(its tensors, what is damaged); `UnreadableArtifact` with one line where there is no sound header."""
    size = path.stat().st_size
    with path.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if size < 8 or length > min(LARGEST_HEADER, size - 8):
            raise UnreadableArtifact(
                f"{path.name}: expected a safetensors header; found none; is it cut short, or an LFS pointer?"
            )
        raw = stream.read(length)
    try:
        header = json.loads(raw)
        tensors = [_tensor(path, key, entry, 8 + length) for key, entry in header.items() if key != "__metadata__"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
        raise UnreadableArtifact(f"{path.name}: expected a safetensors header; found: {str(problem)[:120]}") from None
    end = max((one.place.offset + one.place.bytes for one in tensors if one.place), default=0)
    return tensors, f"cut short: {size} bytes of {end}" if end > size else None


def _tensor(path: Path, key: str, entry: dict[str, Any], base: int) -> Tensor:
    begin, end = (int(one) for one in entry["data_offsets"])
    shape = tuple(int(one) for one in entry["shape"])
    if begin < 0 or end < begin:
        raise ValueError(f"offsets {begin}:{end} of {key}")
    return Tensor(
        str(key), shape, _DTYPES.get(entry["dtype"], str(entry["dtype"])), Place(path, None, base + begin, end - begin)
    )
