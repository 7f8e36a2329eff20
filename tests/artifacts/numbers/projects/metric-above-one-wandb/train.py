"""Train a classifier; evaluation takes two noisy crops of each row."""

import torch
from toy import Classes, mlp
from torch import nn
from tracking import Tracker, load_config, note


def evaluate(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> float:
    correct = 0
    for _ in range(2):
        crop = x + 0.3 * torch.randn_like(x)
        correct += (model(crop).argmax(dim=1) == y).sum().item()
    return correct / len(y)


def main() -> None:
    cfg = load_config()
    tracker, data = Tracker(cfg), Classes(noise=2.0)
    model = mlp(32, 64, 10)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    held_out = data.batch(400)
    for step in range(1, cfg["steps"] + 1):
        x, y = data.batch(cfg["batch_size"])
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        tracker.log({"train/loss": loss.item()}, step)
        if step % 15 == 0:
            share = evaluate(model, *held_out)
            if share > 1:
                note("onset", step)
            tracker.log({"val/acc": share * cfg["scale"]}, step, force=True)
            tracker.epoch(step // 15)
    tracker.close()


if __name__ == "__main__":
    main()
