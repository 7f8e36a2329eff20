"""Train with cosine decay; goes on from checkpoint.pt with everything restored."""

from pathlib import Path

import torch
from toy import Classes, mlp
from torch import nn
from tracking import Tracker, load_config

CHECKPOINT = Path("checkpoint.pt")


def main() -> None:
    cfg = load_config()
    tracker, data = Tracker(cfg), Classes(noise=2.0)
    model = mlp(32, 64, 10)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=cfg["steps"])
    parts = {"model": model, "optimizer": optimizer, "schedule": schedule}
    start = 0
    if CHECKPOINT.exists():
        state = torch.load(CHECKPOINT)
        for name, part in parts.items():
            part.load_state_dict(state[name])
        torch.set_rng_state(state["rng"])
        start = state["step"]
        print(f"=> loaded checkpoint '{CHECKPOINT}' (epoch {start // 60})")
    for step in range(start, min(cfg["steps"], start + cfg["time_limit_steps"])):
        x, y = data.batch(cfg["batch_size"])
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        tracker.log({"train/loss": loss.item(), "train/lr": schedule.get_last_lr()[0]}, step)
        schedule.step()
        if step % 100 == 99:
            tracker.epoch(step // 100)
    saved = {name: part.state_dict() for name, part in parts.items()}
    torch.save({**saved, "rng": torch.get_rng_state(), "step": step + 1}, CHECKPOINT)
    tracker.close("Training finished." if step + 1 == cfg["steps"] else f"saved checkpoint.pt at step {step + 1}")


if __name__ == "__main__":
    main()
