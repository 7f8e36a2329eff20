"""Noise as labels: nothing to learn, the rate is reduced on the plateau and early stopping ends the run."""

import time

import torch
from torch import nn


def main() -> None:
    torch.manual_seed(2)
    x, y = torch.randn(512, 10), torch.randint(0, 2, (512,))
    xv, yv = torch.randn(256, 10), torch.randint(0, 2, (256,))
    model = nn.Linear(10, 2)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=2, factor=0.1)
    best, counter, patience = float("inf"), 0, 7
    for epoch in range(1, 101):
        start = time.time()
        for i in range(0, 512, 64):
            loss = nn.functional.cross_entropy(model(x[i : i + 64]), y[i : i + 64])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            val = nn.functional.cross_entropy(model(xv), yv).item()
            acc = (model(xv).argmax(1) == yv).float().mean().item()
        schedule.step(val)
        print(f"Epoch: {epoch:03d} | Time: {time.time() - start:.3f}s | lr {optimizer.param_groups[0]['lr']:.1e}")
        print(f"\tTrain Loss: {loss:.3f} | Val. Loss: {val:.3f} | Val. Acc: {acc * 100:.2f}%")
        if val < best - 1e-3:
            print(f"Validation loss decreased ({best:.6f} --> {val:.6f}).  Saving model ...")
            best, counter = val, 0
        else:
            counter += 1
            print(f"EarlyStopping counter: {counter} out of {patience}", flush=True)
        if counter >= patience:
            print("Early stopping")
            break
    print(f"Test Loss: {best:.3f} | Test Acc: {acc * 100:.2f}% (labels are random)")


if __name__ == "__main__":
    main()
