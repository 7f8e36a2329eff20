"""Digits as rows of 16 pixels and a label; the shards were exported by several annotators."""

from pathlib import Path

import torch
from torch.utils.data import ConcatDataset, Dataset, TensorDataset

PIXELS = 16


def read_shard(path: Path) -> TensorDataset:
    """One shard: a heading that starts with `#`, then rows `p0,...,p15,label`."""
    lines = path.read_text(encoding="utf-8").splitlines()
    rows = torch.tensor([[float(cell) for cell in line.split(",")] for line in lines if not line.startswith("#")])
    return TensorDataset(rows[:, :PIXELS], rows[:, PIXELS].long())


def digits(folder: Path) -> Dataset:
    """All shards in the order of their names."""
    return ConcatDataset([read_shard(path) for path in sorted(folder.glob("shard-*.csv"))])
