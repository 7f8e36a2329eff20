"""Train a small classifier with linear warm-up and cosine decay."""

import math

import torch
from toy import Classes, accuracy, mlp, norm_of
from torch import nn
from tracking import Tracker, load_config


def main() -> None:
    cfg = load_config()
    tracker, data = Tracker(cfg), Classes(noise=2.0)
    model = mlp(32, 64, 10)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    warm, steps = cfg["warmup_steps"], cfg["steps"]
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda n: n / warm if n < warm else 0.5 * (1 + math.cos(math.pi * (n - warm) / max(1, steps - warm)))
    )
    held_out = data.batch(512)
    for step in range(steps):
        x, y = data.batch(cfg["batch_size"])
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        values = {"train/loss": loss.item(), "train/grad_norm": norm_of(model.parameters())}
        tracker.log({**values, "train/lr": schedule.get_last_lr()[0]}, step)
        optimizer.step()
        schedule.step()
        if step % 50 == 49:
            tracker.log({"val/acc": accuracy(model, *held_out)}, step, force=True)
            tracker.epoch(step // 50)
    tracker.close()


if __name__ == "__main__":
    main()
