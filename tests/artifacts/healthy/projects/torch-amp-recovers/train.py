"""Half precision on CPU: the scale starts too high, a few steps are skipped, then training goes on."""

import os

import torch
from torch import nn


def main() -> None:
    torch.manual_seed(0)
    print(f"job {os.environ.get('SLURM_JOB_ID')} starting with amp=float16 on cpu", flush=True)
    model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 1))
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**24, growth_interval=150)
    data = torch.randn(64, 16)
    target = data.sum(1, keepdim=True)
    skipped = 0
    for step in range(240):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            out = model(data)
        loss = nn.functional.mse_loss(out.float(), target)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        old = scaler.get_scale()
        scaler.step(optimizer)
        scaler.update()
        if scaler.get_scale() < old:
            skipped += 1
            print(f"Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to {scaler.get_scale()}")
        if step < 12 or step % 10 == 0:
            print(f"step {step:4d} | loss {loss:.5f} | grad_norm {norm:.3f} | scale {old:.0f}", flush=True)
    print(f"finished 240 steps, {skipped} skipped because of inf/nan gradients")


if __name__ == "__main__":
    main()
