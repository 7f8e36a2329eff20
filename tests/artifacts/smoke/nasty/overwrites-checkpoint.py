"""Save to the absolute path that the config of the cluster names.

usage: overwrites-checkpoint.py save|replace|unlink|truncate /abs/outputs/42/last.pt
"""

import os
import sys
from pathlib import Path

import torch
from torch import nn

how, checkpoint = sys.argv[1], Path(sys.argv[2])
model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(1, 6):
    loss = model(torch.ones(4, 2)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step {step} loss {loss.item():.4f}", flush=True)
if how == "save":  # opened by C++ where the path is a string
    torch.save(model.state_dict(), str(checkpoint))
elif how == "replace":
    part = checkpoint.with_suffix(".part")
    torch.save(model.state_dict(), part)
    os.replace(part, checkpoint)
elif how == "unlink":
    checkpoint.unlink()
else:
    os.truncate(checkpoint, 0)
print("saved")
