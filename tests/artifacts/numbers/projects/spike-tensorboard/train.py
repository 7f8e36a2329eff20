"""Train a classifier; one batch with broken scaling makes the loss jump, and it comes back."""

import torch
from toy import Classes, mlp, norm_of
from torch import nn
from tracking import Tracker, load_config


def main() -> None:
    cfg = load_config()
    tracker, data = Tracker(cfg), Classes(noise=1.5)
    model = mlp(32, 64, 10)
    optimizer = torch.optim.SGD(model.parameters(), lr=cfg["lr"], momentum=0.9)
    for step in range(cfg["steps"]):
        x, y = data.batch(cfg["batch_size"])
        if step == cfg["loud_batch"]:
            x = 12 * torch.randn_like(x)
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        grad_norm = norm_of(model.parameters())
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        tracker.log({"train/loss": loss.item(), "train/grad_norm": grad_norm}, step)
        if step % 50 == 49:
            tracker.epoch(step // 50)
    tracker.close()


if __name__ == "__main__":
    main()
