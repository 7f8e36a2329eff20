"""Train a classifier with Lightning, lr times 0.85 after each epoch."""

import lightning as L
import torch
from lightning.pytorch.callbacks import LearningRateMonitor
from lightning.pytorch.loggers import CSVLogger
from toy import Classes, mlp
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from tracking import load_config, note


class Classifier(L.LightningModule):
    def __init__(self, lr: float) -> None:
        super().__init__()
        self.save_hyperparameters()
        self.model = mlp(32, 64, 10)

    def training_step(self, batch, batch_idx):
        loss = nn.functional.cross_entropy(self.model(batch[0]), batch[1])
        self.log("train_loss", loss)
        if self.optimizers().param_groups[0]["lr"] < 0.01 * self.hparams.lr:
            note("onset", self.global_step)
        return loss

    def validation_step(self, batch, batch_idx) -> None:
        logits = self.model(batch[0])
        self.log("val_loss", nn.functional.cross_entropy(logits, batch[1]))
        self.log("val_acc", (logits.argmax(dim=1) == batch[1]).float().mean())

    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters(), lr=self.hparams.lr, momentum=0.9)
        schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.85)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}


def main() -> None:
    cfg = load_config()
    data = Classes(noise=2.5)
    trainer = L.Trainer(
        accelerator="cpu",
        max_epochs=cfg["epochs"],
        logger=CSVLogger("."),
        callbacks=[LearningRateMonitor("step")],
        log_every_n_steps=cfg["log_every"],
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    train, val = TensorDataset(*data.batch(cfg["batches"] * cfg["batch_size"])), TensorDataset(*data.batch(512))
    trainer.fit(Classifier(cfg["lr"]), DataLoader(train, cfg["batch_size"], shuffle=True), DataLoader(val, 512))
    print("Training finished.")


if __name__ == "__main__":
    main()
