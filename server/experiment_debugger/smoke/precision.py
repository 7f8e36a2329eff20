"""Options that ask for 16 bits, and how single precision is called there.

--bf16 True        --bf16 False         accelerate launch --mixed_precision bf16       --mixed_precision no
--amp              (left out)           trainer.precision=16-mixed                     trainer.precision=32
--dtype bfloat16   --dtype float32      --precision amp_bf16                           --precision fp32
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from experiment_debugger.discovery.names import words
from experiment_debugger.smoke.options import Option, named

_FLAGS = words("amp use_amp fp16 bf16 half mixed_precision use_fp16 use_bf16 autocast")
_NAMED = words("precision mixed_precision dtype torch_dtype model_dtype amp_dtype compute_dtype")
_SIXTEEN = re.compile(r"(?:torch\.)?(?:amp_?)?(?:fp|bf|float|bfloat)?16(?:-mixed|-true)?|half|amp", re.IGNORECASE)
_OFF = {"true": "false", "yes": "no", "on": "off", "1": "0", "y": "n", "t": "f"}


def single_precision(_change: object, argv: Sequence[str], source: str) -> list[tuple[Option, str | None]]:
    """Each such option with the value that means 32 bits; None: a flag that is left out. `source`: the program."""
    edits: list[tuple[Option, str | None]] = []
    for option in named(argv, _FLAGS | _NAMED):
        value = option.value or ""
        if option.key in _FLAGS and value.lower() in _OFF:
            edits.append((option, _off(value)))
        elif option.key in _NAMED and _SIXTEEN.fullmatch(value):
            edits.append((option, _thirty_two(option.key, value, source)))
        elif option.key in _FLAGS - _NAMED and not option.joined and value.lower() not in _OFF.values():
            edits.append((option, None))
    return edits


def _off(value: str) -> str:
    off = _OFF[value.lower()]
    return off.capitalize() if value[0].isupper() else off


def _thirty_two(key: str, value: str, source: str) -> str:
    if key == "mixed_precision":
        return "no"
    if key == "precision" and (value[0].isdigit() or "-" in value or "lightning" in source):
        return "32"
    if "float" in value or value == "half":
        return ("torch." if value.startswith("torch.") else "") + "float32"
    return "fp32"
