"""Train a classifier; validation is recorded by epoch, training by step."""

import torch
from toy import Classes, accuracy, mlp
from torch import nn
from tracking import Tracker, load_config, note


def main() -> None:
    cfg = load_config()
    tracker, data = Tracker(cfg), Classes(noise=2.0)
    model = mlp(32, 64, 10)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    held_out = data.batch(512)
    step = 0
    for epoch in range(cfg["epochs"]):
        for batch in range(cfg["batches"]):
            x, y = data.batch(cfg["batch_size"])
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if cfg["tracker"] == "wandb":
                tracker.log({"train/loss": loss.item()}, step)
            else:
                tracker.log({"train/loss": loss.item()}, batch)
            step += 1
        if epoch == 1 or cfg["tracker"] == "wandb":
            note("onset", epoch if cfg["tracker"] == "wandb" else 0)
        tracker.log({"val/acc": accuracy(model, *held_out)}, epoch)
        tracker.epoch(epoch)
    tracker.close()


if __name__ == "__main__":
    main()
