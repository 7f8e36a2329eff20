"""Train on two ranks over gloo; each rank records the time of its own forward and backward pass."""

import time

import torch
import torch.distributed as dist
from toy import Classes, mlp
from torch import nn
from tracking import Tracker, load_config

SLOW_NODE_RANK = 1


def main() -> None:
    cfg = load_config()
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    tracker, data = Tracker(cfg, part=f"rank{rank}"), Classes()
    model = mlp(32, 64, 10)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    for step in range(cfg["steps"]):
        started = time.perf_counter()
        x, y = data.batch(cfg["batch_size"])
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        time.sleep(0.04 if rank == SLOW_NODE_RANK else 0.01)  # stands for a larger model
        compute = time.perf_counter() - started
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
        optimizer.step()
        tracker.log({"train/loss": loss.item(), "step_time": compute}, step)
    dist.destroy_process_group()
    tracker.close()


if __name__ == "__main__":
    main()
