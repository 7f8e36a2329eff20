"""Train a classifier with warm-up and one milestone."""

import torch
from toy import Classes, mlp, norm_of
from torch import nn
from tracking import Tracker, load_config, note


def rate(step: int, cfg: dict) -> float:
    warm = cfg["lr"] * min(1.0, (step + 1) / cfg["warmup_steps"])
    return warm * cfg["gamma"] if step >= cfg["milestone"] else warm


def departure(losses: list[float]) -> int:
    """The last step before the loss stays above twice its minimum up to then."""
    lowest, last = float("inf"), 0
    for step, loss in enumerate(losses):
        if loss <= 2 * lowest:
            last = step
        lowest = min(lowest, loss)
    return last + 1


def main() -> None:
    cfg = load_config()
    tracker, data = Tracker(cfg), Classes(noise=1.0)
    model = mlp(32, 128, 128, 128, 128, 10)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.0)
    losses = []
    for step in range(cfg["steps"]):
        lr = optimizer.param_groups[0]["lr"] = rate(step, cfg)
        x, y = data.batch(cfg["batch_size"])
        loss = nn.functional.cross_entropy(model(x), y, label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        losses.append(loss.item())
        tracker.log({"train/loss": loss.item(), "train/grad_norm": norm_of(model.parameters()), "train/lr": lr}, step)
        optimizer.step()
        if step % 100 == 99:
            tracker.epoch(step // 100)
    note("onset", departure(losses))
    tracker.close()


if __name__ == "__main__":
    main()
