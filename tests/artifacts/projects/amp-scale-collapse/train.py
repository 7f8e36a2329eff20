"""Mixed-precision training in float16; the second shard was never normalised."""

import torch
from torch import nn

STEPS, SECOND_SHARD = 240, 40


def load_batch(step: int) -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.randn(32, 16)
    y = x.sum(dim=1, keepdim=True)
    return (x if step < SECOND_SHARD else x * 60_000), y


def main() -> None:
    torch.manual_seed(10)
    model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu")
    for step in range(STEPS):
        x, y = load_batch(step)
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            loss = nn.functional.mse_loss(model(x), y)
        scaler.scale(loss).backward()
        before = scaler.get_scale()
        scaler.step(optimizer)
        scaler.update()
        skipped = " (step skipped)" if scaler.get_scale() < before else ""
        print(f"step {step:4d} loss {loss.item():.5g} loss_scale {scaler.get_scale():g}{skipped}")


if __name__ == "__main__":
    main()
