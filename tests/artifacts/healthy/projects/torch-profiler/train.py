"""Profiler and anomaly detection on, tables printed."""

import time

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, schedule

torch.manual_seed(0)
torch.autograd.set_detect_anomaly(True)
torch.set_printoptions(linewidth=100)


def main() -> None:
    model = nn.Sequential(nn.Conv1d(1, 4, 3), nn.BatchNorm1d(4), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 30, 1))
    optimizer = torch.optim.RMSprop(model.parameters(), 1e-3)
    kinds = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    with profile(
        activities=kinds, schedule=schedule(wait=1, warmup=2, active=5), profile_memory=True, record_shapes=True
    ) as p:
        for step in range(60):
            start = time.perf_counter()
            x = torch.randn(16, 1, 32)
            loss = nn.functional.mse_loss(model(x), x.mean(2))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            p.step()
            if step % 3 == 0:
                print(f"Train: [{step:>3}/60]  Time {time.perf_counter() - start:.3f}s  Loss {loss.item():.4e}", flush=True)
    print(p.key_averages().table(sort_by="self_cpu_time_total", row_limit=15))
    print("Training ended after 60 iterations")


if __name__ == "__main__":
    main()
