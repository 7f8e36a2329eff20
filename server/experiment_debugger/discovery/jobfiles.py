"""What a job file says: where its output goes, the command, resources, environment, commit.

#SBATCH -J sft13b -N 1 --gres=gpu:4        resources and the name behind %x
#SBATCH -o outputs/logs/%x/slurm-%j.out    where the logs are, found among the files of the project
export NCCL_DEBUG=INFO                     environment
srun python train.py --config configs/a.yaml
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from experiment_debugger.discovery.names import stem, words
from experiment_debugger.redaction import redact
from experiment_debugger.yaml_text import parse_documents

MAX_YAML_DEPTH = 12
_SHORT = {
    "-J": "job-name", "-o": "output", "-e": "error", "-p": "partition", "-N": "nodes", "-n": "ntasks",
    "-c": "cpus-per-task", "-t": "time", "-G": "gpus", "-A": "account", "-w": "nodelist", "-D": "chdir", "-a": "array",
    "-q": "qos", "-C": "constraint",
}  # fmt: skip
_RESOURCES = words(
    "partition nodes ntasks cpus-per-task time gpus gres mem mem-per-cpu mem-per-gpu gpus-per-node gpus-per-task "
    "ntasks-per-node qos constraint array requeue exclusive nodelist gpu gpu-memory cpu memory large-shm"
)
_PLACEHOLDERS = {
    "j": r"\d+(?:_\d+)?", "A": r"\d+", "a": r"\d+", "J": r"\d+(?:\.\w+)?", "u": r"[^/]+", "N": r"[^/]+", "n": r"\d+",
    "t": r"\d+", "s": r"\w+", "x": r"[^/]+", "b": r"\d", "%": "%",
}  # fmt: skip
_LAUNCHERS = re.compile(
    r"(?:^|[\s;&|/])(?:srun|torchrun|python3?(?:\.\d+)?|accelerate|deepspeed|mpirun|mpiexec|horovodrun|ray|composer|"
    r"colossalai|runai|lightning|axolotl|fairseq-train|nemo\w*|allennlp|bazel|uv|poetry|singularity|apptainer|docker)\s"
)
_TRAINING = re.compile(r"train|fit|finetune|fine_tune|sft|pretrain|main|run", re.IGNORECASE)
_EXPORT = re.compile(r"^\s*export\s+([A-Za-z_]\w*)=(.*)$")
_PREFIXED = re.compile(r"^\s*((?:[A-Z_][A-Z0-9_]*=\S+\s+)+)(?=\S)")
_RUNAI_ENV = re.compile(r"(?:^|\s)(?:-e|--environment(?:-variable)?)[ =]([A-Za-z_]\w*=\S+)")
_RUNAI_OPTION = re.compile(r"--(gpu(?:-memory)?|cpu(?:-core-request)?|memory|large-shm|image|node-pools?)[ =](\S+)")
_COMMIT = re.compile(
    r"(?:git\s+(?:checkout|reset --hard)\s+|commit\b[\"']?\s*[:=]\s*[\"']?)([0-9a-f]{7,40})\b", re.IGNORECASE
)


@dataclass(slots=True)
class JobFile:
    """What one job file says; `outputs` are output patterns as written, `command_at` is name:line."""

    name: str
    job_name: str | None = None
    outputs: list[str] = field(default_factory=list)
    command: str | None = None
    command_at: str | None = None
    resources: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    commit: str | None = None
    is_slurm: bool = False


def read_job(text: str, name: str) -> JobFile:
    """What the job file `name` (as shown) with this text says; unknown syntax is passed over, never an error."""
    job = _read_yaml(text, name) if name.endswith((".yaml", ".yml")) else _read_script(text, name)
    commit = _COMMIT.search(text)
    job.commit = commit[1] if commit else None
    return job


def _read_script(text: str, name: str) -> JobFile:
    job = JobFile(name)
    commands: list[tuple[int, str]] = []
    for number, line in _logical_lines(text):
        if line.lstrip().startswith("#SBATCH"):
            _sbatch(line, job)
        elif line.lstrip().startswith("#"):
            continue
        elif export := _EXPORT.match(line):
            _environment(job, f"{export[1]}={export[2]}")
        elif _LAUNCHERS.search(line):
            commands.append((number, line.strip()))
    _script_command(job, commands)
    if job.is_slurm and not job.outputs:
        job.outputs.append("slurm-%A_%a.out" if "array" in job.resources else "slurm-%j.out")
    return job


def _script_command(job: JobFile, commands: list[tuple[int, str]]) -> None:
    """The command that trains (else the first that starts a program), with the settings that stand on its line."""
    for _, line in commands:
        for assignment in _RUNAI_ENV.findall(line):
            _environment(job, assignment)
        job.resources |= {key: value for key, value in _RUNAI_OPTION.findall(line) if "runai" in line}
    if not commands:
        return
    number, command = next((one for one in commands if _TRAINING.search(one[1])), commands[0])
    prefixed = _PREFIXED.match(command)
    for assignment in prefixed[1].split() if prefixed else ():
        _environment(job, assignment)
    job.command, job.command_at = redact(command), f"{job.name}:{number}"


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with `\\` continuations joined, each with the 1-based number of its first line."""
    start, whole = 0, ""
    for number, ending in enumerate(text.split("\n"), 1):
        start = start or number
        line = ending.rstrip("\r")
        if line.endswith("\\") and len(whole) < 20_000:
            whole += line[:-1].rstrip() + " "
            continue
        yield start, re.sub(r"\s{2,}", " ", whole + line) if whole else line
        start, whole = 0, ""
    if whole:
        yield start, whole


def _environment(job: JobFile, assignment: str) -> None:
    key, _, value = assignment.partition("=")
    value = re.sub(r"\s+#.*$", "", value.strip()).strip("\"'")
    job.environment[key] = redact(f"{key}={value}")[len(key) + 1 :]


def _sbatch(line: str, job: JobFile) -> None:
    job.is_slurm = True
    try:
        words = shlex.split(line.split("#SBATCH", 1)[1], comments=True)
    except ValueError:  # an open quote
        words = line.split("#SBATCH", 1)[1].split()
    for key, value in _options(words):
        if key in {"output", "error"}:
            job.outputs.append(value)
        elif key == "job-name":
            job.job_name = value
        elif key in _RESOURCES:
            job.resources[key] = value or "yes"


def _options(words: list[str]) -> Iterator[tuple[str, str]]:
    index = 0
    while index < len(words):
        word = words[index]
        following = words[index + 1] if index + 1 < len(words) and not words[index + 1].startswith("-") else ""
        index += 1
        if word.startswith("--"):
            key, equals, value = word[2:].partition("=")
            if not equals and following:
                value, index = following, index + 1
            yield key, value
        elif word[:2] in _SHORT:
            value = word[2:].removeprefix("=")
            if not value:
                value, index = following, index + bool(following)
            yield _SHORT[word[:2]], value


def output_regex(pattern: str, job_name: str | None) -> re.Pattern[str]:
    """A SLURM file name pattern as a regex over paths: `%j` `%A_%a` `%x` `%N` ..., `%5j` zero padded."""
    body = ""
    for literal, code in re.findall(r"([^%]+)|%\d*(.)", pattern.removeprefix("./")):
        if literal:
            body += re.escape(literal)
        elif code == "x" and job_name:
            body += re.escape(job_name)
        else:
            body += _PLACEHOLDERS.get(code, re.escape("%" + code))
    return re.compile(body + r"(?:\.\d{1,3})?(?:\.(?:gz|xz|zst))?")


def _read_yaml(text: str, name: str) -> JobFile:
    """A job as YAML (run-experiment's, Kubernetes, Run:ai): command, env, resources, commit and log by their keys."""
    job = JobFile(name)
    try:
        documents = [one for one in parse_documents(text) if isinstance(one, dict)]
    except ValueError:
        return job
    for document in documents:
        _walk(document, job, depth=0)
    if job.command:
        first = re.search(r"^[ -]*[\"']?(?:command|cmd|entrypoint)[\"']?\s*:", text, re.MULTILINE)
        job.command_at = f"{name}:{text.count(chr(10), 0, first.start()) + 1 if first else 1}"
    return job


def _walk(node: dict[Any, Any], job: JobFile, depth: int) -> None:
    if depth > MAX_YAML_DEPTH:
        return
    for key, value in node.items():
        if key in {"command", "cmd", "entrypoint", "args"}:
            _yaml_command(job, value)
        elif key in {"env", "environment", "environment_variables"}:
            _yaml_environment(job, value)
        elif isinstance(value, str):
            _yaml_text(job, key, value)
        else:
            if key in {"resources", "limits", "requests"} and isinstance(value, dict):
                plain = {str(name): str(one) for name, one in value.items() if not isinstance(one, (dict, list))}
                job.resources |= plain
            for one in value if isinstance(value, list) else [value]:
                if isinstance(one, dict):
                    _walk(one, job, depth + 1)


def _yaml_text(job: JobFile, key: object, value: str) -> None:
    if key in {"log", "log_path", "output", "stdout", "stderr", "error"}:
        job.outputs.append(value)
    elif key in {"job_name", "name"} and job.job_name is None:
        job.job_name = value


def _yaml_command(job: JobFile, value: object) -> None:
    words = [str(word) for word in value] if isinstance(value, list) else [str(value)] if isinstance(value, str) else []
    text = shlex.join(words) if len(words) > 1 else "".join(words)
    job.command = redact(f"{job.command} {text}" if job.command else text) if text else job.command


def _yaml_environment(job: JobFile, value: object) -> None:
    pairs: list[tuple[object, object]] = []
    if isinstance(value, dict):
        pairs = list(value.items())
    elif isinstance(value, list):
        pairs = [(one.get("name"), one.get("value", "")) for one in value if isinstance(one, dict)]
        pairs += [tuple(one.split("=", 1)) for one in value if isinstance(one, str) and "=" in one]  # type: ignore[misc]
    for name, one in pairs:
        _environment(job, f"{name}={one}")


def job_label(name: str) -> str:
    """The job that a script is for: `42-runai.sh` and `42-local.sh` are job 42."""
    return re.sub(r"-(?:runai|local|slurm)$", "", stem(name))
