"""Programs that hand the work to someone else: what they start would outlive a smoke test and every bound of it.

sbatch jobs/42.sh, runai submit ..., kubectl apply -f job.yaml     to a scheduler
docker run ..., ssh node17 python train.py, tmux new -d ...        to a daemon or another machine
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from experiment_debugger.discovery.names import words
from experiment_debugger.errors import DebuggerError

_SCHEDULERS = words("sbatch salloc qsub bsub condor_submit msub oarsub")
_WITH_VERB = {
    "runai": words("submit submit-dist training workspace"),
    "kubectl": words("apply create run replace"),
    "oc": words("apply create run"),
    "ray": words("submit job"),
    "gcloud": words("ai ml-engine"),
    "az": words("ml"),
    "aws": words("sagemaker batch"),
    "helm": words("install upgrade"),
    "scontrol": words("requeue requeuehold"),
    "argo": words("submit"),
    "sky": words("launch exec jobs"),
    "docker": words("run compose exec start container"),
    "nvidia-docker": words("run"),
    "docker-compose": words("up run"),
    "podman": words("run exec start"),
}
_ELSEWHERE = words("ssh pdsh tmux screen systemd-run")
_PREFIXES = words("exec time nohup command sudo env nice ionice stdbuf timeout if then else elif do while until ! {")
"""Words after which the program still follows."""


def handover(command: Sequence[str]) -> str | None:
    """The words that hand the work over; None for a command whose work is done below it."""
    rest = [] if list(command[:2]) == ["command", "-v"] else list(command)
    while rest and (rest[0] in _PREFIXES or "=" in rest[0] or rest[0][:1].isdigit() or rest[0].startswith("-")):
        rest.pop(0)
    if not rest:
        return None
    name = os.path.basename(rest[0])
    if name in _SCHEDULERS | _ELSEWHERE:
        return name
    verb = next((word for word in rest[1:] if not word.startswith("-")), "")
    return f"{name} {verb}" if verb in _WITH_VERB.get(name, ()) else None


def refuse_handover(command: Sequence[str], at: str) -> None:
    """Raises `DebuggerError` for a command that hands its work over; `at` is where it stands."""
    if (found := handover(command)) is not None:
        raise DebuggerError(
            f"{at}: expected a command that trains; found `{found}`, which starts it where a smoke test can neither "
            "bound nor end it; give the training command itself after --"
        )
