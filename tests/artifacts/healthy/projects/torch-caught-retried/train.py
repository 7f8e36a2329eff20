"""Batches that raise are logged with the whole traceback and tried again or left out."""

import json
import logging

import torch
from torch import nn

logging.basicConfig(level=logging.INFO, filename="logs/run-64.log", format="%(asctime)s [%(levelname)s] %(message)s")
log = logging.getLogger(__name__)
ATTEMPTS: dict[int, int] = {}


def fetch(step: int) -> torch.Tensor:
    """The 7th, 30th and 55th shard cannot be read at once."""
    ATTEMPTS[step] = ATTEMPTS.get(step, 0) + 1
    if step in (7, 30) and ATTEMPTS[step] < 3:
        raise ConnectionResetError(104, "Connection reset by peer")
    if step == 55:
        try:
            json.loads('{"shard": 55, "rows": [1, 2')
        except json.JSONDecodeError as error:
            raise ValueError(f"shard {step} is not readable") from error
    return torch.randn(32, 6)


def main() -> None:
    torch.manual_seed(0)
    model = nn.Linear(6, 1)
    optimizer = torch.optim.Adam(model.parameters(), 0.02)
    for step in range(120):
        for attempt in (1, 2, 3):
            try:
                x = fetch(step)
                break
            except OSError:
                log.exception("fetch of shard %d failed (attempt %d of 3), retrying", step, attempt)
            except ValueError:
                log.exception("shard %d is skipped", step)
                x = None
                break
        if x is None:
            continue
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 4 == 0:
            log.info("step %d loss %.6f", step, loss)
    log.info("run completed, 1 shard skipped, 4 retries")


if __name__ == "__main__":
    main()
