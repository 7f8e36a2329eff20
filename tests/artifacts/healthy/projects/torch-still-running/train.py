"""A long run with a progress bar that writes carriage returns; its log is copied while it goes on."""

import time

import torch
from torch import nn
from tqdm import tqdm


def main() -> None:
    torch.manual_seed(0)
    model = nn.Linear(20, 1)
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    for epoch in range(50):
        bar = tqdm(range(60), desc=f"epoch {epoch}", mininterval=0.05)
        for _ in bar:
            x = torch.randn(32, 20)
            loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            time.sleep(0.004)
            bar.set_postfix(loss=f"{loss.item():.3f}")
        print(f"epoch {epoch} mean loss {loss.item():.4f}", flush=True)
    print("done")


if __name__ == "__main__":
    main()
