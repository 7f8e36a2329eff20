"""A long, uneventful training that ends only when somebody ends it."""

import logging
import time

import torch
from torch import nn

logging.basicConfig(level=logging.INFO, format="%(asctime)s - %(name)s - %(levelname)s - %(message)s")
log = logging.getLogger("trainer")


def main() -> None:
    torch.manual_seed(4)
    model = nn.Linear(16, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    log.info("starting training for 100000 steps")
    for step in range(100_000):
        x = torch.randn(64, 16)
        loss = (model(x).squeeze(1) - x.sum(dim=1) - torch.randn(64)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            log.info("step=%d loss=%.4f lr=2.0e-02", step, loss.item())
        time.sleep(0.01)
    log.info("training done")


if __name__ == "__main__":
    main()
