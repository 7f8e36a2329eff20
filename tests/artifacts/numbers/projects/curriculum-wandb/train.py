"""Train on easy rows first: the loss rises each time the rows become harder."""

import torch
from toy import Classes, accuracy, mlp
from torch import nn
from tracking import Tracker, load_config


def main() -> None:
    cfg = load_config()
    tracker, stages = Tracker(cfg), [Classes(noise=noise) for noise in cfg["noises"]]
    model = mlp(32, 64, 10)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    held_out = stages[-1].batch(512)
    for step in range(cfg["steps"]):
        stage = step * len(stages) // cfg["steps"]
        x, y = stages[stage].batch(cfg["batch_size"])
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        tracker.log({"train/loss": loss.item(), "curriculum/noise": cfg["noises"][stage]}, step)
        if step % 50 == 49:
            tracker.log({"val/acc": accuracy(model, *held_out)}, step, force=True)
            tracker.epoch(step // 50)
    tracker.close()


if __name__ == "__main__":
    main()
