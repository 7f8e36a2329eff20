"""A Lightning classifier in four versions; the last one is long, with early stopping and a class that is absent."""

import sys
import time

import lightning as L
import torch
from lightning.pytorch.callbacks import EarlyStopping, LearningRateMonitor, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger, TensorBoardLogger
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torchmetrics.classification import MulticlassRecall


class Classifier(L.LightningModule):
    def __init__(self, classes: int = 4, lr: float = 0.01, slow: float = 0.0) -> None:
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, classes))
        self.recall = MulticlassRecall(classes, average=None)

    def training_step(self, batch: list[torch.Tensor], _: int) -> torch.Tensor:
        loss = nn.functional.cross_entropy(self.net(batch[0]), batch[1])
        self.log("train_loss", loss, prog_bar=True)
        time.sleep(self.hparams.slow)
        return loss

    def validation_step(self, batch: list[torch.Tensor], _: int) -> None:
        out = self.net(batch[0])
        self.recall.update(out, batch[1])
        self.log("val_loss", nn.functional.cross_entropy(out, batch[1]), prog_bar=True, sync_dist=True)

    def on_validation_epoch_end(self) -> None:
        recall = self.recall.compute()
        recall[-1] = float("nan")  # no sample of this class
        self.log("val_recall_absent", recall[-1])
        self.print("recall per class", recall.tolist())
        self.recall.reset()

    def configure_optimizers(self) -> dict[str, object]:
        optimizer = torch.optim.AdamW(self.parameters(), self.hparams.lr)
        return {"optimizer": optimizer, "lr_scheduler": torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.95)}


def rows(count: int) -> TensorDataset:
    x = torch.randn(count, 12)
    return TensorDataset(x, x[:, :3].argmax(1))


def main() -> None:
    mode = sys.argv[1]
    L.seed_everything(1, verbose=True)
    ddp = {"accelerator": "cpu", "devices": 2, "strategy": "ddp"} if mode == "ddp" else {"accelerator": "cpu"}
    slurm = {"devices": 1, "num_nodes": 1} if mode == "slurm" else {}
    for version in range(4 if mode == "versions" else 1):
        last = version == 3 or mode != "versions"
        callbacks = [EarlyStopping("val_loss", patience=3, verbose=True), LearningRateMonitor()] if last else []
        if mode == "slurm":
            callbacks = [ModelCheckpoint(save_last=True)]
        trainer = L.Trainer(
            max_epochs=12 if last else 1,
            logger=TensorBoardLogger(".", "lightning_logs") if mode == "tb" else CSVLogger(".", "lightning_logs"),
            callbacks=callbacks,
            log_every_n_steps=50 if mode == "versions" else 5,
            enable_progress_bar=mode != "ddp",
            detect_anomaly=mode == "versions",
            gradient_clip_val=0.5,
            accumulate_grad_batches=2,
            **ddp,
            **slurm,
        )
        model = Classifier(slow=0.02 if mode == "slurm" else 0)
        trainer.fit(model, DataLoader(rows(640), 32), DataLoader(rows(128), 32))
        trainer.validate(model, DataLoader(rows(128), 32), verbose=last)


if __name__ == "__main__":
    main()
