"""`--try one-process`: every launcher of a command starts a single process, or the program is told to use one device.

torchrun --nnodes=2 --nproc_per_node=8 --rdzv-endpoint=n1:29500 x.py     torchrun --nnodes=1 --nproc_per_node=1 x.py
accelerate launch --multi_gpu x.py      accelerate launch --num_processes 1 --num_machines 1 x.py
python x.py trainer.devices=8           python x.py trainer.devices=1
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from experiment_debugger.discovery.names import words
from experiment_debugger.errors import DebuggerError
from experiment_debugger.smoke.launchers import LAUNCHERS, Launcher, program_of
from experiment_debugger.smoke.options import Option, named, options_of, with_value, without

_DEVICES = words("devices gpus num_gpus n_gpus ngpus n_gpu num_devices num_processes nproc num_nodes")
"""Options of training programs (Lightning, DETR, fairseq, ...) that count devices."""
_SEVERAL = re.compile(r"-1|auto|gpu|[2-9]|\d{2,4}|\d+:\d+")
_ATTACHED = re.compile(r"-[nN]\d+")


def one_process(argv: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """(the command with a single process, what was changed); raises `DebuggerError` where nothing names a number."""
    changed, said = tuple(argv), []
    for at in reversed(_launchers(changed)):
        changed, what = _with_one(changed, at)
        said += [what] if what else []
    for option in [] if said else named(changed, _DEVICES):
        if option.value is not None and _SEVERAL.fullmatch(option.value):
            changed = with_value(changed, option, "1")
            said.append(f"{option.name} {option.value} -> 1")
    if not said:
        raise DebuggerError(
            "--try one-process: expected several processes, from a launcher (torchrun, accelerate, deepspeed, mpirun, "
            f"...) or an option such as --devices; found none in the {os.path.basename(argv[0])} command; name a "
            "command with one after --"
        )
    return changed, ", ".join(said)


def _launchers(argv: Sequence[str]) -> list[int]:
    """Where the launchers stand, all of them before the program."""
    program = program_of(argv)
    return [
        at
        for at, word in enumerate(argv[: program.at if program else len(argv)])
        if os.path.basename(word) in LAUNCHERS
    ]


def _with_one(argv: tuple[str, ...], at: int) -> tuple[tuple[str, ...], str]:
    """The command with one launcher's counts as 1, and what they were; "" where they are 1 already."""
    name = os.path.basename(argv[at])
    launcher = LAUNCHERS[name]
    start = at + (2 if argv[at + 1 : at + 2] == ("launch",) else 1)
    before, own = argv[:start], _own_words(argv, start)
    rest = argv[start + len(own) :]
    counts = [option for option in options_of(own) if option.value and _is_count(option, launcher)]
    for option in counts:
        own = with_value(own, option, "1")
    attached = [word for word in own if _ATTACHED.fullmatch(word)]
    own = tuple(word[:2] + "1" if word in attached else word for word in own)
    written = {option.name for option in counts} | {word[1].lower() for word in attached}
    missing = [] if launcher.starts_one else [one for one, names in launcher.counts.items() if not names & written]
    before_and_after = [f"{option.name} {option.value}" for option in counts if option.value != "1"] + attached
    said = before_and_after or (["as many as there are"] if missing else [])
    added = [part for one in missing for part in (one, "1")]
    return (*before, *added, *_here(own, launcher), *rest), f"{name}: {', '.join(said)} -> 1 process" if said else ""


def _own_words(argv: tuple[str, ...], start: int) -> tuple[str, ...]:
    program = program_of(argv)
    further = [at for at in _launchers(argv) if at >= start]
    return argv[start : min([*further, program.at if program else len(argv)])]


def _is_count(option: Option, launcher: Launcher) -> bool:
    return option.name == "ntasks_per_node" or any(option.name in names for names in launcher.counts.values())


def _here(words_: tuple[str, ...], launcher: Launcher) -> tuple[str, ...]:
    """Without options that name other devices and hosts: they contradict a single process."""
    for option in reversed(list(options_of(words_))):
        if option.name in launcher.flags:
            words_ = without(words_, option)
        elif option.name in launcher.elsewhere and option.value is not None:
            words_ = without(words_, option, with_its_value=True)
    return words_
