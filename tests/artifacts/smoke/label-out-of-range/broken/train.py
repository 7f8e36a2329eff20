"""Train a digit classifier as a YAML config says."""

import argparse
from pathlib import Path

import torch
import yaml
from dataset import PIXELS, digits
from torch import nn
from torch.utils.data import DataLoader


def build_model(classes: int) -> nn.Module:
    return nn.Sequential(nn.Linear(PIXELS, 64), nn.ReLU(), nn.Linear(64, classes))


def train_epoch(epoch: int, loader: DataLoader, model: nn.Module, optimizer: torch.optim.Optimizer, log_every: int):
    criterion = nn.CrossEntropyLoss()
    for index, (pixels, labels) in enumerate(loader, 1):
        logits = model(pixels)
        loss = criterion(logits, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if index % log_every == 0:
            accuracy = (logits.argmax(dim=1) == labels).float().mean()
            print(f"Epoch [{epoch}][{index}/{len(loader)}] loss: {loss:.4f} acc: {accuracy:.3f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--run", required=True, help="name of the output folder")
    args = parser.parse_args()
    config = yaml.safe_load(args.config.read_text(encoding="utf-8"))
    print(f"config: {config}")
    torch.manual_seed(config["seed"])
    torch.set_num_threads(1)
    out = Path(config["output_dir"]) / args.run
    out.mkdir(parents=True, exist_ok=True)
    loader = DataLoader(digits(Path(config["data"])), batch_size=config["batch_size"])
    model = build_model(config["classes"])
    optimizer = torch.optim.SGD(model.parameters(), lr=config["lr"], momentum=0.9)
    torch.save({"epoch": 0, "model": model.state_dict()}, out / "last.pt")
    for epoch in range(1, config["epochs"] + 1):
        train_epoch(epoch, loader, model, optimizer, config["log_every"])
        torch.save({"epoch": epoch, "model": model.state_dict()}, out / "last.pt")
    print("Training complete")


if __name__ == "__main__":
    main()
