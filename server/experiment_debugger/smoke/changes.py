"""`--try`: one change of a command, made where it reaches furthest without touching a file.

--batch_size 64 on the command line     half-batch: --batch_size 32
torch.compile, asynchronous CUDA        no-compile, blocking: an environment variable
whatever a job script or config says    fp32, half-batch, workers, lr/10, deterministic: inside the process (probe.json)
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from experiment_debugger.discovery.names import words
from experiment_debugger.errors import DebuggerError
from experiment_debugger.smoke.batch_size import BatchFit, batch_of, batch_options, largest_batch
from experiment_debugger.smoke.isolations import Change, parse_change
from experiment_debugger.smoke.launchers import Read, source_of
from experiment_debugger.smoke.one_process import one_process
from experiment_debugger.smoke.options import Option, named, options_of, with_value, without
from experiment_debugger.smoke.order import Command
from experiment_debugger.smoke.precision import single_precision

__all__ = ["Applied", "BatchFit", "Change", "applied", "batch_of", "largest_batch", "parse_change"]

_WORKERS = words(
    "num_workers workers n_workers nworkers num_data_workers dataloader_num_workers data_workers workers_per_gpu j"
)
_RATE = re.compile(r"(?!(?:min|warmup|final|end|init|start|last)_)(?:\w+_)?(?:lr0?|learning_rate)")
_NO_COMPILE = {"TORCH_COMPILE_DISABLE": "1", "TORCHDYNAMO_DISABLE": "1"}
"""torch/_dynamo: config.py reads the first, eval_frame.py the second; either stops torch.compile."""
_BLOCKING = {"CUDA_LAUNCH_BLOCKING": "1"}
_WORKSPACE = {"CUBLAS_WORKSPACE_CONFIG": ":4096:8"}
"""Without it cuBLAS is not deterministic, and torch refuses (its notes on reproducibility)."""


@dataclass(frozen=True, slots=True)
class Applied:
    """A change that was made: in the command, in the environment, or `inside` (`changes` of probe.json).

    `says` is what was made of what; what is changed inside is seen only in the records of the probe.
    """

    change: Change
    command: Command
    environment: dict[str, str] = field(default_factory=dict)
    inside: dict[str, object] = field(default_factory=dict)
    says: str = ""

    @property
    def name(self) -> str:
        """As the user wrote it."""
        return self.change.name


Edit = tuple[Option, str | None]
"""An option and its new value; None leaves the option out."""


def applied(change: Change, command: Command, read: Read) -> Applied:
    """The command with one change; raises `DebuggerError` where the change cannot be made."""
    kind = change.name.partition("=")[0]
    if kind == "one-process":
        return _alone(change, command)
    if kind in _BY_ENVIRONMENT:
        return _set(change, command, _BY_ENVIRONMENT[kind])
    edits = _EDITS[kind](change, command.argv, source_of(command.argv, read) or "") if kind in _EDITS else []
    if edits:
        return _edited(change, command, edits)
    inside, says = _INSIDE[kind](change)
    environment = _WORKSPACE if kind == "deterministic" else {}
    return Applied(change, command, environment=environment, inside=inside, says=says)


def _alone(change: Change, command: Command) -> Applied:
    """One process that sees one device, the first of those that it saw."""
    argv, says = one_process(command.argv)
    visible = command.environment.get("CUDA_VISIBLE_DEVICES", os.environ.get("CUDA_VISIBLE_DEVICES", "0"))
    first = visible.split(",")[0]
    environment = {"CUDA_VISIBLE_DEVICES": first}
    return Applied(change, replace(command, argv=argv), environment=environment, says=says)


def _set(change: Change, command: Command, environment: dict[str, str]) -> Applied:
    says = ", ".join(f"{name}={value}" for name, value in environment.items())
    return Applied(change, command, environment=dict(environment), says=says)


def _edited(change: Change, command: Command, edits: Sequence[Edit]) -> Applied:
    """The edits made from the last word to the first, so that the places of the others stay right."""
    argv = command.argv
    for option, value in sorted(edits, key=lambda edit: -edit[0].at):
        argv = without(argv, option) if value is None else with_value(argv, option, value)
    said = [f"{option.name} {f'{option.value} -> {value}' if value else 'left out'}" for option, value in edits]
    return Applied(change, replace(command, argv=argv), says=f"{', '.join(said)} on the command line")


def _smaller_batch(change: Change, argv: Sequence[str], _source: str) -> list[Edit]:
    edits: list[Edit] = []
    for option, size in batch_options(argv):
        smaller = int(size * change.number)
        if smaller < 1:
            raise DebuggerError(
                f"--try {change.name}: expected a batch that can be made smaller; found {option.name} {size}; "
                "try something else"
            )
        edits.append((option, str(smaller)))
    return edits


def _workers(change: Change, argv: Sequence[str], _source: str) -> list[Edit]:
    """None of them with 0: a DataLoader without workers refuses other arguments, which are left out inside."""
    options = named(argv, _WORKERS) if change.number else []
    return [(one, f"{change.number:g}") for one in options if re.fullmatch(r"\d{1,3}", one.value or "")]


def _tenth_of_rate(_change: Change, argv: Sequence[str], _source: str) -> list[Edit]:
    rates = [option for option in options_of(argv) if _RATE.fullmatch(option.key) and _is_number(option.value)]
    return [(option, f"{float(option.value or 0) / 10:.6g}") for option in rates]


def _is_number(text: str | None) -> bool:
    return bool(re.fullmatch(r"\d*\.?\d+(?:[eE][-+]?\d+)?|\d+\.", text or ""))


_BY_ENVIRONMENT = {"no-compile": _NO_COMPILE, "blocking": _BLOCKING}
_EDITS: dict[str, Callable[[Change, Sequence[str], str], list[Edit]]] = {
    "fp32": single_precision,
    "half-batch": _smaller_batch,
    "quarter-batch": _smaller_batch,
    "workers": _workers,
    "lr/10": _tenth_of_rate,
}
_INSIDE: dict[str, Callable[[Change], tuple[dict[str, object], str]]] = {
    "fp32": lambda _: ({"fp32": True}, "autocast and gradient scaling off"),
    "half-batch": lambda change: ({"batch_factor": change.number}, "batches of every DataLoader halved"),
    "quarter-batch": lambda change: ({"batch_factor": change.number}, "batches of every DataLoader quartered"),
    "workers": lambda change: ({"workers": int(change.number)}, f"workers of every DataLoader -> {change.number:g}"),
    "lr/10": lambda _: ({"lr_factor": 0.1}, "the learning rate of every step divided by 10"),
    "deterministic": lambda _: ({"deterministic": True}, "deterministic algorithms only"),
}
