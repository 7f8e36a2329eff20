"""Train a classifier on rows that are read one by one."""

import time

import torch
from toy import Classes, mlp
from torch import nn
from torch.utils.data import DataLoader, Dataset
from tracking import Tracker, load_config


class Rows(Dataset):
    def __init__(self, rows: int, seconds: float) -> None:
        self.x, self.y = Classes().batch(rows)
        self.seconds = seconds

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, index: int):
        time.sleep(self.seconds)  # what decoding takes
        return self.x[index], self.y[index]


def main() -> None:
    cfg = load_config()
    tracker = Tracker(cfg)
    rows = Rows(cfg["batch_size"] * cfg["steps"], cfg["decode_seconds"])
    loader = DataLoader(rows, cfg["batch_size"], num_workers=cfg["num_workers"])
    model = mlp(32, 512, 512, 10)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    ended = time.perf_counter()
    for step, (x, y) in enumerate(loader):
        data_time = time.perf_counter() - ended
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step_time = time.perf_counter() - ended
        ended = time.perf_counter()
        if cfg["report"] == "times":
            values = {"data_time": data_time, "step_time": step_time}
        elif cfg["report"] == "step":
            values = {"step_time": step_time}
        else:
            values = {"samples_per_second": len(y) / step_time}
        tracker.log({"train/loss": loss.item(), **values}, step)
        if step % 40 == 39:
            tracker.epoch(step // 40)
    tracker.close()


if __name__ == "__main__":
    main()
