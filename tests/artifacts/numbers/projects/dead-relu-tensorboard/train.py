"""Train a classifier with ReLUs; biases start where the config says."""

import torch
from toy import Classes, norm_of
from torch import nn
from tracking import Tracker, load_config


def main() -> None:
    cfg = load_config()
    tracker, data = Tracker(cfg), Classes()
    first, second, head = nn.Linear(32, 64), nn.Linear(64, 64), nn.Linear(64, 10)
    for layer in (first, second):
        nn.init.constant_(layer.bias, cfg["bias"])
    parameters = [*first.parameters(), *second.parameters(), *head.parameters()]
    optimizer = torch.optim.SGD(parameters, lr=cfg["lr"])
    for step in range(cfg["steps"]):
        x, y = data.batch(cfg["batch_size"])
        hidden = torch.relu(second(torch.relu(first(x))))
        loss = nn.functional.cross_entropy(head(hidden), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        norms = {"grad_norm/body": norm_of([*first.parameters(), *second.parameters()])}
        tracker.log({"train/loss": loss.item(), **norms, "grad_norm/head": norm_of(head.parameters())}, step)
        if step % 80 == 0:
            tracker.histogram("activations/hidden", hidden, step)
            tracker.histogram("weights/first", first.weight, step)
            tracker.histogram("weights/second", second.weight, step)
            tracker.epoch(step // 80)
    tracker.close()


if __name__ == "__main__":
    main()
