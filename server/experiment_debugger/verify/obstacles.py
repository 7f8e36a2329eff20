"""What kept a smoke test from telling anything: the test's own bounds, and what this machine lacks.

FileNotFoundError: ... 'data/train.bin'    an input that is not here, never a failure of the code
KeyError: 'HF_TOKEN'                       a variable that was withheld
No module named 'apex'                     another environment than the run's
"""

from __future__ import annotations

import re
from pathlib import PurePath

from experiment_debugger.models import Hypothesis
from experiment_debugger.smoke.environment import named_in
from experiment_debugger.verify.plan import is_host_memory
from experiment_debugger.verify.trial import Trial

TAIL_BYTES = 64 << 10
NOT_FOUND = {126, 127}
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


def obstacle_of_the_test(trial: Trial, failure: Hypothesis | None) -> str | None:
    """What the copy, the guard, the bounds or the reduced environment took away; None when it did not fail of that."""
    stopped, text = trial.result.get("stopped"), _tail(trial)
    if stopped in {"memory", "disk"} and not _was_memory(trial):
        return f"the test's own bound ended it: {trial.result.get('reason')}"
    if failure is None and (trial.result.get("exit") == 0 or stopped is not None):
        return None
    if trial.probed.blocked:
        path = trial.plan.place.show(trial.probed.blocked[0])
        return f"it was kept from writing to {_name(path)}, an artifact of the run: give it another output folder"
    if (name := named_in(text, trial.withheld)) is not None and not _stands_in_run(trial, name):
        return f"{name} was withheld from it: let it through with --pass-env {name}"
    for named in trial.workspace.missing if trial.workspace else ():
        path = named.partition(" (")[0]
        if path in text and not _stands_in_run(trial, PurePath(path).name):
            return f"an input is missing: {named}"
    return None


def obstacle_of_the_machine(trial: Trial, failure: Hypothesis | None) -> str | None:
    """What the run had and this machine has not; without a run to compare with, that is the failure itself."""
    text, result = _tail(trial), trial.result
    if result.get("exit") in NOT_FOUND and trial.probed.step == 0:
        found = list(_NO_FILE.finditer(text))
        name = f"{_name(next(filter(None, found[-1].groups())))} was not found" if found else "see console.log"
        return f"the command could not be started: {result.get('reason') or name}"
    if trial.plan.failure is None or (failure is None and result.get("exit") == 0):
        return None
    if failure is None and result.get("stopped") is not None:
        return None
    if missing := _NO_FILE.search(text):
        return f"an input is missing here: {_name(next(filter(None, missing.groups())))}"
    if module := _NO_MODULE.search(text):
        return f"the interpreter used here lacks the module {_name(module[1])}"
    if gpu := _NO_GPU.search(text):
        return f"it needs a device that is not here: {gpu[0]}"
    return None


def _was_memory(trial: Trial) -> bool:
    known, original = trial.plan.failure, trial.plan.original
    return known is not None and original is not None and is_host_memory(known, original)


def _stands_in_run(trial: Trial, name: str) -> bool:
    """Whether the run failed of the same name: then its lack is the failure, and no fault of the test."""
    known = trial.plan.failure
    return known is not None and any(name in (item.quote or "") for item in known.evidence)


def _tail(trial: Trial) -> str:
    try:
        with trial.records.console.open("rb") as stream:
            stream.seek(max(0, stream.seek(0, 2) - TAIL_BYTES))
            return stream.read().decode("utf-8", "replace")
    except OSError:
        return ""


def _name(text: str) -> str:
    return _UNTOLD.sub("", text)[:120]
