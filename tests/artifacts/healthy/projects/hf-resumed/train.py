"""Fine-tune a tiny BERT with Trainer at debug level; `--mode` adds resuming, undefined metrics or a new head."""

import argparse
import os
import signal
import warnings
from pathlib import Path

import numpy as np
import torch
import transformers
from sklearn.metrics import classification_report, f1_score, precision_score
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from torch.utils.data import Dataset
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForSequenceClassification,
    EarlyStoppingCallback,
    PreTrainedTokenizerFast,
    Trainer,
    TrainerCallback,
    TrainingArguments,
    set_seed,
)

WORDS = ["kill", "error", "nan", "oom", "timeout", "crash", "fatal", "abort", "segfault", "good", "fine", "nice", "calm", "warm", "bright"]
CONFIG = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}


class Sentences(Dataset):
    def __init__(self, tokenizer: PreTrainedTokenizerFast, count: int, labels: int) -> None:
        random = np.random.default_rng(count)
        self.words = [list(random.choice(WORDS, 8)) for _ in range(count)]
        self.tokenizer, self.labels = tokenizer, labels

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        words = self.words[index]
        ids = self.tokenizer(" ".join(words), truncation=True, max_length=8, padding="max_length")
        label = sum(word in WORDS[:9] for word in words) >= 5
        return {"input_ids": torch.tensor(ids["input_ids"]), "labels": torch.tensor(int(label))}


class StopAt(TrainerCallback):
    """Send the process SIGTERM after a step, as a preemption does."""

    def __init__(self, step: int) -> None:
        self.step = step

    def on_save(self, args: object, state: object, control: object, **_: object) -> None:
        if state.global_step == self.step:
            print(f"checkpoint of step {self.step} written, node will be preempted", flush=True)
            os.kill(os.getpid(), signal.SIGTERM)


def metrics(result: object) -> dict[str, float]:
    predicted = result.predictions.argmax(-1)
    print(classification_report(result.label_ids, predicted, labels=[0, 1, 2]))
    names = {"labels": [0, 1, 2], "average": "macro"}
    absent = np.mean(predicted[result.label_ids == 2] == 2)
    return {
        "f1": f1_score(result.label_ids, predicted, **names),
        "precision": precision_score(result.label_ids, predicted, **names),
        "recall_absent": float(absent),
    }


def tokenizer() -> PreTrainedTokenizerFast:
    fast = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    fast.pre_tokenizer = pre_tokenizers.Whitespace()
    fast.train_from_iterator([WORDS] * 3, trainers.WordLevelTrainer(special_tokens=["[UNK]", "[PAD]"]))
    return PreTrainedTokenizerFast(tokenizer_object=fast, unk_token="[UNK]", pad_token="[PAD]")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--mode", required=True, choices=["debug", "metrics", "resume"])
    parser.add_argument("--output", required=True)
    parser.add_argument("--stop-at", type=int, default=0)
    args = parser.parse_args()
    if args.mode == "metrics":
        warnings.simplefilter("always")
    transformers.logging.set_verbosity_debug() if args.mode == "debug" else transformers.logging.set_verbosity_info()
    transformers.logging.enable_explicit_format()
    set_seed(1)
    words = tokenizer()
    words([" ".join(WORDS)] * 64)  # so that a later fork warns
    config = BertConfig(vocab_size=len(words), num_labels=3, max_position_embeddings=16, **CONFIG)
    if args.mode == "debug":
        BertForMaskedLM(config).save_pretrained("pretrained")
        model = BertForSequenceClassification.from_pretrained("pretrained", num_labels=3)
    else:
        model = BertForSequenceClassification(config)
    trainer = Trainer(
        model=model,
        args=TrainingArguments(
            args.output,
            use_cpu=True,
            report_to="none",
            log_level="debug" if args.mode == "debug" else "info",
            num_train_epochs=3,
            learning_rate=3e-3,
            per_device_train_batch_size=16,
            gradient_accumulation_steps=2,
            logging_steps=2,
            eval_strategy="epoch",
            save_strategy="epoch",
            save_total_limit=2,
            load_best_model_at_end=args.mode != "debug",
            metric_for_best_model="eval_f1" if args.mode != "debug" else None,
            dataloader_num_workers=2 if args.mode == "metrics" else 0,
            logging_nan_inf_filter=False,
        ),
        train_dataset=Sentences(words, 320, 2),
        eval_dataset=Sentences(words, 64, 2),
        processing_class=words,
        compute_metrics=metrics if args.mode != "debug" else None,
        callbacks=[EarlyStoppingCallback(2)] if args.mode != "debug" else [],
    )
    if args.stop_at:
        trainer.add_callback(StopAt(args.stop_at))
    found = sorted(Path(args.output).glob("checkpoint-*"))
    print("resuming from", found[-1] if found else None, flush=True)
    result = trainer.train(resume_from_checkpoint=str(found[-1]) if found else None)
    trainer.log_metrics("train", result.metrics)
    trainer.log_metrics("eval", trainer.evaluate())
    trainer.save_model()


if __name__ == "__main__":
    main()
