"""Shared memory that is never unlinked: the resource tracker complains at shutdown."""

import multiprocessing as mp
import os
from multiprocessing import resource_tracker, shared_memory

import torch
from torch import nn


def fill(name: str, queue: "mp.Queue[int]") -> None:
    block = shared_memory.SharedMemory(name=name)
    block.buf[0] = 7
    block.close()
    queue.put(os.getpid() and 7)


def main() -> None:
    torch.manual_seed(0)
    context = mp.get_context("spawn")
    block = shared_memory.SharedMemory(create=True, size=4096)
    queue = context.Queue()
    worker = context.Process(target=fill, args=(block.name, queue))
    worker.start()
    print("prefetch worker says", queue.get(), flush=True)
    worker.join()
    resource_tracker.register(block._name, "shared_memory")
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for step in range(50):
        x = torch.randn(8, 3)
        loss = nn.functional.l1_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 0:
            print(f"step={step} l1={loss.item():.4f}", flush=True)
    print("all steps done, cleaning up", flush=True)


if __name__ == "__main__":
    main()
