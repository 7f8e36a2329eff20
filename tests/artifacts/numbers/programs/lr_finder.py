"""Learning-rate range test: the rate grows from 1e-5 to 3 on purpose until the loss has left its minimum."""

import torch
from toy import Classes, mlp
from torch import nn
from tracking import Tracker, load_config


def main() -> None:
    cfg = load_config()
    tracker, data = Tracker(cfg), Classes(noise=1.5)
    model = mlp(32, 64, 10)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-5, momentum=0.9)
    print("LR finder: range test from 1e-5 to 3")
    best, lr, losses = (float("inf"), 1e-5), 1e-5, 0.0
    for step in range(cfg["steps"]):
        lr = 1e-5 * (3 / 1e-5) ** (step / cfg["steps"])
        optimizer.param_groups[0]["lr"] = lr
        x, y = data.batch(cfg["batch_size"])
        loss = nn.functional.cross_entropy(model(x), y)
        losses = loss.item() if step == 0 else 0.9 * losses + 0.1 * loss.item()
        best = min(best, (losses, lr))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        tracker.log({"lr_finder/loss": loss.item(), "lr_finder/lr": lr}, step)
        if losses > 4 * best[0]:
            break
    tracker.close(f"LR finder finished: suggested lr {best[1] / 10:.2e}")


if __name__ == "__main__":
    main()
