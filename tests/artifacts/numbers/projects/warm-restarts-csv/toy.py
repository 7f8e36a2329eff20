"""Small data sets and models."""

import torch
from torch import Tensor, nn


class Classes:
    """Gaussian blobs: ten classes in 32 dimensions, the same in every run."""

    def __init__(self, classes: int = 10, dim: int = 32, noise: float = 1.5) -> None:
        self.centres = torch.randn(classes, dim, generator=torch.Generator().manual_seed(1234))
        self.noise = noise

    def batch(self, size: int) -> tuple[Tensor, Tensor]:
        y = torch.randint(len(self.centres), (size,))
        return self.centres[y] + self.noise * torch.randn(size, self.centres.shape[1]), y


def mlp(*widths: int, act: type[nn.Module] = nn.ReLU) -> nn.Sequential:
    layers: list[nn.Module] = []
    for before, after in zip(widths, widths[1:]):
        layers += [nn.Linear(before, after), act()]
    return nn.Sequential(*layers[:-1])


def norm_of(parameters) -> float:
    grads = [p.grad.norm() for p in parameters if p.grad is not None]
    return torch.stack(grads).norm().item() if grads else 0.0


@torch.no_grad()
def accuracy(model: nn.Module, x: Tensor, y: Tensor) -> float:
    return (model(x).argmax(dim=1) == y).float().mean().item()
