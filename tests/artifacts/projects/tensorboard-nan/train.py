"""Train with a far too high learning rate; the curves go to TensorBoard only."""

import torch
from torch import nn
from torch.utils.tensorboard import SummaryWriter


def main() -> None:
    torch.manual_seed(12)
    writer = SummaryWriter("runs/exp-8")
    model = nn.Sequential(nn.Linear(8, 32), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    writer.add_text("config", "lr=0.5 batch_size=64 optimizer=sgd")
    for step in range(150):
        x = torch.randn(64, 8)
        loss = (model(x).squeeze(1) - x.sum(dim=1)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        norm = torch.stack([p.grad.norm() for p in model.parameters()]).norm()
        optimizer.step()
        writer.add_scalar("train/loss", loss.item(), step)
        writer.add_scalar("train/grad_norm", norm.item(), step)
        writer.add_scalar("train/lr", 0.5, step)
        if step % 50 == 0:
            print(f"step {step} done")
    writer.close()
    print("finished training, see runs/exp-8")


if __name__ == "__main__":
    main()
