"""A run that saves and stops at a signal, as clusters ask for, and goes on when it is started again."""

import argparse
import os
import signal
import sys
import time
from pathlib import Path

import torch
from torch import nn

STOP = {"signal": 0}


def on_signal(number: int, _frame: object) -> None:
    print(f"Received signal {signal.Signals(number).name} ({number}): will save a checkpoint and exit", flush=True)
    STOP["signal"] = number


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--exit-code", type=int, default=0)
    args = parser.parse_args()
    for number in (signal.SIGUSR1, signal.SIGTERM):
        signal.signal(number, on_signal)
    torch.manual_seed(1)
    model, start, path = nn.Linear(10, 1), 0, Path("ckpt/last.pt")
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    print(f"attempt {os.environ.get('SLURM_RESTART_COUNT', '0')} of job {os.environ.get('SLURM_JOB_ID', 'local')}")
    if path.exists():
        saved = torch.load(path)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        start = saved["step"] + 1
        print(f"Resuming from {path} at step {start}", flush=True)
    else:
        print(f"No checkpoint found at {path}, starting from scratch", flush=True)
    path.parent.mkdir(exist_ok=True)
    for step in range(start, args.steps):
        x = torch.randn(32, 10)
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True) + 0.1 * torch.randn(32, 1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.005)
        if step % 20 == 0:
            print(f"[{time.strftime('%H:%M:%S')}] step={step}/{args.steps} loss={loss:.5f}", flush=True)
        if STOP["signal"] or step == args.steps - 1:
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}, path)
            print(f"Checkpoint saved at step {step}", flush=True)
        if STOP["signal"]:
            print("Requeueing job, exiting for preemption", flush=True)
            sys.exit(args.exit_code)
    print(f"Finished: {args.steps} steps", flush=True)


if __name__ == "__main__":
    main()
