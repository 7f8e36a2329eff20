"""Train a sentiment scorer; a broken record is reported and left out."""

import json
import logging
import random

import torch
from torch import nn

logging.basicConfig(level=logging.INFO, format="%(asctime)s | %(levelname)-8s | %(message)s")
log = logging.getLogger(__name__)


def make_records(count: int) -> list[str]:
    values = torch.randn(count, 6)
    records = [json.dumps({"x": row.tolist(), "y": row.sum().item() + random.gauss(0, 0.3)}) for row in values]
    records[333] = records[333][:40]
    return records


def parse(records: list[str]) -> list[dict]:
    parsed = []
    for number, record in enumerate(records):
        try:
            parsed.append(json.loads(record))
        except json.JSONDecodeError:
            log.warning("skipping broken record %d", number, exc_info=True)
    return parsed


def main() -> None:
    torch.manual_seed(5)
    random.seed(5)
    records = make_records(1024)
    model = nn.Linear(6, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    epochs, batch, step = 2, 16, 0
    for epoch in range(1, epochs + 1):
        for start in range(0, len(records), batch):
            rows = parse(records[start : start + batch])
            x, y = torch.tensor([r["x"] for r in rows]), torch.tensor([r["y"] for r in rows])
            loss = nn.functional.mse_loss(model(x).squeeze(1), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % 8 == 0:
                log.info("epoch %d step %d loss %.4f", epoch, step, loss.item())
        log.info("epoch %d finished", epoch)
    log.info("training complete: %d steps, final loss %.4f", step, loss.item())


if __name__ == "__main__":
    main()
