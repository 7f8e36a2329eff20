"""Some pictures of the data set are broken and are left out with a warning, as every large image set has them."""

from pathlib import Path

import numpy as np
import torch
from PIL import Image, UnidentifiedImageError
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Pictures(Dataset):
    def __init__(self, folder: Path) -> None:
        self.paths = sorted(folder.glob("*.png"))

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        path = self.paths[index]
        try:
            picture = np.asarray(Image.open(path), dtype=np.float32) / 255
        except (UnidentifiedImageError, OSError, SyntaxError) as error:
            print(f"WARNING: Ignoring corrupted image {path}: {type(error).__name__}: {error}", flush=True)
            return self[(index + 1) % len(self)]
        return torch.from_numpy(picture)[None], index % 2


def main() -> None:
    folder = Path("data/train")
    folder.mkdir(parents=True)
    random = np.random.default_rng(0)
    for number in range(120):
        pixels = random.integers(0, 120, (16, 16), dtype=np.uint8) + (number % 2) * 100
        path = folder / f"{number:04d}.png"
        Image.fromarray(pixels.astype(np.uint8)).save(path)
        if number % 29 == 5:
            path.write_bytes(path.read_bytes()[: 8 if number % 2 else 120])
    torch.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(256, 2))
    optimizer = torch.optim.SGD(model.parameters(), 0.05)
    for epoch in range(3):
        for step, (x, y) in enumerate(DataLoader(Pictures(folder), 12, num_workers=2)):
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(f"Epoch [{epoch + 1}/3], Step [{step + 1}/10], Loss: {loss.item():.4f}", flush=True)
    print("Finished Training")


if __name__ == "__main__":
    main()
