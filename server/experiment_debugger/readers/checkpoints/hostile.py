"""Names that a checkpoint would import when it is loaded: those that every checkpoint needs, others, and hostile ones.

collections.OrderedDict, torch._utils._rebuild_tensor_v2     every checkpoint
mylab.config.Options                                         code of the project: weights_only=True refuses it
posix.system, builtins.eval                                  would run a command: never load this file
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_USUAL = re.compile(
    r"(?:collections\.(?:OrderedDict|defaultdict|deque)"
    r"|torch(?:\._utils\._rebuild\w+|\.\w*Storage|\.storage\.\w+|\.Size|\.device|\.dtype|\.float\w+|\.bfloat16|\.u?int\d+|\.bool|\.Tensor"
    r"|\.serialization\._get_layout|\.nn\.parameter\.Parameter|\._tensor\._rebuild_from_type_v2|\.distributed\.\S+|\.Generator"
    r"|\.optim\.\S+)"
    r"|numpy(?:\.core|\._core)?\.(?:multiarray\.(?:_reconstruct|scalar)|ndarray|dtype|dtypes\.\w+|random\.\S+|numeric\.\w+)"
    r"|_codecs\.encode|copyreg\._reconstructor"
    r"|(?:builtins|__builtin__)\.(?:set|frozenset|dict|list|tuple|int|float|str|bool|complex|bytes|bytearray|slice|range|object))$"
)
_HOSTILE = re.compile(
    r"(?:(?:os|posix|nt|subprocess|pty|shutil|socket|runpy|importlib|ctypes|webbrowser|urllib|requests|http|sys|code|pdb|timeit|cProfile"
    r"|profile|commands|asyncio|multiprocessing|signal|tempfile|pip|_posixsubprocess|pickle|_pickle|dill|cloudpickle|marshal|types)\."
    r"|(?:builtins|__builtin__)\.(?:eval|exec|execfile|compile|getattr|setattr|__import__|open|input|breakpoint|globals|vars)$"
    r"|operator\.(?:attrgetter|methodcaller|itemgetter)$|functools\.(?:partial|reduce)$|torch\.(?:hub|load|jit|utils\.cpp_extension)\b"
    r"|numpy\.testing\.)"
)


def hostile_names(names: Iterable[str]) -> tuple[str, ...]:
    """Names that can run a command or code of the file."""
    return tuple(name for name in names if not _USUAL.match(name) and _HOSTILE.match(name))


def other_names(names: Iterable[str]) -> tuple[str, ...]:
    """Names of projects and libraries, for which loading needs their code."""
    return tuple(name for name in names if not _USUAL.match(name) and not _HOSTILE.match(name))
