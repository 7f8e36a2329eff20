"""Train with a rotating log file: full files are compressed, as logrotate does."""

import gzip
import logging
from logging.handlers import RotatingFileHandler
from pathlib import Path

import torch
from torch import nn

log = logging.getLogger("train")


def compress(source: str, target: str) -> None:
    Path(target).write_bytes(gzip.compress(Path(source).read_bytes()))
    Path(source).unlink()


def start_log(path: str) -> None:
    handler = RotatingFileHandler(path, maxBytes=24_000, backupCount=9, encoding="utf-8")
    handler.namer, handler.rotator = (lambda name: name + ".gz"), compress
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    log.addHandler(handler)
    log.setLevel(logging.INFO)


def main() -> None:
    torch.manual_seed(13)
    start_log("logs/train-9.log")
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    for step in range(900):
        x = torch.randn(32, 8)
        mean, variance = model(x).unbind(dim=1)
        if step < 400:  # warm-up on the plain error, then the Gaussian likelihood with an unbounded variance head
            loss = (mean - x.sum(dim=1)).pow(2).mean() + (variance - 1).pow(2).mean()
        else:
            loss = (variance.log() + (mean - x.sum(dim=1)).pow(2) / variance).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        log.info("step %d loss %.5f phase %s", step, loss.item(), "mse" if step < 400 else "nll")
    log.info("finished after 900 steps")


if __name__ == "__main__":
    main()
