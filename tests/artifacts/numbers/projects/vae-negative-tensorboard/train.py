"""A variational autoencoder with a learned variance: the likelihood of a density may exceed 1, so the loss is negative."""

import torch
from toy import mlp, norm_of
from torch import nn
from tracking import Tracker, load_config


def main() -> None:
    cfg = load_config()
    tracker = Tracker(cfg)
    encoder, decoder, log_var = mlp(16, 32, 8), mlp(4, 32, 16), nn.Parameter(torch.zeros(16))
    parameters = [*encoder.parameters(), *decoder.parameters(), log_var]
    optimizer = torch.optim.Adam(parameters, lr=cfg["lr"])
    basis = torch.randn(4, 16) / 2
    for step in range(cfg["steps"]):
        x = torch.randn(cfg["batch_size"], 4) @ basis + 0.02 * torch.randn(cfg["batch_size"], 16)
        mean, spread = encoder(x).chunk(2, dim=1)
        kl = 0.5 * (mean.pow(2) + spread.exp() - spread - 1).sum(dim=1).mean()
        output = decoder(mean + (spread / 2).exp() * torch.randn_like(mean))
        nll = nn.functional.gaussian_nll_loss(output, x, log_var.exp().expand_as(x), eps=1e-4) * 16
        loss = nll + cfg["beta"] * kl
        optimizer.zero_grad()
        loss.backward()
        values = {"train/loss": loss.item(), "train/nll": nll.item(), "train/kl": kl.item()}
        tracker.log({**values, "train/grad_norm": norm_of(parameters)}, step)
        optimizer.step()
        if step % 100 == 99:
            tracker.epoch(step // 100)
    tracker.close()


if __name__ == "__main__":
    main()
