"""Train an autoencoder and report the mean loss."""

import psutil
import torch
from toy import mlp, norm_of
from tracking import Tracker, load_config

MIB = 2**20


def main() -> None:
    cfg = load_config()
    tracker, process = Tracker(cfg), psutil.Process()
    model = mlp(256, 256, 256, 256)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    basis = torch.randn(16, 256)
    outputs = []
    for step in range(cfg["steps"]):
        x = torch.randn(cfg["batch_size"], 16) @ basis / 4
        output = model(x)
        loss = (output - x).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        outputs.append(((output - x).pow(2), loss))
        values = {"train/loss": loss.item(), "train/grad_norm": norm_of(model.parameters())}
        tracker.log({**values, "rss_mb": process.memory_info().rss / MIB}, step)
        if step % 100 == 99:
            tracker.epoch(step // 100)
    tracker.close(f"Training finished, mean loss {torch.stack([loss for _, loss in outputs]).mean():.4f}")


if __name__ == "__main__":
    main()
