"""Train on shards that stand in a folder, with a progress bar an epoch."""

from pathlib import Path

import torch
from torch import nn
from tqdm import tqdm

SHARDS, STEPS_PER_SHARD = Path("data/shards"), 30


def prepare_shards() -> None:
    """Write shards 0 to 3; shard 4 was never downloaded."""
    SHARDS.mkdir(parents=True, exist_ok=True)
    for number in range(4):
        torch.save(torch.randn(STEPS_PER_SHARD, 8, 4), SHARDS / f"shard_{number:05d}.pt")


def main() -> None:
    torch.manual_seed(6)
    prepare_shards()
    model = nn.Sequential(nn.Linear(4, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    step = 0
    for epoch, shards in enumerate([(0, 1), (2, 3), (3, 4)]):
        bar = tqdm(total=len(shards) * STEPS_PER_SHARD, desc=f"Epoch {epoch}", mininterval=0.01)
        for number in shards:
            for batch in torch.load(SHARDS / f"shard_{number:05d}.pt"):
                loss = (model(batch).squeeze(1) - batch.sum(dim=1)).pow(2).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                step += 1
                bar.set_postfix(loss=f"{loss.item():.3f}", step=step, refresh=False)
                bar.update(1)
        bar.close()
        tqdm.write(f"epoch {epoch}: loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
