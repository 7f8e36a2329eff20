"""Train with a checkpoint every 50 steps; --resume goes on from one."""

import argparse
from pathlib import Path

import torch
from torch import nn


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--resume", type=Path)
    args = parser.parse_args()
    torch.manual_seed(7)
    model = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    start = 0
    if args.resume:
        print(f"resuming from {args.resume} ({args.resume.stat().st_size} bytes)", flush=True)
        state = torch.load(args.resume, map_location="cpu", weights_only=True)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        start = state["step"]
    for step in range(start + 1, start + args.steps + 1):
        x = torch.randn(32, 8)
        loss = (model(x).squeeze(1) - x.sum(dim=1)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"[step {step:6d}] loss: {loss.item():.5f}", flush=True)
        if step % 50 == 0:
            state = {"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict()}
            torch.save(state, f"checkpoints/step_{step}.pt")
            print(f"saved checkpoints/step_{step}.pt", flush=True)


if __name__ == "__main__":
    main()
