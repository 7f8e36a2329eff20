"""Train a small classifier."""

import torch
from toy import Classes, accuracy, mlp, norm_of
from torch import nn
from tracking import Tracker, load_config


def main() -> None:
    cfg = load_config()
    tracker, data = Tracker(cfg), Classes()
    model = mlp(32, 64, 10)
    optimizer = torch.optim.SGD(model.parameters(), lr=cfg["lr"], momentum=0.9)
    held_out = data.batch(512)
    for step in range(cfg["steps"]):
        x, y = data.batch(cfg["batch_size"])
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.zero_grad(set_to_none=False)
        optimizer.step()
        tracker.log({"train/loss": loss.item(), "train/grad_norm": norm_of(model.parameters())}, step)
        if step % 100 == 99:
            tracker.log({"val/acc": accuracy(model, *held_out)}, step, force=True)
            tracker.epoch(step // 100)
    tracker.close()


if __name__ == "__main__":
    main()
