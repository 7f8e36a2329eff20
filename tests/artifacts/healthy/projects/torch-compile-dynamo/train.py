"""torch.compile with changing shapes and a graph break, so that dynamo has much to say."""

import argparse
import time

import torch
import torch._dynamo
from torch import nn


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(8, 16), nn.Linear(16, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.a(x).relu()
        if h.sum().item() > 1e9:
            print("error: activations exploded")
        return self.b(h)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--backend", default="eager")
    args = parser.parse_args()
    torch.manual_seed(0)
    mfu = -1.0  # as in nanoGPT before it is known
    net = Net()
    compiled = torch.compile(net, backend=args.backend)
    optimizer = torch.optim.Adam(net.parameters(), 0.01)
    sizes = (16, 16, 24, 7) if args.backend == "eager" else (16, 24)
    for step in range(40):
        start = time.perf_counter()
        x = torch.randn(sizes[step % len(sizes)], 8)
        loss = nn.functional.mse_loss(compiled(x), x.mean(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"iter {step}: loss {loss.item():.4f}, time {(time.perf_counter() - start) * 1000:.2f}ms, mfu {mfu * 100:.2f}%", flush=True)
    print(torch._dynamo.utils.compile_times(repr="str"))
    print("training finished")


if __name__ == "__main__":
    main()
