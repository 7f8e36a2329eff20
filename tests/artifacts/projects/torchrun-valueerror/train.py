"""DDP training on two gloo ranks. The last shard of rank 1 is shorter than the others."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.elastic.multiprocessing.errors import record
from torch.nn.parallel import DistributedDataParallel

STEPS, BATCH = 80, 16


def load_batch(step: int, rank: int) -> torch.Tensor:
    size = BATCH if (rank, step) != (1, 30) else 0
    batch = torch.randn(size, 8)
    if not len(batch):
        raise ValueError(f"empty batch at step {step} on rank {rank}: shard has no rows left")
    return batch


@record
def main() -> None:
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(rank)
    print(f"rank {rank}/{dist.get_world_size()} local_rank {os.environ['LOCAL_RANK']} started", flush=True)
    model = DistributedDataParallel(nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(STEPS):
        batch = load_batch(step, rank)
        loss = (model(batch).squeeze(1) - batch.sum(dim=1)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 0:
            print(f"[rank {rank}] step {step} loss {loss.item():.4f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
