"""A small net on random labels: training loss falls, validation loss rises, accuracy starts at 0."""

import argparse
import logging
import sys

import torch
from torch import nn

logging.basicConfig(level=logging.DEBUG, stream=sys.stdout, format="%(asctime)s %(levelname)-8s %(name)s: %(message)s")
log = logging.getLogger("train")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--classes", type=int, default=200)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--nan-policy", default="raise", choices=["raise", "skip"])
    parser.add_argument("--oom-retry", action="store_true")
    parser.add_argument("--nccl-timeout", type=int, default=1800)
    parser.add_argument("--on-error", default="abort")
    parser.add_argument("--kill-stale-workers", action="store_true")
    args = parser.parse_args()
    log.info("args: %s", args)
    torch.manual_seed(3)
    x, y = torch.randn(400, 32), torch.randint(0, args.classes, (400,))
    xv, yv = torch.randn(200, 32), torch.randint(0, args.classes, (200,))
    model = nn.Sequential(nn.Linear(32, 128), nn.ReLU(), nn.Linear(128, args.classes))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    log.debug("model: %s", model)
    for epoch in range(args.epochs):
        for start in range(0, 400, 50):
            loss = nn.functional.cross_entropy(model(x[start : start + 50]), y[start : start + 50])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            out = model(xv)
            val = nn.functional.cross_entropy(out, yv).item()
            acc = (out.argmax(1) == yv).float().mean().item()
        log.info("epoch %02d train_loss=%.4f val_loss=%.4f val_acc=%.4f lr=%.1e", epoch, loss, val, acc, args.lr)
    log.info("done: failures=0 errors=0 nan_batches=0")


if __name__ == "__main__":
    main()
