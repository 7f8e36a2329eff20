"""Fine-tuning from a checkpoint with another head: keys are missing and unexpected on purpose."""

import sys
from pathlib import Path

import torch
from loguru import logger
from torch import nn

logger.remove()
logger.add(sys.stderr, level="TRACE", colorize=True, backtrace=True, diagnose=True)


class Net(nn.Module):
    def __init__(self, head: str, classes: int) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.add_module(head, nn.Linear(32, classes))
        self.head = head

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return getattr(self, self.head)(self.body(x))


def main() -> None:
    torch.manual_seed(0)
    Path("weights").mkdir(exist_ok=True)
    torch.save(Net("fc", 1000).state_dict(), "weights/pretrained.pth")
    model = Net("classifier", 5)
    state = torch.load("weights/pretrained.pth", weights_only=True)
    result = model.load_state_dict(state, strict=False)
    logger.warning("Loaded weights/pretrained.pth with strict=False: {}", result)
    logger.warning("Missing keys are newly initialized: {}", result.missing_keys)
    logger.error("Unexpected keys are dropped: {}", result.unexpected_keys)
    try:
        Net("fc", 5).load_state_dict(state)
    except RuntimeError:
        logger.opt(exception=True).warning("strict loading is not possible, going on with the partly loaded model")
    optimizer = torch.optim.AdamW(model.parameters(), 3e-3)
    x = torch.randn(256, 12)
    y = (x[:, :5]).argmax(1)
    for epoch in range(1, 26):
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        accuracy = (model(x).argmax(1) == y).float().mean()
        logger.info("Epoch {}/25 - loss: {:.4f} - acc: {:.3f} - val_acc: n/a", epoch, loss.item(), accuracy.item())
    logger.success("Fine-tuning finished")


if __name__ == "__main__":
    main()
