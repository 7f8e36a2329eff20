"""Every warning torch has for a small run: scheduler order, too many workers, deprecated calls, faulthandler on."""

import faulthandler
import warnings

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from tqdm import tqdm

faulthandler.enable()


def main() -> None:
    torch.manual_seed(5)
    data = TensorDataset(torch.randn(256, 8), torch.randn(256, 1))
    loader = DataLoader(data, 32, shuffle=True, num_workers=16, pin_memory=True)
    layer = nn.TransformerEncoderLayer(8, 3 - 1, 16, batch_first=False)
    model = nn.Sequential(nn.TransformerEncoder(layer, 2), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.9)
    scaler = torch.cuda.amp.GradScaler()
    for epoch in range(4):
        schedule.step()
        bar = tqdm(loader, desc=f"Epoch {epoch}", ncols=90)
        for x, y in bar:
            with torch.cuda.amp.autocast():
                loss = nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            bar.set_postfix(loss=f"{loss.item():.4f}", nan=0)
        warnings.warn(f"learning rate {schedule.get_last_lr()[0]:.2e} is below the recommended minimum", stacklevel=2)
        schedule.step(epoch)
    torch.save(model.state_dict(), "model.pt")
    torch.utils.checkpoint.checkpoint(nn.Linear(8, 8), torch.randn(2, 8))
    print("Training complete. Best loss is the last.")


if __name__ == "__main__":
    main()
