"""Train on decoded clips. One clip "needs too much host memory": its worker is killed as the kernel would kill it."""

import os
import signal

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

HUGE_CLIP = 700


class Clips(Dataset):
    def __len__(self) -> int:
        return 1600

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        if index == HUGE_CLIP:
            os.kill(os.getpid(), signal.SIGKILL)
        clip = torch.randn(3, 4, 8, 8)
        return clip, clip.mean()


def main() -> None:
    torch.manual_seed(1)
    loader = DataLoader(Clips(), batch_size=8, num_workers=2, persistent_workers=True)
    model = nn.Sequential(nn.Flatten(), nn.Linear(3 * 4 * 8 * 8, 16), nn.GELU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(3):
        for step, (clips, targets) in enumerate(loader):
            loss = nn.functional.mse_loss(model(clips).squeeze(1), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 10 == 0:
                print(f"epoch={epoch} iter={step}/{len(loader)} train_loss={loss.item():.5f}", flush=True)


if __name__ == "__main__":
    main()
