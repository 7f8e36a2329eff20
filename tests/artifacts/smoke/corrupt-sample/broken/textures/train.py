"""Train a texture classifier; every report is one JSON object a line."""

import argparse
import json
import time
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader

from textures.images import CLASSES, Textures

LOG_EVERY = 5


def report(**values: object) -> None:
    print(json.dumps({"time": round(time.time(), 2), **values}), flush=True)


def build_model() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(128, len(CLASSES))
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(1)
    args.out.mkdir(parents=True, exist_ok=True)
    loader = DataLoader(Textures(args.data), batch_size=args.batch_size, num_workers=args.workers)
    model = build_model()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    report(event="start", images=len(loader.dataset), total_steps=args.epochs * len(loader))
    step = 0
    for epoch in range(args.epochs):
        for images, labels in loader:
            loss = nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % LOG_EVERY == 0:
                report(step=step, epoch=epoch, loss=round(loss.item(), 4), lr=3e-3)
            if step % 20 == 0:
                torch.save({"step": step, "model": model.state_dict()}, args.out / "last.pt")
    report(event="end", step=step, message="Training finished")


if __name__ == "__main__":
    main()
