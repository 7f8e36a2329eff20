"""Train with strong label smoothing: the loss cannot fall below 1.2."""

import torch
from toy import Classes, accuracy, mlp
from torch import nn
from tracking import Tracker, load_config


def main() -> None:
    cfg = load_config()
    tracker, data = Tracker(cfg), Classes(noise=1.0)
    model = mlp(32, 64, 10)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    held_out = data.batch(512)
    for step in range(cfg["steps"]):
        x, y = data.batch(cfg["batch_size"])
        loss = nn.functional.cross_entropy(model(x), y, label_smoothing=cfg["smoothing"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        tracker.log({"train/loss": loss.item()}, step)
        if step % 100 == 99:
            tracker.log({"val/acc": accuracy(model, *held_out)}, step, force=True)
    tracker.close()


if __name__ == "__main__":
    main()
