"""Fine-tune a sequence classifier; logs what the Hugging Face Trainer would."""

import argparse
import json
import time
from pathlib import Path

import torch
from model import CHANNELS, CLASSES, LENGTH, Classifier
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--output_dir", type=Path, required=True)
    parser.add_argument("--per_device_train_batch_size", type=int, default=48)
    parser.add_argument("--num_train_epochs", type=int, default=2)
    parser.add_argument("--learning_rate", type=float, default=2e-3)
    parser.add_argument("--logging_steps", type=int, default=5)
    parser.add_argument("--seed", type=int, default=42)
    return parser.parse_args()


def make_dataset(size: int = 1000) -> TensorDataset:
    """Sequences of noise in which one channel is raised; the channel is the class."""
    labels = torch.randint(0, CLASSES, (size,))
    sequences = torch.randn(size, CHANNELS, LENGTH)
    sequences[torch.arange(size), labels] += 0.5
    return TensorDataset(sequences, labels)


def train(args: argparse.Namespace, model: nn.Module, loader: DataLoader) -> dict:
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.learning_rate)
    planned = args.num_train_epochs * len(loader)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / planned)
    log_history, started, step = [], time.time(), 0
    for _ in range(args.num_train_epochs):
        for sequences, labels in loader:
            loss = nn.functional.cross_entropy(model(sequences), labels)
            loss.backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
            step += 1
            if step % args.logging_steps == 0:
                logs = {"loss": round(loss.item(), 4), "grad_norm": round(norm.item(), 4)}
                logs |= {"learning_rate": schedule.get_last_lr()[0], "epoch": round(step / len(loader), 2)}
                log_history.append({**logs, "step": step})
                print(logs, flush=True)
    runtime = time.time() - started
    print({"train_runtime": round(runtime, 3), "train_steps_per_second": round(step / runtime, 2), "epoch": 2.0})
    return {"global_step": step, "max_steps": planned, "log_history": log_history}


def main() -> None:
    args = parse()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    args.output_dir.mkdir(parents=True, exist_ok=True)
    batch_size = args.per_device_train_batch_size
    loader = DataLoader(make_dataset(), batch_size=batch_size, shuffle=True)
    model = Classifier()
    print(f"***** Running training *****\n  Num examples = {len(loader.dataset)}")
    print(f"  Num Epochs = {args.num_train_epochs}\n  Total optimization steps = {args.num_train_epochs * len(loader)}")
    torch.save(model.state_dict(), args.output_dir / "last.pt")
    state = train(args, model, loader)
    torch.save(model.state_dict(), args.output_dir / "last.pt")
    (args.output_dir / "trainer_state.json").write_text(json.dumps(state, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
