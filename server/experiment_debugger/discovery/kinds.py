"""What kind of artifact a file is: by name first, then by its extension, then by its first 4 kB.

dmesg-cn-a21.txt   kernel        params.txt with `lr: 0.0005` lines       config
smi.csv            gpu-log       step,t_wait_batch_s,...                  metrics
env.txt            environment   id,name,n_pixels (no step, no loss)      other
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from experiment_debugger.discovery.names import normal, stem, words
from experiment_debugger.run import ArtifactKind

SNIFF_BYTES = 4096
Head = Callable[[], bytes]

COMPRESSED = (".gz", ".xz", ".zst")
IGNORED = words(
    "png jpg jpeg gif bmp svg webp tif tiff pdf mp4 avi mov mkv wav mp3 flac ogg zip tar tgz 7z rar npy npz "
    "parquet arrow feather tfrecord tfrecords lmdb mdb db sqlite so o a pyc pyo whl egg dll exe class jar lock "
    "idx mat nii dcm hdf hdf5 ttf woff woff2 css js ts map pptx docx xlsx pack rs java tex bib swp pid sock"
)
"""Extensions of files that say nothing about a run; they are not even looked at (`.lock` files aside, see below)."""

_BY_EXTENSION: dict[str, ArtifactKind] = {
    "log": "log", "out": "log", "err": "log", "py": "code", "cu": "code", "cpp": "code", "cc": "code",
    "ipynb": "notebook", "sbatch": "job", "slurm": "job", "pbs": "job", "sub": "job", "sh": "job", "bash": "job",
    "wandb": "wandb", "jsonl": "metrics", "tsv": "metrics",
    "pt": "checkpoint", "pth": "checkpoint", "ckpt": "checkpoint", "safetensors": "checkpoint", "h5": "checkpoint",
    "keras": "checkpoint", "distcp": "checkpoint", "msgpack": "checkpoint", "bin": "checkpoint", "index": "checkpoint",
    "toml": "config", "ini": "config", "cfg": "config", "gin": "config", "jsonnet": "config", "yaml": "config",
    "yml": "config",
}  # fmt: skip

_NAMES: tuple[tuple[ArtifactKind, str], ...] = (
    ("tensorboard", r"^events-out-tfevents"),
    ("wandb", r"^wandb-(?:summary|metadata)|^debug(?:-internal|-core)?(?!.)"),
    ("environment", r"^(?:requirements|environment|collect-env|pip-freeze|pip-list|conda|env|pyproject|poetry-lock"
                    r"|uv-lock|pipfile|freeze)(?:-|$)|(?:^|-)requirements-lock|(?:^|-)(?:env|pip-freeze)$"),
    ("kernel", r"(?:^|-)(?:dmesg|journal|journalctl|kern|syslog|xid)(?:-|$)"),
    ("dump", r"(?:^|-)(?:pyspy|py-spy|faulthandler|flight-recorder|nccl-trace|gdb|stacks?|backtrace)(?:-|$)"),
    ("gpu-log", r"(?:^|-)(?:nvidia-smi|smi|dmon|pmon|dcgm|rocm-smi)(?:-|\d|$)"),
    ("scheduler", r"(?:^|-)(?:sacct|scontrol|seff|squeue|epilog|kubectl|describe|k8s-events|events)(?:-|$)"),
    ("metrics", r"^(?:trainer-state|progress|metrics|all-results|train-results|eval-results|history|scalars"
                r"|log-history|eval-metrics|training-log|results)$"),
    ("config", r"^(?:config|configs|hparams|params|args|arguments|flags|cfg|opt|overrides|hyperparameters"
               r"|ds-config|deepspeed-config|training-args|run-config)$"),
)  # fmt: skip
_BY_NAME = tuple((kind, re.compile(pattern)) for kind, pattern in _NAMES)
_PLAIN_LOGS = words("stdout stderr log nohup console output screenlog std-log train-log")
_LOG_STEMS = re.compile(
    r"(?:^|-)(?:log|logs|stdout|stderr|console|out|output|nohup|train|training|driver|launcher|slurm|rank-?\d+)(?:-|$)"
)
_NOTES = frozenset(["index", "readme", "license", "notes", "todo", "changelog", "manifest", "authors"])
_SIGNS: tuple[tuple[ArtifactKind, bytes], ...] = (
    ("dump", rb"py-spy dump|^Process \d+: |^(?:Current thread|Thread) 0x[0-9a-f]+ \(most recent call first\)"),
    ("kernel", rb"\A(?:\[ *\d+\.\d{6}\] |\[[A-Z][a-z]{2} [A-Z][a-z]{2} +\d+ [\d:]{8} \d{4}\] )"),
    ("gpu-log", rb"\A# ?gpu\b|\A#Date +Time +gpu\b|NVIDIA-SMI \d|\A[^\n]*utilization\.gpu"),
    (
        "scheduler",
        rb"\A *JobID(?:Raw)?[ |]+\S|^Name: +\S+\nNamespace: |^slurm_load_jobs"
        rb"|^Job ID: \d+\nCluster: ",
    ),
    (
        "environment",
        rb"\A(?:[A-Za-z][\w.-]*(?:\[[\w,]+\])?==\S+\s+){2}"
        rb"|\A# packages in environment|^PyTorch version: ",
    ),
)
_TEXT_SIGNS = tuple((kind, re.compile(pattern, re.MULTILINE)) for kind, pattern in _SIGNS)
_SETTING = re.compile(rb"^[A-Za-z_][\w./-]* ?[:=][^\n]{0,200}$", re.MULTILINE)
_LOG_SIGNS = re.compile(
    rb"(?i)Traceback \(most recent|\d{2}:\d{2}:\d{2}[ ,.\]]|\bWARNING\b"
    rb"|\b(?:epoch|step|iter\w*|loss)\b *[\[:= ]{1,2} *\d"
)
_SERIES_COLUMN = re.compile(
    rb"(?i)(?:^|[,;\t]) *\"?(?:(?:trainer/)?global_?step|_?steps?|iter\w*|epochs?|training_iteration|timesteps_total"
    rb"|\w*num_updates|(?:time/)?total_timesteps|[\w/.]*loss[\w/.]*)\"? *(?:[,;\t]|$)"
)
_CONFIG_KEYS = re.compile(
    rb'"(?:zero_optimization|learning_rate|lr|batch_size|train_batch_size|model_type|architectures|optimizer|'
    rb'per_device_train_batch_size|gradient_accumulation_steps|seed)"\s*:'
)
_LOG_RECORD = re.compile(rb'\s*\{[^\n]*"(?:msg|message|event|level|levelname|severity|log)"\s*:\s*"')
_JOB_YAML = re.compile(rb"^apiVersion:|^kind: *\w*Job\b|^(?:command|entrypoint): ", re.MULTILINE)


def is_ignored(name: str) -> bool:
    """Whether a name alone says that the file is no artifact."""
    lower = name.lower()
    if lower.endswith((".tar.gz", ".tar.xz", ".tar.zst", ".tar.bz2", ".nii.gz")):
        return True
    extension = lower.rpartition(".")[2] if "." in lower else ""
    return extension in IGNORED and not lower.endswith((".lock.txt", "poetry.lock", "uv.lock"))


def kind_of(parts: tuple[str, ...], head: Head, *, in_area: bool) -> ArtifactKind:
    """The kind of the file at `parts` (folders and name); `head` gives its first 4 kB and is called when needed.

    `in_area`: whether the file stands where runs stand; a `.txt` there is a log unless it looks like something else.
    """
    name = _uncompressed(parts[-1])
    named = _by_name(name, parts)
    return named if named is not None else _by_content(name, parts, head, in_area=in_area)


def _by_name(name: str, parts: tuple[str, ...]) -> ArtifactKind | None:
    base = normal(stem(name))
    extension = _extension(name)
    if base in _NOTES or extension == "md" or name.startswith("."):
        return "status" if base.split("-")[-1] == "status" else "other"
    if extension in {"py", "ipynb", "sbatch", "sh", "wandb", "pt", "pth", "ckpt", "safetensors", "cu", "cpp"}:
        return _BY_EXTENSION[extension]
    if base.startswith("debug") and "wandb" not in parts:
        base = base.removeprefix("debug").lstrip("-")
    for kind, pattern in _BY_NAME:
        if pattern.search(base) and _fits(kind, base, extension):
            return kind
    if "mlruns" in parts and "metrics" in parts[3:-1]:  # one file a metric, lines of `time value step`
        return "metrics"
    if name.endswith(".trace.json"):  # of torch.profiler
        return "metrics"
    pbs = re.fullmatch(r"[oe]\d+", extension)  # PBS and SGE: <job>.o<id>
    if pbs or extension in {"log", "out", "err"} or (not extension and base in _PLAIN_LOGS):
        return "log"
    return None


def _fits(kind: ArtifactKind, base: str, extension: str) -> bool:
    """Whether a name of that kind can have the extension: `results.log` is a log, `config.py` is code."""
    if kind == "metrics" and base == "training-log":
        return extension in {"csv", "json", "jsonl", "tsv"}
    if kind == "metrics":
        return extension in {"csv", "json", "jsonl", "tsv", "txt"}
    if kind == "config":
        return extension in {"json", "yaml", "yml", "toml", "txt", "ini", "cfg", ""}
    if kind == "environment":
        return extension in {"txt", "json", "yaml", "yml", "toml", "lock", ""}
    if kind == "scheduler":
        return extension in {"txt", "log", "json", "yaml", "yml", "csv", ""}
    return True


def _by_content(name: str, parts: tuple[str, ...], head: Head, *, in_area: bool) -> ArtifactKind:
    extension = _extension(name)
    if extension == "jsonl" and _LOG_RECORD.match(head()):
        return "log"
    if extension == "csv":
        return _csv_kind(head())
    if extension == "json":
        return _json_kind(name, parts, head())
    if extension in {"yaml", "yml"}:
        return _yaml_kind(name, parts, head())
    if extension in {"txt", ""}:
        return _text_kind(name, head(), in_area=in_area)
    return _BY_EXTENSION.get(extension, "other")


def _csv_kind(head: bytes) -> ArtifactKind:
    first = head.split(b"\n", 1)[0].strip()
    if b"utilization.gpu" in first or (first.startswith(b"device,") and b"GPU use (%)" in first):
        return "gpu-log"
    return "metrics" if _SERIES_COLUMN.search(first) else "other"


def _json_kind(name: str, parts: tuple[str, ...], head: bytes) -> ArtifactKind:
    base = normal(stem(name))
    if name.endswith(".log.json") or re.match(rb'\s*(?:\[\s*)?\{[^\n]*"(?:step|epoch|iter|loss)"', head):
        return "metrics"
    if base == "metadata" or re.search(rb'"(?:git|commit|packages|pip_freeze)"\s*:', head):
        return "environment"
    in_config_folder = any(normal(part) in {"configs", "config", "conf", "ds", "deepspeed"} for part in parts[:-1])
    return "config" if in_config_folder or _CONFIG_KEYS.search(head) else "other"


def _yaml_kind(name: str, parts: tuple[str, ...], head: bytes) -> ArtifactKind:
    base = normal(stem(name))
    if re.search(rb"^ *conditions:|^ *containerStatuses:", head, re.MULTILINE):
        return "scheduler"
    if (parts[0] == "jobs" and len(parts) == 2) or _JOB_YAML.search(head):
        return "job"
    return "other" if base == "meta" or parts[:2] == ("docs", "ops") else "config"


def _text_kind(name: str, head: bytes, *, in_area: bool) -> ArtifactKind:
    base = normal(stem(name))
    if in_area and base in _PLAIN_LOGS:  # such a log may start with `nvidia-smi` or `pip freeze`
        return "log"
    for kind, sign in _TEXT_SIGNS:
        if sign.search(head):
            return kind
    if head.startswith(b"#!") and b"sh" in head[:40]:
        return "job"
    lines = head.count(b"\n") + 1
    if lines >= 4 and not _LOG_STEMS.search(base) and len(_SETTING.findall(head)) >= 0.8 * lines:
        return "config"
    if in_area:
        return "log" if name.endswith(".txt") or _LOG_SIGNS.search(head) else "other"
    return "log" if _LOG_STEMS.search(base) and _LOG_SIGNS.search(head) else "other"


@lru_cache(maxsize=65536)
def _uncompressed(name: str) -> str:
    """The name without compression, rotation and date: `train.log.1.gz` and `train.log.2017-10-23_11-02-10`."""
    for suffix in (*COMPRESSED, ".bz2"):
        name = name.removesuffix(suffix)
    return re.sub(r"(\.(?:log|out|err|txt))\.(?:\d{1,3}|(?:19|20)\d\d[\d_\-T]{4,})$", r"\1", name)


def _extension(name: str) -> str:
    return name.rpartition(".")[2].lower() if "." in name.lstrip(".") else ""
