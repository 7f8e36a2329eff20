"""What kept a smoke test from telling anything: the test's own bounds, and what this machine lacks.

FileNotFoundError: ... 'data/train.bin'    an input that is not here, never a failure of the code
KeyError: 'HF_TOKEN'                       a variable that was withheld
No module named 'apex'                     another environment than the run's
"""

from __future__ import annotations

import re

from experiment_debugger.models import Hypothesis
from experiment_debugger.smoke.environment import named_in
from experiment_debugger.verify.plan import is_host_memory
from experiment_debugger.verify.trial import Trial

TAIL_BYTES = 64 << 10
NOT_FOUND = {126, 127}
OURS = "experiment-debugger: "
_NO_FILE = re.compile(
    r"(?:No such file or directory|does not exist|not found)[^'\"\n]{0,40}['\"]([^'\"\n]+)['\"]"
    r"|['\"]([^'\"\n]+)['\"][^'\"\n]{0,40}(?:No such file or directory|does not exist)"
    r"|([\w./~+-]+): (?:No such file or directory|command not found)"
)
_UNTOLD = re.compile(r"[^\w./~+=-]")
"""What no name in a sentence of ours may hold: logs are untrusted."""
_NO_MODULE = re.compile(r"No module named '([\w.]+)'")
_NO_GPU = re.compile(
    r"Torch not compiled with CUDA enabled|No CUDA GPUs are available|Found no NVIDIA driver|no CUDA-capable device"
    r"|NVIDIA-SMI has failed|Unable to initialize backend '(?:cuda|tpu)'"
)
"""Messages of torch/cuda/__init__.py, of the CUDA runtime, of the driver's tool and of jax."""


def obstacle(trial: Trial, failure: Hypothesis | None) -> str | None:
    """Why the test says nothing about the code; None when nothing stood in its way."""
    stopped = trial.result.get("stopped")
    if stopped in {"memory", "disk"} and not _was_memory(trial):
        return f"the test's own bound ended it: {_last_words(trial)}"
    if failure is None and trial.result.get("exit") == 0:
        return None
    if failure is None and stopped is not None:
        return None
    return _of_this_test(trial) or _of_this_machine(trial)


def _was_memory(trial: Trial) -> bool:
    known, original = trial.plan.failure, trial.plan.original
    return known is not None and original is not None and is_host_memory(known, original)


def _of_this_test(trial: Trial) -> str | None:
    """What the copy, the guard or the reduced environment took away."""
    if trial.probed.blocked:
        return f"it was kept from writing to {trial.probed.blocked[0]}, an artifact of the run: give another output"
    text = _tail(trial)
    if (name := named_in(text, trial.withheld)) is not None:
        return f"{name} was withheld from it: let it through with --pass-env {name}"
    workspace = trial.workspace
    for named in workspace.missing if workspace else ():
        if named.partition(" (")[0] in text:
            return f"an input is missing: {named}"
    return None


def _of_this_machine(trial: Trial) -> str | None:
    """What the run had and this machine has not; without a run to compare with, that is the failure itself."""
    text = _tail(trial)
    if trial.result.get("exit") in NOT_FOUND and trial.probed.step == 0:
        return f"the command could not be started: {_last_words(trial)}"
    if trial.plan.failure is None:
        return None
    if missing := _NO_FILE.search(text):
        return f"an input is missing here: {_name(next(filter(None, missing.groups())))}"
    if module := _NO_MODULE.search(text):
        return f"the interpreter used here lacks the module {_name(module[1])}"
    if gpu := _NO_GPU.search(text):
        return f"it needs a device that is not here: {gpu[0]}"
    return None


def _tail(trial: Trial) -> str:
    try:
        with trial.records.console.open("rb") as stream:
            stream.seek(max(0, stream.seek(0, 2) - TAIL_BYTES))
            return stream.read().decode("utf-8", "replace")
    except OSError:
        return ""


def _name(text: str) -> str:
    return _UNTOLD.sub("", text)[:120]


def _last_words(trial: Trial) -> str:
    """The last line of the log where it is ours; what others print is quoted as evidence only."""
    lines = [line for line in _tail(trial).splitlines() if line.strip()]
    ours = lines[-1][:300] if lines and lines[-1].startswith(OURS) else ""
    return ours.removeprefix(OURS) or "see the end of console.log"
