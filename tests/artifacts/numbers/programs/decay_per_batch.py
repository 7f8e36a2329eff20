"""Train a classifier for 12 epochs, lr times 0.9 after each."""

import torch
from toy import Classes, accuracy, mlp
from torch import nn
from tracking import Tracker, load_config, note


def main() -> None:
    cfg = load_config()
    tracker, data = Tracker(cfg), Classes(noise=2.5)
    model = mlp(32, 64, 10)
    optimizer = torch.optim.SGD(model.parameters(), lr=cfg["lr"], momentum=0.9)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.9)
    held_out = data.batch(512)
    step = 0
    for epoch in range(cfg["epochs"]):
        for _ in range(cfg["batches"]):
            x, y = data.batch(cfg["batch_size"])
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            lr = schedule.get_last_lr()[0]
            if lr < 0.01 * cfg["lr"]:
                note("onset", step)
            tracker.log({"train/loss": loss.item(), "train/lr": lr}, step)
            schedule.step()
            step += 1
        tracker.log({"val/acc": accuracy(model, *held_out)}, step - 1, force=True)
        tracker.epoch(epoch)
    tracker.close()


if __name__ == "__main__":
    main()
