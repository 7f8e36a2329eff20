"""Fit a sum with plain SGD."""

import math

import torch
from toy import mlp, norm_of
from torch import nn
from tracking import Tracker, load_config, note


def main() -> None:
    cfg = load_config()
    tracker = Tracker(cfg)
    model = mlp(16, 64, 1, act=nn.Identity)
    optimizer = torch.optim.SGD(model.parameters(), lr=cfg["lr"])
    for step in range(cfg["steps"]):
        x = torch.randn(cfg["batch_size"], 16)
        loss = (model(x).squeeze(1) - x.sum(dim=1)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        grad_norm = norm_of(model.parameters())
        optimizer.step()
        if not math.isfinite(loss.item()):
            note("onset", step)
        tracker.log({"train/loss": loss.item(), "train/grad_norm": grad_norm, "train/lr": cfg["lr"]}, step)
        if step % 50 == 49:
            tracker.epoch(step // 50)
    tracker.close()


if __name__ == "__main__":
    main()
