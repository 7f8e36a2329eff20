"""One case: a project, how its run is started, and what a diagnosis must find."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Case:
    """One project. `driver` is bash that runs in the project's root and is not kept; all other files are."""

    name: str
    program: str
    driver: str
    files: Mapping[str, str]
    run_id: str
    verdict: str
    mode: str | None
    exception: str | None
    path: str  # glob of the file with the key evidence
    pattern: str | None  # regex of the key line; None where the evidence is no line
    # A number; a regex with one group, whose last match up to the key line counts; or a function of the project.
    step: int | str | Callable[[Path], int] | None
    note: str
    keep: frozenset[str] = field(default_factory=frozenset)  # binary files that are artifacts themselves


LOCAL_JOB = """#!/usr/bin/env bash
set -uo pipefail
cd /workspace/proj
{command}
"""
SLURM_JOB = """#!/usr/bin/env bash
#SBATCH --job-name={name}
#SBATCH --output={output}
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=2
#SBATCH --time=00:30:00
{extra}
set -euo pipefail
cd /workspace/proj
{command}
"""


def local(command: str) -> str:
    return LOCAL_JOB.format(command=command)


def slurm(name: str, output: str, command: str, extra: str = "#SBATCH --partition=cpu") -> str:
    return SLURM_JOB.format(name=name, output=output, command=command, extra=extra)


def started(job: str, log: str, *, before: str = "") -> str:
    """Driver: what a scheduler does, both streams into one file."""
    return f"mkdir -p {log.rpartition('/')[0] or '.'}\n{before} bash {job} > {log} 2>&1"
