"""Train a deep classifier."""

import torch
from toy import Classes, mlp, norm_of
from torch import nn
from tracking import Tracker, load_config


def main() -> None:
    cfg = load_config()
    tracker, data = Tracker(cfg), Classes()
    model = mlp(*[32] * 21, 10, act=nn.Sigmoid)
    linears = [layer for layer in model if isinstance(layer, nn.Linear)]
    optimizer = torch.optim.SGD(model.parameters(), lr=cfg["lr"], momentum=0.9)
    for step in range(cfg["steps"]):
        x, y = data.batch(cfg["batch_size"])
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        norms = {f"grad_norm/layer{n:02d}": norm_of(linears[n].parameters()) for n in (0, 5, 10, 15, 20)}
        tracker.log({"train/loss": loss.item(), **norms}, step)
        if step % 100 == 0:
            for n in (0, 10, 20):
                tracker.histogram(f"weights/layer{n:02d}", linears[n].weight, step)
                tracker.histogram(f"gradients/layer{n:02d}", linears[n].weight.grad, step)
        if step % 100 == 99:
            tracker.epoch(step // 100)
    tracker.close()


if __name__ == "__main__":
    main()
