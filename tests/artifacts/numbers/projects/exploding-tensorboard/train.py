"""Teach a recurrent net the sign of its first input; the sequences get longer as training goes on."""

import torch
from toy import norm_of
from torch import nn
from tracking import Tracker, load_config


class Recurrent(nn.Module):
    def __init__(self, width: int, gain: float) -> None:
        super().__init__()
        self.inner = nn.Parameter(gain * torch.randn(width, width) / width**0.5)
        self.start, self.out = nn.Linear(1, width), nn.Linear(width, 1)

    def forward(self, x: torch.Tensor, length: int) -> torch.Tensor:
        state = self.start(x)
        for _ in range(length):
            state = torch.tanh(state @ self.inner)
        return self.out(state).squeeze(1)


def main() -> None:
    cfg = load_config()
    tracker = Tracker(cfg)
    model = Recurrent(64, cfg["gain"])
    optimizer = torch.optim.SGD(model.parameters(), lr=cfg["lr"])
    for step in range(cfg["steps"]):
        length = 5 + cfg["longest"] * step // cfg["steps"]
        x = torch.randn(cfg["batch_size"], 1)
        loss = (model(x, length) - x.sign().squeeze(1)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        grad_norm = norm_of(model.parameters())
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        tracker.log({"train/loss": loss.item(), "train/grad_norm": grad_norm, "length": length}, step)
        if step % 50 == 49:
            tracker.epoch(step // 50)
    tracker.close()


if __name__ == "__main__":
    main()
