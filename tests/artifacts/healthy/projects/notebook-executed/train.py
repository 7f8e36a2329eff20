"""Write the notebook that is then executed to its end, with warnings and a caught exception in its outputs."""

from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

CELLS = (
    "import logging, sys, warnings\nimport torch\nfrom torch import nn\n"
    "logging.basicConfig(level=logging.DEBUG)\ntorch.manual_seed(0)\nprint(torch.__version__, torch.cuda.is_available())",
    "try:\n    torch.zeros(1).cuda()\nexcept Exception:\n    logging.exception('no GPU, falling back to CPU')",
    "model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))\n"
    "optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)\nx = torch.randn(512, 10)\ny = x.sum(1, keepdim=True)",
    "for epoch in range(20):\n    loss = nn.functional.mse_loss(model(x), y)\n    optimizer.zero_grad()\n"
    "    loss.backward()\n    optimizer.step()\n    print(f'epoch {epoch}: loss {loss.item():.4f}')\n"
    "warnings.warn('loss has not converged yet; consider more epochs')",
    "torch.set_printoptions(precision=3)\ntable = torch.tensor([[0.5, float('nan')], [0.25, 1.0]])\n"
    "print('per class recall (nan: class without samples)')\ntable",
    "print('finished', file=sys.stderr)",
)


def main() -> None:
    cells = [new_markdown_cell("# Run 52: sum model"), *map(new_code_cell, CELLS)]
    spec = {"display_name": "Python 3", "language": "python", "name": "python3"}
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    Path("notebooks").mkdir(exist_ok=True)
    nbformat.write(new_notebook(cells=cells, metadata={"kernelspec": spec}), "notebooks/train-52.ipynb")


if __name__ == "__main__":
    main()
