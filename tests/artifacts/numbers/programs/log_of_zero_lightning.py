"""Regress log counts with Lightning."""

import lightning as L
import torch
from lightning.pytorch.loggers import CSVLogger, TensorBoardLogger
from toy import mlp
from torch.utils.data import DataLoader, TensorDataset
from tracking import load_config, note

EMPTY_RECORD = 600


class Counts(L.LightningModule):
    def __init__(self, lr: float) -> None:
        super().__init__()
        self.save_hyperparameters()
        self.model = mlp(16, 32, 1)

    def training_step(self, batch, batch_idx):
        x, counts = batch
        loss = (self.model(x).squeeze(1) - counts.log()).pow(2).mean()
        self.log("train_loss", loss)
        return loss

    def on_before_optimizer_step(self, optimizer) -> None:
        self.log("grad_norm", torch.stack([p.grad.norm() for p in self.parameters()]).norm())

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.lr)


def main() -> None:
    cfg = load_config()
    size = cfg["batch_size"]
    x = torch.randn(cfg["steps"] * size, 16)
    counts = torch.exp(x.mean(dim=1) + 3).round()
    counts[EMPTY_RECORD * size + 7] = 0
    note("onset", EMPTY_RECORD)
    trainer = L.Trainer(
        accelerator="cpu",
        max_epochs=1,
        logger=TensorBoardLogger(".", "lightning_logs") if cfg["tracker"] == "tensorboard" else CSVLogger("."),
        log_every_n_steps=cfg["log_every"],
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(Counts(cfg["lr"]), DataLoader(TensorDataset(x, counts), batch_size=size))
    print("Training finished.")


if __name__ == "__main__":
    main()
