"""Regress a scaled target: the loss starts at 1e-3 and ends near 1e-7."""

import torch
from toy import mlp, norm_of
from tracking import Tracker, load_config


def main() -> None:
    cfg = load_config()
    tracker = Tracker(cfg)
    model = mlp(16, 64, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    for step in range(cfg["steps"]):
        x = torch.randn(cfg["batch_size"], 16)
        loss = (0.02 * model(x).squeeze(1) - 0.01 * x.mean(dim=1)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        tracker.log({"train/loss": loss.item(), "train/grad_norm": norm_of(model.parameters())}, step)
        if step % 100 == 99:
            tracker.epoch(step // 100)
    tracker.close()


if __name__ == "__main__":
    main()
