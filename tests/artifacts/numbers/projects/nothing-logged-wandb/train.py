"""Train a classifier on one or several ranks; one of them keeps the records."""

import os

import torch
from toy import Classes, mlp
from torch import nn
from tracking import Tracker, load_config

RANK = int(os.environ.get("RANK", "0"))


def main() -> None:
    cfg = load_config()
    tracker, data = Tracker(cfg), Classes()
    model = mlp(32, 64, 10)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    for step in range(1, cfg["steps"] + 1):
        x, y = data.batch(cfg["batch_size"])
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if RANK == cfg["logging_rank"]:
            tracker.log({"train/loss": loss.item()}, step)
        if step % 100 == 0:
            tracker.epoch(step // 100)
    tracker.close()


if __name__ == "__main__":
    main()
