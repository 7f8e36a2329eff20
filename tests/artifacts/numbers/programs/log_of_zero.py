"""Regress log counts; shards are read in order."""

import torch
from toy import mlp, norm_of
from tracking import Tracker, load_config, note

EMPTY_RECORD = 600


def read_batch(step: int, size: int) -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.randn(size, 16)
    counts = torch.exp(x.mean(dim=1) + 3).round()
    if step == EMPTY_RECORD:
        counts[7] = 0
        note("onset", step)
    return x, counts


def main() -> None:
    cfg = load_config()
    tracker = Tracker(cfg)
    model = mlp(16, 32, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    for step in range(cfg["steps"]):
        x, counts = read_batch(step, cfg["batch_size"])
        loss = (model(x).squeeze(1) - counts.log()).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        grad_norm = norm_of(model.parameters())
        optimizer.step()
        tracker.log({"train/loss": loss.item(), "train/grad_norm": grad_norm}, step)
        if step % 100 == 99:
            tracker.epoch(step // 100)
    tracker.close()


if __name__ == "__main__":
    main()
