"""Train, dump embeddings and save a checkpoint every 20 steps; go on from the newest readable checkpoint."""

import os
import time
from pathlib import Path

import torch
from torch import nn

CHECKPOINTS = Path("checkpoints")
STEPS, EVERY = 120, 20


def newest() -> Path | None:
    return max(CHECKPOINTS.glob("step_*.pt"), key=lambda p: int(p.stem.split("_")[1]), default=None)


def save(model: nn.Module, step: int) -> None:
    with open(CHECKPOINTS / f"embeddings_{step}.bin", "wb") as dump:
        dump.write(torch.randn(16, 512).numpy().tobytes())
    torch.save({"step": step, "model": model.state_dict()}, CHECKPOINTS / f"step_{step}.pt")


def main() -> None:
    torch.manual_seed(8)
    model = nn.Sequential(nn.Linear(32, 256), nn.ReLU(), nn.Linear(256, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    start, found = 0, newest()
    print(f"job {os.environ.get('SLURM_JOB_ID')} restart {os.environ.get('SLURM_RESTART_COUNT', 0)}", flush=True)
    if found:
        state = torch.load(found)
        model.load_state_dict(state["model"])
        start = state["step"]
        print(f"resumed from {found} at step {start}", flush=True)
    for step in range(start + 1, STEPS + 1):
        x = torch.randn(64, 32)
        loss = (model(x).squeeze(1) - x.sum(dim=1)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 0:
            print(f"{time.strftime('%H:%M:%S')} step {step}/{STEPS} loss {loss.item():.4f}", flush=True)
        if step % EVERY == 0:
            save(model, step)
            print(f"{time.strftime('%H:%M:%S')} checkpoint written at step {step}", flush=True)
    print("Training completed successfully.", flush=True)


if __name__ == "__main__":
    main()
