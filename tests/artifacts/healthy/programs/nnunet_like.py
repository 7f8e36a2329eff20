"""Segmentation with a negative Dice loss; one class is absent from every case, so its Dice is nan."""

import time
import warnings

import numpy as np
import torch
from torch import nn


def say(*parts: object) -> None:
    print(f"{time.strftime('%Y-%m-%d %H:%M:%S')}.{int(time.time() * 1e6) % 1000000:06d}:", *parts, flush=True)


def dice(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    probabilities = logits.softmax(1)
    onehot = nn.functional.one_hot(target, 4).permute(0, 3, 1, 2).float()
    inter = (probabilities * onehot).sum((0, 2, 3))
    return (2 * inter + 1e-5) / (probabilities.sum((0, 2, 3)) + onehot.sum((0, 2, 3)) + 1e-5)


def batch() -> tuple[torch.Tensor, torch.Tensor]:
    target = torch.zeros(4, 24, 24, dtype=torch.long)
    target[:, 4:12, 4:12], target[:, 14:20, 6:18] = 1, 2
    return target[:, None].float() + 0.3 * torch.randn(4, 1, 24, 24), target


def main() -> None:
    torch.manual_seed(12)
    print(
        "\n#######################################################################\n"
        "Please cite the following paper when using this trainer:\nA. Author et al. A segmentation baseline.\n"
        "#######################################################################\n"
    )
    net = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.LeakyReLU(), nn.Conv2d(16, 4, 3, padding=1))
    optimizer = torch.optim.SGD(net.parameters(), 0.1, momentum=0.99, nesterov=True)
    schedule = torch.optim.lr_scheduler.PolynomialLR(optimizer, 40, 0.9)
    say("unpacking dataset...")
    say("unpacking done...")
    say("Unable to plot network architecture: nnUNet_compile is enabled!")
    best = None
    for epoch in range(12):
        say("")
        say(f"Epoch {epoch}")
        say(f"Current learning rate: {np.round(optimizer.param_groups[0]['lr'], 5)}")
        losses, start = [], time.time()
        for _ in range(15):
            x, y = batch()
            out = net(x)
            loss = nn.functional.cross_entropy(out, y) - dice(out, y)[1:3].mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 12)
            optimizer.step()
            losses.append(loss.item())
        schedule.step()
        tp, fp, fn = np.zeros(3), np.zeros(3), np.zeros(3)
        with torch.no_grad():
            x, y = batch()
            out = net(x)
            val = nn.functional.cross_entropy(out, y) - dice(out, y)[1:3].mean()
            hard = out.argmax(1)
        for index in range(3):
            mask, truth = hard == index + 1, y == index + 1
            tp[index], fp[index], fn[index] = (
                (mask & truth).sum(),
                (mask & ~truth & (index < 2)).sum(),
                (~mask & truth).sum(),
            )
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            scores = 2 * tp / (2 * tp + fp + fn)
        say("train_loss", np.round(np.mean(losses), 4))
        say("val_loss", np.round(val.item(), 4))
        say("Pseudo dice", [np.round(score, 4) for score in scores])
        say(f"Epoch time: {time.time() - start:.2f} s")
        ema = np.nanmean(scores) if best is None else 0.9 * best + 0.1 * np.nanmean(scores)
        if best is None or ema > best:
            best = ema
            say(f"Yayy! New best EMA pseudo Dice: {np.round(best, 4)}")
    say("Training done.")
    say("predicting case_0001\npredicting case_0002")
    say("Validation complete")
    say("Mean Validation Dice: ", float(np.nanmean(scores)))


if __name__ == "__main__":
    main()
