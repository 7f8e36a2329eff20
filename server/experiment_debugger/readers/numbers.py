"""Which reader reads which source of numbers; each is imported when it is needed.

events.out.tfevents.*  run-ab12cd.wandb  metrics.csv  trainer_state.json  smi.csv  mlruns/0/ab12/metrics/loss
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from experiment_debugger.readers.files import open_artifact, sniff
from experiment_debugger.readers.series import Recorded

NUMBER_KINDS = frozenset({"metrics", "tensorboard", "wandb", "gpu-log"})
PACKED = (".gz", ".xz", ".zst")
TABLES = (".csv", ".tsv", ".jsonl", ".ndjson")


def has_numbers(path: Path, kind: str) -> bool:
    """Whether `read_numbers` knows the format."""
    if kind == "wandb":
        from experiment_debugger.readers.wandb.reader import is_wandb

        return is_wandb(path)
    return kind == "tensorboard" or _format_of(path, kind) is not None


def read_numbers(paths: Sequence[Path], kind: str) -> Recorded:
    """The numbers of one source; raises `UnreadableArtifact` where nothing of it can be used."""
    if kind == "wandb":
        from experiment_debugger.readers.wandb.reader import read_wandb

        return read_wandb(paths[0])
    if kind == "tensorboard":
        from experiment_debugger.readers.tensorboard.reader import read_events

        return read_events(paths)
    return _read_file(paths[0], _format_of(paths[0], kind) or "table")


def _format_of(path: Path, kind: str) -> str | None:
    """Which reader reads a source of one file; logs of GPUs and JSON are told by their first bytes."""
    if kind == "gpu-log":
        from experiment_debugger.readers.gpu_logs import is_gpu_table

        return "gpu" if is_gpu_table(sniff(path)) else None
    if kind != "metrics":
        return None
    from experiment_debugger.readers.mlflow_store import metric_key
    from experiment_debugger.readers.trainer_state import is_document

    name = path.name.lower()
    for packed in PACKED:
        name = name.removesuffix(packed)
    if name.endswith(".trace.json"):
        return "trace"
    if name.endswith(".json"):
        return "document" if is_document(sniff(path)) else "table"
    return "mlflow" if metric_key(path) else "table" if name.endswith(TABLES) else None


def _read_file(path: Path, form: str) -> Recorded:
    if form == "mlflow":
        from experiment_debugger.readers.mlflow_store import read_metric

        return read_metric(path)
    with open_artifact(path) as stream:
        if form == "gpu":
            from experiment_debugger.readers.gpu_logs import read_gpu_log as read
        elif form == "trace":
            from experiment_debugger.readers.chrome_trace import read_trace as read
        elif form == "document":
            from experiment_debugger.readers.trainer_state import read_json as read
        else:
            from experiment_debugger.readers.tables import read_table as read
        return read(stream)
