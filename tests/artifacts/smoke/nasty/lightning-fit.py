"""Lightning trains; its loop, not the script, calls the optimizer."""

import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Regression(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 1)

    def training_step(self, batch: list[torch.Tensor]) -> torch.Tensor:
        inputs, targets = batch
        loss = nn.functional.mse_loss(self.layer(inputs), targets)
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.01)


lightning.seed_everything(0)
torch.set_num_threads(1)
examples = torch.randn(640, 8)
loader = DataLoader(TensorDataset(examples, examples.sum(dim=1, keepdim=True)), batch_size=16)
trainer = lightning.Trainer(max_epochs=2, accelerator="cpu", default_root_dir="outputs", log_every_n_steps=5)
trainer.fit(Regression(), loader)
