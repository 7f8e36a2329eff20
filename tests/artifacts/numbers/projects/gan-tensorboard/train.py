"""A generative adversarial net for points on a ring."""

import math

import torch
from toy import mlp
from torch import nn
from tracking import Tracker, load_config


def ring(size: int) -> torch.Tensor:
    angle = 2 * math.pi * torch.rand(size)
    return torch.stack([angle.cos(), angle.sin()], dim=1) + 0.05 * torch.randn(size, 2)


def main() -> None:
    cfg = load_config()
    tracker = Tracker(cfg)
    generator, critic = mlp(8, 64, 64, 2), mlp(2, 64, 64, 1, act=nn.LeakyReLU)
    for_g = torch.optim.Adam(generator.parameters(), lr=cfg["lr"], betas=(0.5, 0.999))
    for_d = torch.optim.Adam(critic.parameters(), lr=cfg["lr"], betas=(0.5, 0.999))
    loss, ones, zeros = nn.BCEWithLogitsLoss(), torch.ones(cfg["batch_size"], 1), torch.zeros(cfg["batch_size"], 1)
    for step in range(cfg["steps"]):
        fake = generator(torch.randn(cfg["batch_size"], 8))
        loss_d = loss(critic(ring(cfg["batch_size"])), ones) + loss(critic(fake.detach()), zeros)
        for_d.zero_grad()
        loss_d.backward()
        for_d.step()
        loss_g = loss(critic(fake), ones)
        for_g.zero_grad()
        loss_g.backward()
        for_g.step()
        tracker.log({"Loss/D": loss_d.item(), "Loss/G": loss_g.item()}, step)
        if step % 100 == 99:
            tracker.epoch(step // 100)
    tracker.close()


if __name__ == "__main__":
    main()
