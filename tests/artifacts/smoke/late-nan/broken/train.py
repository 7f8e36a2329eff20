"""Forecast how strongly a sensor fluctuates in the next window, as the logarithm of its variance."""

import argparse
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

PAST, FUTURE, STRIDE = 32, 16, 8  # rows
BATCH = 8


class Windows(Dataset):
    """A window of the past and the log variance of the window that follows, in the order of time."""

    def __init__(self, path: Path) -> None:
        rows = path.read_text(encoding="utf-8").split()[1:]
        self.signal = torch.tensor([float(row) for row in rows])

    def __len__(self) -> int:
        return (len(self.signal) - PAST - FUTURE) // STRIDE

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        now = index * STRIDE + PAST
        past, future = self.signal[now - PAST : now], self.signal[now : now + FUTURE]
        return past, torch.log(future.var())


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--resume", type=Path, help="continue from this checkpoint")
    return parser.parse_args()


def save(path: Path, step: int, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    torch.save({"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)


def resume(path: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> int:
    state = torch.load(path, weights_only=True)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    print(f"resumed from {path} at step {state['step']}")
    return state["step"]


def main() -> None:
    args = arguments()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    args.out.mkdir(parents=True, exist_ok=True)
    model = nn.Sequential(nn.Linear(PAST, 64), nn.ReLU(), nn.Linear(64, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    start = resume(args.resume, model, optimizer) if args.resume else 0
    best = float("inf")
    for step, (past, target) in enumerate(DataLoader(Windows(args.data), batch_size=BATCH), 1):
        if step <= start:
            continue
        if step > args.steps:
            break
        loss = nn.functional.mse_loss(model(past).squeeze(1), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step}/{args.steps} loss {loss.item():.4f} lr {args.lr:.1e}")
        if step % 50 == 0:
            save(args.out / "last.pt", step, model, optimizer)
            if loss.item() < best:
                best = loss.item()
                save(args.out / "best.pt", step, model, optimizer)
    print(f"Training finished after {args.steps} steps")


if __name__ == "__main__":
    main()
