"""Config and trackers of this project: console, TensorBoard, W&B, CSV or JSON lines."""

import argparse
import json
import os
import time
from pathlib import Path

import torch
import yaml


def load_config() -> dict:
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", required=True)
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE")
    arguments = parser.parse_args()
    cfg = yaml.safe_load(Path(arguments.config).read_text(encoding="utf-8"))
    for pair in arguments.set:
        key, _, value = pair.partition("=")
        cfg[key] = yaml.safe_load(value)
    torch.manual_seed(cfg.get("seed", 0))
    torch.set_num_threads(1)
    return cfg


class Tracker:
    """`log` takes every step; what is not due by `log_every` is left out."""

    def __init__(self, cfg: dict, part: str = "") -> None:
        self.kind, self.run, self.every = cfg["tracker"], cfg["run"], cfg.get("log_every", 1)
        folder = f"{self.run}/{part}" if part else self.run
        if self.kind == "tensorboard":
            from torch.utils.tensorboard import SummaryWriter

            self.writer = SummaryWriter(f"runs/{folder}")
        elif self.kind == "wandb":
            import wandb

            self.wandb = wandb
            settings = wandb.Settings(x_stats_sampling_interval=cfg.get("stats_seconds", 15.0))
            self.writer = wandb.init(project="toys", name=self.run, config=cfg, mode="offline", settings=settings)
        elif self.kind == "csv":
            from lightning.fabric.loggers import CSVLogger

            self.writer = CSVLogger("logs", name=folder, flush_logs_every_n_steps=50)
        elif self.kind == "jsonl":
            Path("runs").mkdir(exist_ok=True)
            self.writer = Path(f"runs/{self.run}.jsonl").open("a", buffering=1, encoding="utf-8")

    def log(self, values: dict, step: int, *, force: bool = False) -> None:
        if step % self.every and not force:
            return
        if self.kind == "tensorboard":
            for key, value in values.items():
                self.writer.add_scalar(key, value, step)
        elif self.kind == "wandb":
            self.writer.log(values, step=step)
        elif self.kind == "csv":
            self.writer.log_metrics(values, step=step)
        elif self.kind == "jsonl":
            self.writer.write(json.dumps({"step": step, "time": time.time(), **values}) + "\n")
        else:
            shown = " | ".join(f"{key.removeprefix('train/').replace('/', '_')} {value:.4g}" for key, value in values.items())
            print(f"step {step:5d} | {shown}", flush=True)

    def histogram(self, key: str, values: torch.Tensor, step: int) -> None:
        if self.kind == "tensorboard":
            self.writer.add_histogram(key, values, step)
        elif self.kind == "wandb":
            self.writer.log({key: self.wandb.Histogram(values.detach().flatten().tolist())}, step=step)

    def epoch(self, number: int, text: str = "done") -> None:
        print(f"epoch {number} {text}", flush=True)

    def close(self, last_words: str = "Training finished.") -> None:
        if self.kind == "csv":
            self.writer.finalize("success")
        elif self.kind == "wandb":
            self.writer.finish()
        elif self.kind != "text":
            self.writer.close()
        print(last_words, flush=True)


_noted: dict = {}


def note(key: str, step: int) -> None:
    """Remember the first step at which something happened, where a file for such notes is set."""
    if key not in _noted and os.environ.get("NOTES"):
        _noted[key] = step
        Path(os.environ["NOTES"]).write_text(json.dumps(_noted), encoding="utf-8")
