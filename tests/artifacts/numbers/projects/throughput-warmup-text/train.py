"""Train a classifier and record how long steps take, with the pauses that the config asks for."""

import random
import time

import torch
from toy import Classes, accuracy, mlp
from torch import nn
from tracking import Tracker, load_config


def pause(step: int, cfg: dict) -> None:
    """What a first step (compilation), a checkpoint, a larger model or a busy node cost."""
    if step == 0:
        time.sleep(cfg.get("first_seconds", 0.0))
    if cfg.get("checkpoint_every") and step % cfg["checkpoint_every"] == cfg["checkpoint_every"] - 1:
        time.sleep(cfg["checkpoint_seconds"])
    time.sleep(cfg.get("step_seconds", 0.0))
    time.sleep(cfg.get("warm_seconds", 0.0) * max(0.0, 1 - step / 20))
    if cfg.get("busy"):
        time.sleep(random.expovariate(1 / cfg["busy"]))


def main() -> None:
    cfg = load_config()
    random.seed(cfg["seed"])
    tracker, data = Tracker(cfg), Classes()
    model = mlp(32, 64, 10)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    held_out = data.batch(512)
    for step in range(cfg["steps"]):
        started = time.perf_counter()
        x, y = data.batch(cfg["batch_size"])
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        pause(step, cfg)
        if cfg.get("eval_every") and step % cfg["eval_every"] == cfg["eval_every"] - 1:
            time.sleep(cfg["eval_seconds"])
            tracker.log({"val/acc": accuracy(model, *held_out)}, step, force=True)
        seconds = time.perf_counter() - started
        speed = {"samples_per_sec": len(y) / seconds} if cfg["report"] == "rate" else {"step_time": seconds}
        tracker.log({"train/loss": loss.item(), **speed}, step)
        if step % 50 == 49:
            tracker.epoch(step // 50)
    tracker.close()


if __name__ == "__main__":
    main()
