"""Train a bigram language model, optionally from a checkpoint."""

import argparse
from pathlib import Path

import torch
import yaml
from torch import Tensor, nn


class Bigram(nn.Module):
    def __init__(self, vocab: int, dim: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.head = nn.Linear(dim, vocab)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.embed(tokens))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", required=True)
    parser.add_argument("--resume")
    parser.add_argument("--save", default="checkpoints/last.pt")
    args = parser.parse_args()
    cfg = yaml.safe_load(Path(args.config).read_text(encoding="utf-8"))
    torch.manual_seed(cfg["seed"])
    model = Bigram(cfg["vocab_size"], cfg["dim"])
    if args.resume:
        print(f"=> loading checkpoint '{args.resume}'")
        model.load_state_dict(torch.load(args.resume))
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg["lr"])
    for it in range(cfg["max_iters"] + 1):
        tokens = torch.randint(0, cfg["vocab_size"], (16, 32))
        targets = (tokens + 1) % cfg["vocab_size"]
        loss = nn.functional.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        if it % 20 == 0:
            print(f"iter {it}: loss {loss.item():.4f}")
    Path(args.save).parent.mkdir(exist_ok=True)
    torch.save(model.state_dict(), args.save)
    print(f"saved checkpoint to {args.save}")


if __name__ == "__main__":
    main()
