"""Train an autoencoder on batches that a thread prefetches."""

import argparse
import logging
from pathlib import Path

import torch
from prefetch import Prefetcher
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from tqdm import tqdm

FEATURES = 24
log = logging.getLogger("train")


def spectra(size: int = 8000) -> TensorDataset:
    return TensorDataset(torch.randn(size, 4) @ torch.randn(4, FEATURES))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", required=True)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch_size", type=int, default=32)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    out = Path("outputs", args.run)
    out.mkdir(parents=True, exist_ok=True)
    loader = Prefetcher(DataLoader(spectra(), batch_size=args.batch_size, shuffle=True))
    model = nn.Sequential(nn.Linear(FEATURES, 8), nn.Tanh(), nn.Linear(8, FEATURES))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(1, args.epochs + 1):
        bar = tqdm(loader, desc=f"Epoch {epoch}/{args.epochs}")
        for (batch,) in bar:
            loss = nn.functional.mse_loss(model(batch), batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            bar.set_postfix(loss=f"{loss.item():.4f}", refresh=False)
        log.info("epoch %d/%d loss %.4f lr 5.0e-03", epoch, args.epochs, loss.item())
        torch.save({"epoch": epoch, "model": model.state_dict()}, out / "last.pt")
    log.info("Training finished")


if __name__ == "__main__":
    main()
