"""Train a classifier on two files: features and labels."""

import torch
from toy import Classes, accuracy, mlp, norm_of
from torch import nn
from tracking import Tracker, load_config


def read(data: Classes, rows: int) -> tuple[torch.Tensor, torch.Tensor]:
    x, y = data.batch(rows)
    return x[torch.randperm(rows)], y[torch.randperm(rows)]  # shuffled once on disk


def main() -> None:
    cfg = load_config()
    tracker, data = Tracker(cfg), Classes()
    x, y = read(data, 20_000)
    held_out = read(data, 1000)
    model = mlp(32, 64, 10)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    for step in range(cfg["steps"]):
        rows = torch.randint(len(x), (cfg["batch_size"],))
        loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        tracker.log({"train/loss": loss.item(), "train/grad_norm": norm_of(model.parameters())}, step)
        if step % 60 == 59:
            tracker.log({"val/acc": accuracy(model, *held_out)}, step, force=True)
            tracker.epoch(step // 60)
    tracker.close()


if __name__ == "__main__":
    main()
