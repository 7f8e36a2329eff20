"""Mixed precision in float16; the second shard was never normalised."""

import torch
from toy import mlp, norm_of
from torch import nn
from tracking import Tracker, load_config, note

SECOND_SHARD = 80


def main() -> None:
    cfg = load_config()
    tracker = Tracker(cfg)
    model = mlp(16, 64, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=cfg["lr"])
    scaler = torch.amp.GradScaler("cpu")
    for step in range(cfg["steps"]):
        x = torch.randn(cfg["batch_size"], 16)
        y = x.sum(dim=1, keepdim=True)
        if step >= SECOND_SHARD:
            note("onset", step)
            x = x * 60_000
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            loss = nn.functional.mse_loss(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        grad_norm = norm_of(model.parameters())
        scaler.step(optimizer)
        scaler.update()
        values = {"train/loss": loss.item(), "train/grad_norm": grad_norm} if cfg["report_loss"] else {}
        tracker.log({**values, "amp/loss_scale": scaler.get_scale()}, step)
        if step % 40 == 39:
            tracker.epoch(step // 40)
    tracker.close()


if __name__ == "__main__":
    main()
