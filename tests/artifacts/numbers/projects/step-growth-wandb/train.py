"""Train a classifier and report the mean loss of all samples so far."""

import time

import torch
from toy import Classes, mlp
from torch import nn
from tracking import Tracker, load_config


def main() -> None:
    cfg = load_config()
    tracker, data = Tracker(cfg), Classes()
    model = mlp(32, 64, 10)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    history: list[float] = []
    for step in range(cfg["steps"]):
        started = time.perf_counter()
        x, y = data.batch(cfg["batch_size"])
        losses = nn.functional.cross_entropy(model(x), y, reduction="none")
        optimizer.zero_grad()
        losses.mean().backward()
        optimizer.step()
        history.extend(losses.tolist())
        mean = torch.tensor(history).mean().item()
        tracker.log(
            {"train/loss": losses.mean().item(), "train/mean_loss": mean, "step_time": time.perf_counter() - started}, step
        )
        if step % 50 == 49:
            tracker.epoch(step // 50)
    tracker.close()


if __name__ == "__main__":
    main()
