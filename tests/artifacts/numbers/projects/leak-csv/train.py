"""Predict who returns from a noisy table; the last column counts later orders."""

import torch
from toy import mlp
from torch import nn
from tracking import Tracker, load_config, note

WEIGHTS = torch.randn(20, generator=torch.Generator().manual_seed(5))


def rows(size: int) -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.randn(size, 20)
    y = (x @ WEIGHTS + 4 * torch.randn(size) > 0).long()
    orders = y * torch.randint(3, 8, (size,))
    return torch.cat([x, orders[:, None]], dim=1), y


def main() -> None:
    cfg = load_config()
    tracker = Tracker(cfg)
    train, val = rows(4096), rows(1000)
    model = mlp(21, 64, 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    step = 0
    for epoch in range(cfg["epochs"]):
        for part in torch.randperm(4096).split(cfg["batch_size"]):
            loss = nn.functional.cross_entropy(model(train[0][part]), train[1][part])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            tracker.log({"train/loss": loss.item()}, step)
            step += 1
        with torch.no_grad():
            acc = (model(val[0]).argmax(dim=1) == val[1]).float().mean().item()
        if acc == 1.0:
            note("onset", step - 1)
        tracker.log({"val/acc": acc}, step - 1, force=True)
        tracker.epoch(epoch)
    tracker.close()


if __name__ == "__main__":
    main()
