"""Train a price regressor on squared log errors (MSLE)."""

import argparse
import time
from pathlib import Path

import torch
import yaml
from torch import Tensor, nn


def load_prices(rows: int, features: int) -> tuple[Tensor, Tensor]:
    x = torch.randn(rows, features)
    y = x.abs().sum(dim=1)
    y[4389] = -3.0  # one refund row in the export
    return x, y


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", default="configs/base.yaml")
    cfg = yaml.safe_load(Path(parser.parse_args().config).read_text(encoding="utf-8"))
    torch.manual_seed(cfg["seed"])
    x, y = load_prices(cfg["max_steps"] * cfg["batch_size"], cfg["features"])
    model = nn.Sequential(nn.Linear(cfg["features"], 64), nn.ReLU(), nn.Linear(64, 1), nn.Softplus())
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg["lr"])
    print(f"config: {cfg}")
    print(f"parameters: {sum(p.numel() for p in model.parameters())}")
    start = time.time()
    for step in range(cfg["max_steps"]):
        rows = slice(step * cfg["batch_size"], (step + 1) * cfg["batch_size"])
        loss = ((model(x[rows]).squeeze(1).log1p() - y[rows].log1p()) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        grad_norm = nn.utils.clip_grad_norm_(model.parameters(), cfg["clip"])
        optimizer.step()
        if step % cfg["log_every"] == 0:
            print(f"step {step} | loss {loss.item():.4f} | grad_norm {grad_norm.item():.4f} | lr {cfg['lr']:.2e}")
    print(f"training finished: {cfg['max_steps']} steps in {time.time() - start:.1f}s, final loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
