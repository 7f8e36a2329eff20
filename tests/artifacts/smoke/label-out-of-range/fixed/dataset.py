"""Digits as rows of 16 pixels and a label; the shards were exported by several annotators."""

from pathlib import Path

import torch
from torch.utils.data import ConcatDataset, Dataset, TensorDataset

PIXELS = 16


def read_shard(path: Path) -> TensorDataset:
    """One shard: a heading that starts with `#` and says from where labels count, then rows `p0,...,p15,label`."""
    heading, *lines = path.read_text(encoding="utf-8").splitlines()
    first_label = 1 if "labels=1..10" in heading else 0
    rows = torch.tensor([[float(cell) for cell in line.split(",")] for line in lines])
    return TensorDataset(rows[:, :PIXELS], rows[:, PIXELS].long() - first_label)


def digits(folder: Path) -> Dataset:
    """All shards in the order of their names."""
    return ConcatDataset([read_shard(path) for path in sorted(folder.glob("shard-*.csv"))])
