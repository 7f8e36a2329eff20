"""Learn distances; steps whose gradient is not finite are left out."""

import math

import torch
from toy import mlp, norm_of
from tracking import Tracker, load_config, note

DUPLICATES_FROM = 90


def main() -> None:
    cfg = load_config()
    tracker = Tracker(cfg)
    model = mlp(8, 32, 8)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    for step in range(cfg["steps"]):
        left, right = torch.randn(2, cfg["batch_size"], 8)
        if step >= DUPLICATES_FROM:
            right[0] = left[0]
            note("onset", step)
        distance = (model(left) - model(right)).pow(2).sum(dim=1).sqrt()
        loss = (distance - (left - right).norm(dim=1)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        grad_norm = norm_of(model.parameters())
        if math.isfinite(grad_norm):
            optimizer.step()
        tracker.log({"train/loss": loss.item(), "train/grad_norm": grad_norm}, step)
        if step % 40 == 39:
            tracker.epoch(step // 40)
    tracker.close()


if __name__ == "__main__":
    main()
