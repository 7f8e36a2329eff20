"""Data parallel training over gloo; `--unused` leaves a branch out, so DDP warns about unused parameters."""

import argparse
import logging
import os
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--unused", action="store_true")
    parser.add_argument("--env", action="store_true")
    parser.add_argument("--steps", type=int, default=60)
    args = parser.parse_args()
    rank = int(os.environ["RANK"])
    logging.basicConfig(level=logging.INFO, format=f"[rank{rank}] %(asctime)s %(levelname)s %(message)s")
    if args.env and rank == 0:
        for key in sorted(k for k in os.environ if k.startswith(("TORCH", "NCCL", "GLOO", "OMP", "MASTER"))):
            logging.info("env %s=%s", key, os.environ[key])
    dist.init_process_group("gloo", timeout=timedelta(seconds=120))
    torch.manual_seed(0)
    model = nn.ModuleDict({"body": nn.Linear(8, 8), "spare": nn.Linear(8, 8), "head": nn.Linear(8, 1)})
    used = [model["body"], model["head"]] if args.unused else [model["body"], model["spare"], model["head"]]

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.parts = model

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for part in used:
                x = part(x)
            return x

    net = DistributedDataParallel(Net(), find_unused_parameters=True)
    optimizer = torch.optim.SGD(net.parameters(), 0.02)
    torch.manual_seed(rank)
    for step in range(args.steps):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(net(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 0:
            logging.info("step=%d loss=%.5f peers_lost=0 timeouts=0", step, loss)
    total = loss.detach().clone()
    dist.all_reduce(total)
    if rank == 0:
        logging.info("final mean loss %.5f, destroying process group", total / dist.get_world_size())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
