"""Train a digit classifier; the label file counts from 1."""

import torch
from torch import nn

CLASSES = 10


def load_digits(rows: int) -> tuple[torch.Tensor, torch.Tensor]:
    labels = torch.arange(rows) * 7 % CLASSES + 1
    return torch.randn(rows, 64) + labels[:, None], labels


def main() -> None:
    torch.manual_seed(3)
    images, labels = load_digits(512)
    model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, CLASSES))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    criterion = nn.CrossEntropyLoss()
    print(f"Loaded {len(images)} images, labels {labels.min().item()}..{labels.max().item()}")
    print(model)
    for step in range(100):
        batch = slice(step * 4 % 512, step * 4 % 512 + 4)
        loss = criterion(model(images[batch]), labels[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"Step [{step}/100], Loss: {loss.item():.4f}")


if __name__ == "__main__":
    main()
