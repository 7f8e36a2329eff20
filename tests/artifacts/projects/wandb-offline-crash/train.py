"""Train a scorer and record it with Weights & Biases (offline)."""

import torch
import wandb
from torch import nn


def evaluate(model: nn.Module) -> float:
    scores = model(torch.randn(64, 8)).squeeze(1)
    labels = torch.zeros(64, dtype=torch.long)  # the dev split holds one class only
    if labels.unique().numel() < 2:
        raise ValueError("Only one class present in y_true. ROC AUC score is not defined in that case.")
    return scores.mean().item()


def main() -> None:
    torch.manual_seed(11)
    config = {"lr": 0.02, "batch_size": 32, "steps": 200, "eval_every": 60}
    run = wandb.init(project="scorer", name="exp-21", config=config, mode="offline")
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=config["lr"])
    for step in range(1, config["steps"] + 1):
        x = torch.randn(config["batch_size"], 8)
        loss = (model(x).squeeze(1) - x.sum(dim=1)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        grad_norm = nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        optimizer.step()
        run.log({"train/loss": loss.item(), "train/grad_norm": grad_norm.item()}, step=step)
        if step % 20 == 0:
            print(f"step {step} train/loss {loss.item():.4f}")
        if step % config["eval_every"] == 0:
            run.log({"eval/auc": evaluate(model)}, step=step)


if __name__ == "__main__":
    main()
