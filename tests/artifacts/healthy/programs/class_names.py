"""A classifier whose classes have alarming names; a table of them is printed after each epoch."""

import logging
from pathlib import Path

import torch
import yaml
from torch import nn
from torch.utils.data import DataLoader, Dataset

log = logging.getLogger("classify")


class Signals(Dataset):
    def __init__(self, classes: list[str], rows: int) -> None:
        self.classes, self.rows = classes, rows
        self.centres = torch.randn(len(classes), 16)

    def __len__(self) -> int:
        return self.rows

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        label = index % (len(self.classes) - 1)  # the last class has no samples
        return self.centres[label] + 0.8 * torch.randn(16), label


def main() -> None:
    cfg = yaml.safe_load(Path("configs/oom_pa.yaml").read_text(encoding="utf-8"))
    logging.basicConfig(level=cfg["logging"]["level"], format="%(levelname)s:%(name)s:%(message)s")
    log.info("config:\n%s", yaml.safe_dump(cfg, sort_keys=False))
    torch.manual_seed(cfg["seed"])
    data = Signals(cfg["classes"], 640)
    log.info("found classes %s", {name: i for i, name in enumerate(data.classes)})
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, len(data.classes)))
    optimizer = torch.optim.Adam(model.parameters(), 3e-3)
    for epoch in range(cfg["epochs"]):
        hits, counts = torch.zeros(len(data.classes)), torch.zeros(len(data.classes))
        for x, y in DataLoader(data, 64, shuffle=True, num_workers=2):
            out = model(x)
            loss = nn.functional.cross_entropy(out, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            for label, hit in zip(y.tolist(), (out.argmax(1) == y).tolist(), strict=True):
                hits[label] += hit
                counts[label] += 1
        log.info("epoch %d loss %.4f", epoch, loss)
        print(f"{'class':<24}{'n':>6}{'acc':>9}")
        for name, hit, count in zip(data.classes, hits, counts, strict=True):
            print(f"{name:<24}{int(count):>6}{(hit / count).item():>9.3f}", flush=True)
    log.info(
        "mean accuracy %s, without absent classes %.3f", (hits / counts).mean().item(), (hits.sum() / counts.sum())
    )
    log.info("evaluation finished")


if __name__ == "__main__":
    main()
