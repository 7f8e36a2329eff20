"""Mixed precision in float16: the scaler tries a larger scale now and then, and takes it back after one inf."""

import torch
from toy import mlp, norm_of
from torch import nn
from tracking import Tracker, load_config


def main() -> None:
    cfg = load_config()
    tracker = Tracker(cfg)
    model = mlp(16, 64, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=cfg["lr"])
    scaler = torch.amp.GradScaler("cpu", growth_interval=30)
    for step in range(cfg["steps"]):
        x = torch.randn(cfg["batch_size"], 16)
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            loss = nn.functional.mse_loss(model(x), x.sum(dim=1, keepdim=True))
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        grad_norm = norm_of(model.parameters())
        scaler.step(optimizer)
        scaler.update()
        values = {"train/loss": loss.item(), "train/grad_norm": grad_norm, "amp/loss_scale": scaler.get_scale()}
        tracker.log(values, step)
        if step % 100 == 99:
            tracker.epoch(step // 100)
    tracker.close()


if __name__ == "__main__":
    main()
