"""Metric learning on synthetic pairs with Lightning."""

import argparse
from pathlib import Path

import lightning as L
import torch
import yaml
from lightning.pytorch.callbacks import EarlyStopping, TQDMProgressBar
from lightning.pytorch.loggers import CSVLogger
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset


class PairModel(L.LightningModule):
    def __init__(self, dim: int, lr: float, eps: float) -> None:
        super().__init__()
        self.save_hyperparameters()
        self.encoder = nn.Linear(dim, 8)

    def pair_loss(self, batch: list[Tensor]) -> Tensor:
        left, right, target = batch
        squared = (self.encoder(left) - self.encoder(right)).pow(2).sum(dim=1)
        return nn.functional.mse_loss(torch.sqrt(squared + self.hparams.eps), target)

    def training_step(self, batch: list[Tensor], batch_idx: int) -> Tensor:
        loss = self.pair_loss(batch)
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch: list[Tensor], batch_idx: int) -> None:
        self.log("val_loss", self.pair_loss(batch), prog_bar=True)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters(), lr=self.hparams.lr)


def pairs(rows: int, dim: int, identical: list[int]) -> TensorDataset:
    left, right = torch.randn(rows, dim), torch.randn(rows, dim)
    right[identical] = left[identical]
    return TensorDataset(left, right, (left - right).norm(dim=1))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", required=True)
    cfg = yaml.safe_load(Path(parser.parse_args().config).read_text(encoding="utf-8"))
    L.seed_everything(cfg["seed"])
    data = cfg["data"]
    bars = [TQDMProgressBar()] if cfg["progress_bar"] == "tqdm" else []
    trainer = L.Trainer(
        accelerator="cpu",
        logger=CSVLogger(".", name="lightning_logs"),
        callbacks=[EarlyStopping("val_loss", patience=2, min_delta=0.02, verbose=True), *bars],
        enable_checkpointing=False,
        **cfg["trainer"],
    )
    trainer.fit(
        PairModel(data["dim"], **cfg["model"]),
        DataLoader(pairs(data["rows"], data["dim"], data["identical"]), batch_size=32),
        DataLoader(pairs(128, data["dim"], []), batch_size=32),
    )


if __name__ == "__main__":
    main()
