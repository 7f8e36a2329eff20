"""Rich progress bars, tables and its log handler with tracebacks that have locals."""

import logging

import torch
from rich.console import Console
from rich.logging import RichHandler
from rich.progress import Progress
from rich.table import Table
from torch import nn

console = Console(force_terminal=True, width=110)
logging.basicConfig(level="DEBUG", format="%(message)s", handlers=[RichHandler(console=console, rich_tracebacks=True)])
log = logging.getLogger("rich")


def main() -> None:
    torch.manual_seed(0)
    model = nn.Linear(5, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.05)
    try:
        import apex  # noqa: F401
    except ImportError:
        log.exception("apex is not installed, using the native optimizer instead")
    history = []
    with Progress(console=console) as progress:
        for epoch in range(3):
            task = progress.add_task(f"[red]epoch {epoch}", total=40)
            for _ in range(40):
                x = torch.randn(16, 5)
                loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                progress.advance(task)
            history.append(loss.item())
            log.info("epoch %d loss %.5f", epoch, loss)
    table = Table(title="Results")
    for name in ("epoch", "loss", "errors", "fatal"):
        table.add_column(name)
    for epoch, value in enumerate(history):
        table.add_row(str(epoch), f"{value:.5f}", "0", "0")
    console.print(table)
    log.warning("training finished with exit status 0")


if __name__ == "__main__":
    main()
