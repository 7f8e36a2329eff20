"""DDP training on two gloo ranks. Rank 1 is killed from outside the interpreter at step 25, as by the kernel."""

import logging
import os
import signal

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
KILL_RANK, KILL_STEP = 1, 25


def main() -> None:
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(rank)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for step in range(60):
        if (rank, step) == (KILL_RANK, KILL_STEP):
            os.kill(os.getpid(), signal.SIGKILL)
        batch = torch.randn(32, 8)
        loss = (model(batch).squeeze(1) - batch.sum(dim=1)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 0:
            logging.info("rank=%d step=%d loss=%.4f", rank, step, loss.item())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
