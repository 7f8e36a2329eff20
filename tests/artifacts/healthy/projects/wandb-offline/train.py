"""The same small training under a tracker: wandb offline, an mlflow file store or TensorBoard events."""

import logging
import sys

import torch
from torch import nn

logging.basicConfig(level=logging.DEBUG, format="%(asctime)s %(name)s %(levelname)s %(message)s")


def main() -> None:
    kind = sys.argv[1]
    torch.manual_seed(0)
    config = {"lr": 0.02, "timeout": 30, "on_nan": "raise", "oom_fallback": False, "error_budget": 0}
    if kind == "wandb":
        import wandb

        run = wandb.init(mode="offline", project="oom-study", id="run-61", config=config)
        report = run.log
    elif kind == "mlflow":
        import mlflow

        mlflow.set_tracking_uri("file:/workspace/proj/mlruns")
        mlflow.set_experiment("error-study")
        run = mlflow.start_run(run_name="run-62")
        mlflow.log_params(config)

        def report(row: dict[str, float]) -> None:
            mlflow.log_metrics(row, step=row["step"])
    else:
        from torch.utils.tensorboard import SummaryWriter

        writer = SummaryWriter("runs/run-63")

        def report(row: dict[str, float]) -> None:
            for key, value in row.items():
                writer.add_scalar(key, value, row["step"])

    model = nn.Linear(6, 1)
    optimizer = torch.optim.Adam(model.parameters(), config["lr"])
    for step in range(60):
        x = torch.randn(32, 6)
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        row = {"step": step, "loss": loss.item(), "recall_empty_class": float("nan"), "accuracy": 0.0}
        report(row)
        if step % 5 == 0:
            print(", ".join(f"{key}={value:.4g}" for key, value in row.items()), flush=True)
    if kind == "wandb":
        run.finish()
    elif kind == "mlflow":
        mlflow.end_run()
    else:
        writer.close()
    print("tracking closed, all good")


if __name__ == "__main__":
    main()
