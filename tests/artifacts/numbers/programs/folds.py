"""Five folds, each with a new model: the loss starts five times."""

import torch
from toy import Classes, accuracy, mlp
from torch import nn
from tracking import Tracker, load_config


def main() -> None:
    cfg = load_config()
    x, y = Classes(noise=1.5).batch(1000)
    trackers = []
    for fold, held_out in enumerate(torch.arange(1000).split(200)):
        tracker = Tracker(cfg, part=f"fold{fold}")
        trackers.append(tracker)
        rest = torch.cat([torch.arange(0, held_out[0]), torch.arange(held_out[-1] + 1, 1000)])
        model = mlp(32, 64, 10)
        optimizer = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
        print(f"fold {fold + 1}/5")
        for step in range(cfg["steps"]):
            part = rest[torch.randint(len(rest), (cfg["batch_size"],))]
            loss = nn.functional.cross_entropy(model(x[part]), y[part])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            tracker.log({"train/loss": loss.item()}, step)
        tracker.log({"val/acc": accuracy(model, x[held_out], y[held_out])}, cfg["steps"], force=True)
    trackers[-1].close()


if __name__ == "__main__":
    main()
