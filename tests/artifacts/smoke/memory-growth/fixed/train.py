"""Denoise pulse waves; the best validation loss so far is reported beside the loss of the step."""

import argparse
import logging
import math
import os
from pathlib import Path

import torch
import yaml
from torch import nn
from torch.utils.data import DataLoader, IterableDataset

log = logging.getLogger("train")


class PulseWaves(IterableDataset):
    """Endless batches of noisy and clean waves of random frequency."""

    def __init__(self, batch_size: int, length: int) -> None:
        self.batch_size = batch_size
        self.time = torch.linspace(0, 2 * math.pi, length)

    def __iter__(self):
        while True:
            clean = torch.sin(self.time * (1 + 4 * torch.rand(self.batch_size, 1)))
            yield clean + 0.3 * torch.randn_like(clean), clean


def build_model(length: int, hidden: int) -> nn.Module:
    return nn.Sequential(nn.Linear(length, hidden), nn.LayerNorm(hidden), nn.ReLU(), nn.Linear(hidden, length))


def resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


@torch.no_grad()
def validate(model: nn.Module, noisy: torch.Tensor, clean: torch.Tensor) -> float:
    return nn.functional.mse_loss(model(noisy), clean).item()


def train(config: dict, loader: DataLoader, model: nn.Module, output: Path) -> None:
    optimizer = torch.optim.Adam(model.parameters(), lr=config["lr"])
    batches = iter(loader)
    held_out, val_losses = next(batches), []
    for step, (noisy, clean) in zip(range(1, config["steps"] + 1), batches):
        loss = nn.functional.mse_loss(model(noisy), clean)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        val_losses.append(validate(model, *held_out))
        if step % config["log_every"] == 0:
            best = min(val_losses)
            log.info(
                "step %d/%d loss %.4f best_val_loss %.4f rss_mb %.1f", step, config["steps"], loss, best, resident_mb()
            )
        if step % config["save_every"] == 0:
            torch.save({"step": step, "model": model.state_dict()}, output / "last.pt")
    log.info("Training finished")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    config = yaml.safe_load(args.config.read_text(encoding="utf-8"))
    torch.manual_seed(5)
    torch.set_num_threads(1)
    args.output.mkdir(parents=True, exist_ok=True)
    waves = PulseWaves(config["training"]["batch_size"], config["model"]["length"])
    loader = DataLoader(waves, batch_size=None)
    train(config["training"], loader, build_model(**config["model"]), args.output)


if __name__ == "__main__":
    main()
