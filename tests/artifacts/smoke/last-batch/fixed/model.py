"""A small convolutional classifier of sequences."""

import torch
from torch import nn

CHANNELS, LENGTH, CLASSES = 4, 32, 3


class Classifier(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv1d(CHANNELS, 16, 5, stride=2), nn.ReLU(), nn.Conv1d(16, 16, 5), nn.ReLU())
        self.head = nn.Linear(16 * 10, CLASSES)

    def forward(self, sequences: torch.Tensor) -> torch.Tensor:
        hidden = self.encoder(sequences)
        return self.head(hidden.flatten(start_dim=1))
