"""Train an MLP image classifier."""

import argparse
import logging
from pathlib import Path

import torch
import yaml
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
log = logging.getLogger("train")


class Classifier(nn.Module):
    def __init__(self, in_features: int, hidden: int, classes: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(in_features, hidden), nn.ReLU(), nn.Linear(hidden, classes))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.layers(images.flatten(1))


def make_loader(cfg: dict) -> DataLoader:
    images = torch.rand(cfg["samples"], *cfg["image_shape"])
    labels = torch.randint(0, cfg["classes"], (cfg["samples"],))
    return DataLoader(TensorDataset(images, labels), batch_size=cfg["batch_size"], shuffle=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", required=True)
    cfg = yaml.safe_load(Path(parser.parse_args().config).read_text(encoding="utf-8"))
    torch.manual_seed(cfg["seed"])
    model = Classifier(cfg["in_features"], cfg["hidden"], cfg["classes"])
    optimizer = torch.optim.SGD(model.parameters(), lr=cfg["lr"], momentum=0.9)
    log.info("model: %d parameters", sum(p.numel() for p in model.parameters()))
    loader = make_loader(cfg)
    log.info("data: %d batches per epoch", len(loader))
    for epoch in range(cfg["epochs"]):
        for step, (images, labels) in enumerate(loader):
            loss = nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            log.info("epoch %d step %d loss %.4f", epoch, step, loss.item())


if __name__ == "__main__":
    main()
