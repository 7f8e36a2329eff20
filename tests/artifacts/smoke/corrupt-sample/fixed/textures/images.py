"""Texture images, one `.npy` of 16 x 16 x 3 bytes each; the name carries the class: `00017-stripes.npy`."""

import json
from pathlib import Path

import numpy as np
import torch
from torch.utils.data import Dataset

CLASSES = ("dots", "noise", "stripes")
COMPLETE = 128 + 16 * 16 * 3  # bytes of the header and of the pixels


class Textures(Dataset):
    def __init__(self, folder: Path) -> None:
        files = sorted(folder.glob("*.npy"))
        self.files = [path for path in files if path.stat().st_size == COMPLETE]
        print(json.dumps({"event": "images", "complete": len(self.files), "cut_short": len(files) - len(self.files)}))

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        path = self.files[index]
        image = torch.from_numpy(np.load(path)).permute(2, 0, 1).float() / 255
        return image, CLASSES.index(path.stem.partition("-")[2])
