"""Fine-tune a small classifier with the Hugging Face Trainer."""

import torch
from toy import Classes, mlp
from torch import nn
from torch.utils.data import Dataset
from tracking import load_config, note
from transformers import PrinterCallback, Trainer, TrainingArguments


class Rows(Dataset):
    def __init__(self, data: Classes, size: int, broken: int | None = None) -> None:
        self.x, self.y = data.batch(size)
        if broken is not None:
            self.x[broken] = float("nan")

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        return {"x": self.x[index], "labels": self.y[index]}


class InOrder(Trainer):
    def _get_train_sampler(self, *_):
        return torch.utils.data.SequentialSampler(self.train_dataset)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = mlp(32, 64, 10)

    def forward(self, x, labels):
        logits = self.net(x)
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}


def compute_metrics(prediction) -> dict[str, float]:
    return {"accuracy": float((prediction.predictions.argmax(axis=1) == prediction.label_ids).mean())}


def main() -> None:
    cfg = load_config()
    data = Classes(noise=cfg.get("noise", 1.5))
    arguments = TrainingArguments(use_cpu=True, disable_tqdm=True, **cfg["trainer"])
    broken = cfg.get("first_unreadable_row")
    if broken is not None:
        note("onset", broken // arguments.per_device_train_batch_size + 1)
    trainer = InOrder(
        model=Net(),
        args=arguments,
        train_dataset=Rows(data, cfg["rows"], broken),
        eval_dataset=Rows(data, 256),
        compute_metrics=compute_metrics,
    )
    if cfg.get("quiet"):
        trainer.remove_callback(PrinterCallback)
    result = trainer.train()
    print(f"Training finished: {result.global_step} steps")


if __name__ == "__main__":
    main()
