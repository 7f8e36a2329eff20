"""Train a classifier wrapped for data parallelism; goes on from checkpoint.pt where there is one."""

from pathlib import Path

import torch
from toy import Classes, mlp, norm_of
from torch import nn
from tracking import Tracker, load_config, note

CHECKPOINT = Path("checkpoint.pt")


def main() -> None:
    cfg = load_config()
    tracker, data = Tracker(cfg), Classes(noise=1.5)
    model = mlp(32, 64, 10)
    start = 0
    if CHECKPOINT.exists():
        state = torch.load(CHECKPOINT)
        model.load_state_dict(state["model"], strict=False)
        start = state["step"]
        print(f"=> loaded checkpoint '{CHECKPOINT}' (epoch {start // 60})")
        note("onset", start)
    wrapped = nn.DataParallel(model)
    optimizer = torch.optim.Adam(wrapped.parameters(), lr=cfg["lr"])
    for step in range(start, min(cfg["steps"], start + cfg["time_limit_steps"])):
        x, y = data.batch(cfg["batch_size"])
        loss = nn.functional.cross_entropy(wrapped(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        tracker.log({"train/loss": loss.item(), "train/grad_norm": norm_of(model.parameters())}, step)
        if step % 60 == 59:
            tracker.epoch(step // 60)
    torch.save({"model": wrapped.state_dict(), "step": step + 1}, CHECKPOINT)
    tracker.close("Training finished." if step + 1 == cfg["steps"] else f"saved checkpoint.pt at step {step + 1}")


if __name__ == "__main__":
    main()
