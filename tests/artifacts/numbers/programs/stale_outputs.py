"""Train a classifier; the outputs for the validation rows are cached."""

from functools import cache

import torch
from toy import Classes, mlp
from torch import nn
from tracking import Tracker, load_config

data = Classes()
model = mlp(32, 64, 10)
x_val, y_val = data.batch(512)


@cache
def val_outputs() -> torch.Tensor:
    with torch.no_grad():
        return model(x_val)


def main() -> None:
    cfg = load_config()
    tracker = Tracker(cfg)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    for step in range(cfg["steps"]):
        if step % 40 == 0:
            acc = (val_outputs().argmax(dim=1) == y_val).float().mean().item()
            tracker.log({"val/acc": acc}, step, force=True)
            tracker.epoch(step // 40)
        x, y = data.batch(cfg["batch_size"])
        logits = model(x)
        loss = nn.functional.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        train_acc = (logits.argmax(dim=1) == y).float().mean().item()
        tracker.log({"train/loss": loss.item(), "train/acc": train_acc}, step)
    tracker.close()


if __name__ == "__main__":
    main()
