"""Train a classifier; the weights are drawn again for the seed of the run."""

import torch
from toy import Classes, accuracy, mlp, norm_of
from torch import nn
from tracking import Tracker, load_config


def main() -> None:
    cfg = load_config()
    tracker, data = Tracker(cfg), Classes()
    model = mlp(32, 64, 10)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    torch.manual_seed(cfg["seed"])
    model = mlp(32, 64, 10)
    held_out = data.batch(512)
    for step in range(cfg["steps"]):
        x, y = data.batch(cfg["batch_size"])
        loss = nn.functional.cross_entropy(model(x), y)
        model.zero_grad()
        loss.backward()
        optimizer.step()
        tracker.log({"train/loss": loss.item(), "train/grad_norm": norm_of(model.parameters())}, step)
        if step % 40 == 0:
            for name, parameter in model.named_parameters():
                if name.endswith("weight"):
                    tracker.histogram(f"weights/{name}", parameter, step)
            tracker.log({"val/acc": accuracy(model, *held_out)}, step, force=True)
            tracker.epoch(step // 40)
    tracker.close()


if __name__ == "__main__":
    main()
