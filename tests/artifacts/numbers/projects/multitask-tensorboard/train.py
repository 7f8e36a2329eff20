"""Classify and regress together; a weight of 0 switches the auxiliary loss off."""

import torch
from toy import Classes, mlp
from torch import nn
from tracking import Tracker, load_config


def main() -> None:
    cfg = load_config()
    tracker, data = Tracker(cfg), Classes(noise=2.0)
    body, classes, norm = mlp(32, 64, 64), nn.Linear(64, 10), nn.Linear(64, 1)
    parameters = [*body.parameters(), *classes.parameters(), *norm.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=cfg["lr"])
    for step in range(cfg["steps"]):
        x, y = data.batch(cfg["batch_size"])
        hidden = torch.relu(body(x))
        cls = nn.functional.cross_entropy(classes(hidden), y)
        reg = (norm(hidden).squeeze(1) - x.norm(dim=1) / 10).pow(2).mean()
        aux = cfg["aux_weight"] * hidden.pow(2).mean()
        loss = cls + reg + aux
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        values = {"loss": loss.item(), "cls_loss": cls.item(), "reg_loss": reg.item(), "aux_loss": aux.item()}
        tracker.log({f"train/{key}": value for key, value in values.items()}, step)
        if step % 50 == 49:
            tracker.epoch(step // 50)
    tracker.close()


if __name__ == "__main__":
    main()
