"""Fine-tune a tiny BERT to predict ratings with the Hugging Face Trainer."""

import argparse
from pathlib import Path

import torch
import yaml
from torch.utils.data import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments, set_seed


class Ratings(Dataset):
    def __init__(self, rows: int, missing: list[int]) -> None:
        self.tokens = torch.randint(5, 100, (rows, 12))
        self.ratings = (self.tokens.float().mean(dim=1) - 52) / 10
        self.ratings[missing] = float("nan")

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        return {"input_ids": self.tokens[index], "labels": self.ratings[index]}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", required=True)
    cfg = yaml.safe_load(Path(parser.parse_args().config).read_text(encoding="utf-8"))
    set_seed(cfg["trainer"]["seed"])
    bert = BertConfig(vocab_size=100, num_labels=1, **cfg["model"])
    trainer = Trainer(
        model=BertForSequenceClassification(bert),
        args=TrainingArguments(**cfg["trainer"]),
        train_dataset=Ratings(cfg["data"]["rows"], cfg["data"]["missing"]),
        eval_dataset=Ratings(64, []),
    )
    trainer.train()
    print(trainer.evaluate())


if __name__ == "__main__":
    main()
