"""Train a classifier with Lightning, with early stopping or the default progress bar."""

import lightning as L
import torch
from lightning.pytorch.callbacks import EarlyStopping
from lightning.pytorch.loggers import CSVLogger, TensorBoardLogger
from toy import Classes, mlp
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from tracking import load_config


class Classifier(L.LightningModule):
    def __init__(self, lr: float) -> None:
        super().__init__()
        self.save_hyperparameters()
        self.model = mlp(32, 64, 10)

    def training_step(self, batch, batch_idx):
        loss = nn.functional.cross_entropy(self.model(batch[0]), batch[1])
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch, batch_idx) -> None:
        logits = self.model(batch[0])
        self.log("val_loss", nn.functional.cross_entropy(logits, batch[1]), prog_bar=True)
        self.log("val_acc", (logits.argmax(dim=1) == batch[1]).float().mean(), prog_bar=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.lr)


def main() -> None:
    cfg = load_config()
    data = Classes(noise=2.0)
    trainer = L.Trainer(
        accelerator="cpu",
        max_epochs=cfg["epochs"],
        logger=CSVLogger(".") if cfg["tracker"] == "csv" else TensorBoardLogger(".", "lightning_logs"),
        callbacks=[EarlyStopping("val_loss", patience=3)] if cfg["early_stopping"] else [],
        log_every_n_steps=cfg["log_every"],
        enable_checkpointing=False,
        enable_progress_bar=not cfg["early_stopping"],
    )
    train, val = TensorDataset(*data.batch(1600)), TensorDataset(*data.batch(512))
    trainer.fit(Classifier(cfg["lr"]), DataLoader(train, cfg["batch_size"], shuffle=True), DataLoader(val, 512))
    print("Training finished.")


if __name__ == "__main__":
    main()
