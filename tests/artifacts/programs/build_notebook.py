"""Write the notebook that is then executed; its last training cell mixes double data with a float model."""

from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

SETUP = """import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
print("torch", torch.__version__)"""
MODEL = """model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

def train_epoch(x, y):
    for step in range(0, len(x), 32):
        loss = nn.functional.mse_loss(model(x[step:step + 32]).squeeze(1), y[step:step + 32])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()"""
TRAIN = """x = torch.randn(512, 10)
y = x.sum(dim=1)
for epoch in range(5):
    print(f"epoch {epoch}: loss {train_epoch(x, y):.4f}")"""
FINE_TUNE = """table = np.random.default_rng(0).normal(size=(128, 10))
x2 = torch.from_numpy(table)
train_epoch(x2, x2.sum(dim=1))"""


def main() -> None:
    cells = [new_markdown_cell("# Run 42: price model"), *map(new_code_cell, (SETUP, MODEL, TRAIN, FINE_TUNE))]
    spec = {"display_name": "Python 3", "language": "python", "name": "python3"}
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    Path("notebooks").mkdir(exist_ok=True)
    nbformat.write(new_notebook(cells=cells, metadata={"kernelspec": spec}), "notebooks/train-42.ipynb")


if __name__ == "__main__":
    main()
