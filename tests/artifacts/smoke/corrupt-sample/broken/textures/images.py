"""Texture images, one `.npy` of 16 x 16 x 3 bytes each; the name carries the class: `00017-stripes.npy`."""

from pathlib import Path

import numpy as np
import torch
from torch.utils.data import Dataset

CLASSES = ("dots", "noise", "stripes")


class Textures(Dataset):
    def __init__(self, folder: Path) -> None:
        self.files = sorted(folder.glob("*.npy"))

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        path = self.files[index]
        image = torch.from_numpy(np.load(path)).permute(2, 0, 1).float() / 255
        return image, CLASSES.index(path.stem.partition("-")[2])
