"""Two towers with a contrastive loss: it starts near ln(batch) and falls slowly, the views share little."""

import torch
from toy import mlp
from torch import nn
from tracking import Tracker, load_config


def main() -> None:
    cfg = load_config()
    tracker = Tracker(cfg)
    left, right = mlp(32, 64, 16), mlp(32, 64, 16)
    optimizer = torch.optim.Adam([*left.parameters(), *right.parameters()], lr=cfg["lr"])
    mix, other = torch.randn(2, 6, 32)
    size = cfg["batch_size"]
    for step in range(cfg["steps"]):
        shared = torch.randn(size, 6)
        a = nn.functional.normalize(left(shared @ mix + 4 * torch.randn(size, 32)), dim=1)
        b = nn.functional.normalize(right(shared @ other + 4 * torch.randn(size, 32)), dim=1)
        logits, target = a @ b.T / 0.2, torch.arange(size)
        loss = (nn.functional.cross_entropy(logits, target) + nn.functional.cross_entropy(logits.T, target)) / 2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        recall = (logits.argmax(dim=1) == target).float().mean().item()
        tracker.log({"train/contrastive_loss": loss.item(), "train/recall_at_1": recall}, step)
        if step % 100 == 99:
            tracker.epoch(step // 100)
    tracker.close()


if __name__ == "__main__":
    main()
