"""Train a classifier on shards; the later ones stand on another mount."""

import time

import torch
from toy import Classes, mlp
from torch import nn
from tracking import Tracker, load_config, note


def read(data: Classes, size: int, shard: int, cfg: dict):
    time.sleep(cfg["far_seconds"] if shard >= cfg["first_far_shard"] else cfg["near_seconds"])
    return data.batch(size)


def main() -> None:
    cfg = load_config()
    tracker, data = Tracker(cfg), Classes()
    model = mlp(32, 64, 10)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    for step in range(cfg["steps"]):
        started, shard = time.perf_counter(), step // 20
        if shard == cfg["first_far_shard"]:
            note("onset", step)
        x, y = read(data, cfg["batch_size"], shard, cfg)
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        rate = len(y) / (time.perf_counter() - started)
        tracker.log({"train/loss": loss.item(), "samples_per_sec": rate}, step)
        if step % 50 == 49:
            tracker.epoch(step // 50)
    tracker.close()


if __name__ == "__main__":
    main()
