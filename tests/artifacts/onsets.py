"""Onset steps that no text line tells: read from the binary or JSON record of the run."""

import json
import math
from pathlib import Path


def nonfinite_event(project: Path) -> int:
    """First step with a non-finite train/loss in the project's TensorBoard events."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    path = next(project.glob("runs/*/events.out.tfevents.*"))
    events = EventAccumulator(str(path), size_guidance={"scalars": 0}).Reload()
    return int(next(event.step for event in events.Scalars("train/loss") if not math.isfinite(event.value)))


def nan_grad_norm(project: Path) -> int:
    """First step with a NaN grad_norm in the Trainer's last trainer_state.json."""
    path = max(project.glob("output/*/checkpoint-*/trainer_state.json"), key=lambda p: int(p.parent.name.split("-")[1]))
    history = json.loads(path.read_text(encoding="utf-8"))["log_history"]
    return int(next(entry["step"] for entry in history if math.isnan(entry.get("grad_norm", 0.0))))
