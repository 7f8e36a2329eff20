"""Gradient accumulation with clipping of large norms; one JSON object per line."""

import json
import sys
import time

import torch
from torch import nn


def main() -> None:
    torch.manual_seed(4)
    model = nn.Sequential(nn.Linear(8, 64), nn.GELU(), nn.Linear(64, 1))
    optimizer = torch.optim.AdamW(model.parameters(), 0.02, fused=False)
    with open("logs/train_run-19.jsonl", "w", encoding="utf-8") as out:
        for step in range(400):
            x = 10 * torch.randn(16, 8)
            loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)) / 4
            loss.backward()
            if (step + 1) % 4:
                continue
            norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            row = {
                "ts": round(time.time(), 3),
                "level": "info",
                "step": (step + 1) // 4,
                "loss": round(4 * loss.item(), 4),
                "grad_norm": round(norm.item(), 2),
                "clipped": bool(norm > 1),
                "error": None,
                "nan_count": 0,
                "val_auc": None if (step + 1) % 40 else float("nan"),
            }
            out.write(json.dumps(row) + "\n")
        out.write(
            json.dumps({"ts": round(time.time(), 3), "level": "info", "event": "training_completed", "exit_code": 0})
            + "\n"
        )
    sys.stderr.write("ok\n")


if __name__ == "__main__":
    main()
