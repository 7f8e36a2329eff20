"""The Trainer of transformers trains; it loads no weights and needs no network."""

import torch
from torch import nn
from torch.utils.data import Dataset
from transformers import Trainer, TrainingArguments


class Sums(Dataset):
    def __len__(self) -> int:
        return 320

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        inputs = torch.randn(8, generator=torch.Generator().manual_seed(index))
        return {"inputs": inputs, "labels": inputs.sum(dim=0, keepdim=True)}


class Regression(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 1)

    def forward(self, inputs: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        predicted = self.layer(inputs)
        return {"loss": nn.functional.mse_loss(predicted, labels), "logits": predicted}


arguments = TrainingArguments(
    output_dir="outputs",
    num_train_epochs=2,
    per_device_train_batch_size=16,
    logging_steps=5,
    save_steps=20,
    report_to=[],
    use_cpu=True,
    disable_tqdm=True,
    remove_unused_columns=False,
)
Trainer(model=Regression(), args=arguments, train_dataset=Sums()).train()
