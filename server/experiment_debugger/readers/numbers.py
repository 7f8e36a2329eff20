"""Which reader reads which source of numbers; each is imported when it is needed.

    events.out.tfevents.*  run-ab12cd.wandb  metrics.csv  trainer_state.json  smi.csv  mlruns/0/ab12/metrics/loss
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from experiment_debugger.readers.files import open_artifact
from experiment_debugger.readers.series import Recorded

NUMBER_KINDS = frozenset({"metrics", "tensorboard", "wandb", "gpu-log"})
TABLES = frozenset({".csv", ".tsv", ".jsonl"})


def has_numbers(path: Path, kind: str) -> bool:
    """Whether `read_numbers` knows the format."""
    return kind == "metrics" and path.suffix in TABLES


def read_numbers(paths: Sequence[Path], kind: str) -> Recorded:
    """The numbers of one source; raises `UnreadableArtifact` where nothing of it can be used."""
    from experiment_debugger.readers.tables import read_table

    with open_artifact(paths[0]) as stream:
        return read_table(stream)
