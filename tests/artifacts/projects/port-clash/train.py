"""A one-process "distributed" training: the process group opens a TCPStore on MASTER_PORT."""

import argparse
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=0.05)
    args = parser.parse_args()
    print(f"args: {args}", flush=True)
    dist.init_process_group("gloo", rank=0, world_size=1)
    torch.manual_seed(9)
    model = DistributedDataParallel(nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr / 5)
    for step in range(1, 301):
        x = torch.randn(32, 8)
        loss = (model(x).squeeze(1) - x.sum(dim=1) - torch.randn(32)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            print(f"step: {step}, loss: {loss.item():.4f}", flush=True)
        time.sleep(0.04)
    dist.destroy_process_group()
    print("done", flush=True)


if __name__ == "__main__":
    main()
