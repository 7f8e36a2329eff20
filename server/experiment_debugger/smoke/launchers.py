"""What starts what in an argument list: the program that trains, and the launchers in front of it.

torchrun --nproc_per_node=4 train.py --lr 1       Program(at=2, path="train.py")
accelerate launch -m pkg.train --lr 1             Program(at=3, path="pkg/train.py")
bash jobs/42.sh                                   none
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from experiment_debugger.discovery.names import words

Read = Callable[[str], str | None]
"""The text of a file of the project by its relative path; None where there is none."""


@dataclass(frozen=True, slots=True)
class Launcher:
    """A program that starts others: its options that count processes, each with its other spellings.

    `counts` by the spelling used where the option is missing; `starts_one`: a missing one means 1. `elsewhere` are
    options that name several devices or other hosts, `flags` those without a value that ask for several processes.
    """

    counts: dict[str, frozenset[str]]
    starts_one: bool = False
    elsewhere: frozenset[str] = frozenset()
    flags: frozenset[str] = frozenset()


_TORCHRUN = Launcher(
    {"--nproc-per-node": words("nproc_per_node"), "--nnodes": words("nnodes")},
    starts_one=True,
    elsewhere=words("rdzv_endpoint rdzv_backend rdzv_id rdzv_conf node_rank master_addr"),
)
_ACCELERATE = Launcher(
    {"--num_processes": words("num_processes"), "--num_machines": words("num_machines")},
    elsewhere=words("gpu_ids machine_rank main_process_ip"),
    flags=words("multi_gpu"),
)
_MPIRUN = Launcher({"-np": words("np n c")}, elsewhere=words("h host hosts hostfile machinefile"))
LAUNCHERS = {
    "torchrun": _TORCHRUN,
    "torch.distributed.run": _TORCHRUN,
    "torch.distributed.launch": _TORCHRUN,
    "accelerate": _ACCELERATE,
    "accelerate.commands.launch": _ACCELERATE,
    "deepspeed": Launcher(
        {"--num_gpus": words("num_gpus num_accelerators"), "--num_nodes": words("num_nodes")},
        elsewhere=words("i include e exclude h hostfile node_rank master_addr"),
    ),
    "mpirun": _MPIRUN,
    "mpiexec": Launcher({"-n": words("np n c")}, elsewhere=_MPIRUN.elsewhere),
    "horovodrun": Launcher({"-np": words("np num_proc")}, elsewhere=_MPIRUN.elsewhere),
    "srun": Launcher({"--ntasks": words("ntasks n"), "--nodes": words("nodes")}),
}
"""By the name of the program or module: torch/distributed/run.py, accelerate/commands/launch.py, deepspeed/launcher/
runner.py, the manuals of Open MPI, Horovod and SLURM."""


@dataclass(frozen=True, slots=True)
class Program:
    """The script or module (as the path of its file) that trains, and the index of its word."""

    at: int
    path: str


def program_of(argv: Sequence[str]) -> Program | None:
    """The Python program of a command; None for a job script or a console script."""
    for index, word in enumerate(argv):
        module = index and argv[index - 1] in {"-m", "--module"}
        if module and word not in LAUNCHERS and re.fullmatch(r"[A-Za-z_][\w.]*", word):
            return Program(index, word.replace(".", "/") + ".py")
        if word.endswith(".py") and not word.startswith("-") and "=" not in word:
            return Program(index, word)
    return None


def source_of(argv: Sequence[str], read: Read) -> str | None:
    """The text of the program; None where it is not known or not in the project."""
    program = program_of(argv)
    if program is None:
        return None
    return read(program.path) or read(program.path.removesuffix(".py") + "/__main__.py")
