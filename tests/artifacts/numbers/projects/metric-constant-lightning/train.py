"""Train a classifier with Lightning and evaluate its moving average."""

import copy

import lightning as L
import torch
from lightning.pytorch.loggers import CSVLogger
from toy import Classes, mlp
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from tracking import load_config


class Classifier(L.LightningModule):
    def __init__(self, lr: float) -> None:
        super().__init__()
        self.save_hyperparameters()
        self.student = mlp(32, 64, 10)
        self.teacher = copy.deepcopy(self.student)

    def training_step(self, batch, batch_idx):
        logits = self.student(batch[0])
        loss = nn.functional.cross_entropy(logits, batch[1])
        self.log_dict({"train_loss": loss, "train_acc": (logits.argmax(dim=1) == batch[1]).float().mean()})
        return loss

    def validation_step(self, batch, batch_idx) -> None:
        self.log("val_loss", nn.functional.cross_entropy(self.student(batch[0]), batch[1]))
        self.log("val_acc", (self.teacher(batch[0]).argmax(dim=1) == batch[1]).float().mean())

    def configure_optimizers(self):
        return torch.optim.Adam(self.student.parameters(), lr=self.hparams.lr)


def main() -> None:
    cfg = load_config()
    data = Classes()
    trainer = L.Trainer(
        accelerator="cpu",
        max_epochs=cfg["epochs"],
        logger=CSVLogger("."),
        log_every_n_steps=cfg["log_every"],
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    train, val = TensorDataset(*data.batch(2048)), TensorDataset(*data.batch(512))
    trainer.fit(Classifier(cfg["lr"]), DataLoader(train, cfg["batch_size"], shuffle=True), DataLoader(val, 512))
    print("Training finished.")


if __name__ == "__main__":
    main()
