"""Train a classifier under the learning-rate schedule that the config names."""

import torch
from toy import Classes, accuracy, mlp
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR, CosineAnnealingWarmRestarts, OneCycleLR, ReduceLROnPlateau
from torch.optim.swa_utils import SWALR, AveragedModel
from tracking import Tracker, load_config


def make(name: str, optimizer: torch.optim.Optimizer, cfg: dict):
    if name == "restarts":
        return CosineAnnealingWarmRestarts(optimizer, T_0=cfg["steps"] // 4)
    if name == "onecycle":
        return OneCycleLR(optimizer, max_lr=cfg["lr"], total_steps=cfg["steps"])
    if name == "plateau":
        return ReduceLROnPlateau(optimizer, factor=0.3, patience=1, threshold=0.01)
    return CosineAnnealingLR(optimizer, T_max=cfg["steps"])


def main() -> None:
    cfg = load_config()
    tracker, data = Tracker(cfg), Classes(noise=2.5)
    model = mlp(32, 64, 10)
    optimizer = torch.optim.SGD(model.parameters(), lr=cfg["lr"], momentum=0.9)
    name = cfg["schedule"]
    schedule, averaged, average_from = make(name, optimizer, cfg), None, 3 * cfg["steps"] // 4
    held_out = data.batch(512)
    for step in range(cfg["steps"]):
        if name == "swa" and step == average_from:
            averaged, schedule = AveragedModel(model), SWALR(optimizer, swa_lr=cfg["lr"] / 2, anneal_epochs=20)
        x, y = data.batch(cfg["batch_size"])
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        tracker.log({"train/loss": loss.item(), "lr": optimizer.param_groups[0]["lr"]}, step)
        if averaged is not None:
            averaged.update_parameters(model)
        if name != "plateau":
            schedule.step()
        if step % 50 == 49:
            with torch.no_grad():
                val = nn.functional.cross_entropy((averaged or model)(held_out[0]), held_out[1]).item()
            tracker.log({"val/loss": val, "val/acc": accuracy(averaged or model, *held_out)}, step, force=True)
            if name == "plateau":
                schedule.step(val)
            tracker.epoch(step // 50)
    tracker.close()


if __name__ == "__main__":
    main()
