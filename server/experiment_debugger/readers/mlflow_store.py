"""The file store of MLflow: one file a metric, lines of `milliseconds value step`.

    mlruns/<experiment>/<run>/metrics/train/loss     1796062513017 nan 30
                              params/opt.name        adam
                              meta.yaml              status: 3, end_time: 1796062513025
                              tags/mlflow.source.git.commit

Parameters and the state of the run come with the first of its metrics, so that they are told once.
"""

from __future__ import annotations

import math
import os
import re
from pathlib import Path

from experiment_debugger.errors import UnreadableArtifact
from experiment_debugger.readers.blocks import Blocks
from experiment_debugger.readers.columns import number_of, position
from experiment_debugger.readers.files import open_artifact
from experiment_debugger.readers.lines import to_text
from experiment_debugger.readers.series import Recorded

STATES = {"1": "running", "2": "scheduled", "3": "finished", "4": "failed", "5": "killed"}
"""RunStatus of mlflow/protos/service.proto; the store writes the number."""
MOST_FILES = 1000  # parameters, or metrics that are listed
MOST_TEXT = 4000  # bytes of a parameter or of meta.yaml
_STATUS = re.compile(r"^status: *'?(\w+)", re.MULTILINE)


def metric_key(path: Path) -> str | None:
    """The name of the metric: the path below the `metrics` folder of a run, None where there is no such folder."""
    parts = path.parts
    if "mlruns" not in parts[:-1]:
        return None
    store = parts.index("mlruns")
    return "/".join(parts[store + 4 :]) if parts[store + 3 : store + 4] == ("metrics",) else None


def read_metric(path: Path) -> Recorded:
    """The series of one metric, with parameters and state of its run when it is the first metric there."""
    key = metric_key(path)
    if key is None:
        raise UnreadableArtifact("expected mlruns/<experiment>/<run>/metrics/<name>, found another place")
    recorded, odd = Recorded(), 0
    series = recorded.of(key)
    with open_artifact(path) as stream:
        for first, lines in Blocks(stream, recorded):
            for number, line in enumerate(lines, first):
                cells = line.split()
                value = number_of(cells[1]) if 2 <= len(cells) <= 5 else None
                if value is None:
                    odd += bool(cells)
                    continue
                time, step = number_of(cells[0]), number_of(cells[2]) if len(cells) > 2 else None
                seconds = time / 1000 if time is not None and math.isfinite(time) else math.nan
                series.add(position(step), value, seconds, number)
    if odd:
        recorded.problems.append(f"{odd} lines are no `time value step`")
    run = Path(*path.parts[: path.parts.index("mlruns") + 3])
    if _is_first(run / "metrics", key):
        _take_run(recorded, run)
    return recorded


def _is_first(folder: Path, key: str) -> bool:
    """Whether no other metric of the run comes earlier in the alphabet."""
    names: list[str] = []
    for where, folders, files in os.walk(folder):
        folders.sort()
        names += ["/".join((Path(where) / name).relative_to(folder).parts) for name in files]
        if len(names) > MOST_FILES:
            break
    return key == min(names, default=key)


def _take_run(recorded: Recorded, run: Path) -> None:
    for path in sorted(_files(run / "params")):
        if (text := _text(path)) is not None:
            recorded.settings[path.name] = text
    status = _STATUS.search(_text(run / "meta.yaml") or "")
    if status:
        recorded.facts["state"] = STATES.get(status.group(1), status.group(1).lower())
    if commit := _text(run / "tags" / "mlflow.source.git.commit"):
        recorded.facts["commit"] = commit


def _files(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return [Path(entry.path) for _, entry in zip(range(MOST_FILES), entries, strict=False) if entry.is_file()]
    except OSError:
        return []


def _text(path: Path) -> str | None:
    """The beginning of a small text file, None where it cannot be read or leads out of the store by a link."""
    if path.is_symlink():
        return None
    try:
        with open_artifact(path) as stream:
            return to_text(stream.read(MOST_TEXT)).strip()
    except (UnreadableArtifact, OSError):
        return None
