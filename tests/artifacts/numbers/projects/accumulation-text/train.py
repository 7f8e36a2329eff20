"""Train a classifier with gradient accumulation; every micro-step is a line, the learning rate moves every fourth."""

import math

import torch
from toy import Classes, mlp, norm_of
from torch import nn
from tracking import Tracker, load_config


def main() -> None:
    cfg = load_config()
    tracker, data, accumulate = Tracker(cfg), Classes(noise=2.0), cfg["accumulate"]
    model = mlp(32, 64, 10)
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg["lr"])
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda n: 0.05 + 0.95 * math.cos(math.pi / 2 * n * accumulate / cfg["steps"])
    )
    for step in range(cfg["steps"]):
        x, y = data.batch(cfg["batch_size"])
        loss = nn.functional.cross_entropy(model(x), y)
        (loss / accumulate).backward()
        values = {"train/loss": loss.item(), "train/grad_norm": norm_of(model.parameters())}
        tracker.log({**values, "train/lr": schedule.get_last_lr()[0]}, step)
        if step % accumulate == accumulate - 1:
            optimizer.step()
            optimizer.zero_grad()
            schedule.step()
    tracker.close()


if __name__ == "__main__":
    main()
