"""Train with warm-up and cosine decay; goes on from checkpoint.pt where there is one."""

import math
from pathlib import Path

import torch
from toy import Classes, mlp
from torch import nn
from tracking import Tracker, load_config, note

CHECKPOINT = Path("checkpoint.pt")


def main() -> None:
    cfg = load_config()
    tracker, data = Tracker(cfg), Classes(noise=2.5)
    model = mlp(32, 64, 10)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    warm, steps = cfg["warmup_steps"], cfg["steps"]
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda n: n / warm if n < warm else 0.5 * (1 + math.cos(math.pi * (n - warm) / (steps - warm)))
    )
    start = 0
    if CHECKPOINT.exists():
        state = torch.load(CHECKPOINT)
        model.load_state_dict(state["model"])
        start = state["step"]
        note("onset", start)
        print(f"=> loaded checkpoint '{CHECKPOINT}' (epoch {start // 60})")
    for step in range(start, min(steps, start + cfg["time_limit_steps"])):
        x, y = data.batch(cfg["batch_size"])
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        tracker.log({"train/loss": loss.item(), "train/lr": schedule.get_last_lr()[0]}, step)
        schedule.step()
        if step % 100 == 99:
            tracker.epoch(step // 100)
    torch.save({"model": model.state_dict(), "step": step + 1}, CHECKPOINT)
    tracker.close("Training finished." if step + 1 == steps else f"saved checkpoint.pt at step {step + 1}")


if __name__ == "__main__":
    main()
