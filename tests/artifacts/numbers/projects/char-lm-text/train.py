"""A tiny character model with small batches: a noisy loss."""

import torch
from toy import norm_of
from torch import nn
from tracking import Tracker, load_config

TEXT = (
    "the gate by the river was open and the boat lay on the sand, but nobody had seen the two children since noon. "
    "an old man sat on the wall and counted the geese; he had counted them every day for eleven years. "
    "in the evening the wind turned, the lamps went on one by one, and someone sang about a road over the hills. "
) * 3


def main() -> None:
    cfg = load_config()
    tracker = Tracker(cfg)
    letters = sorted(set(TEXT))
    codes = torch.tensor([letters.index(letter) for letter in TEXT])
    embed, rnn, head = nn.Embedding(len(letters), 24), nn.GRU(24, 48, batch_first=True), nn.Linear(48, len(letters))
    parameters = [*embed.parameters(), *rnn.parameters(), *head.parameters()]
    optimizer = torch.optim.AdamW(parameters, lr=cfg["lr"])
    for step in range(cfg["steps"]):
        starts = torch.randint(len(codes) - 25, (cfg["batch_size"],))
        x = torch.stack([codes[s : s + 24] for s in starts])
        y = torch.stack([codes[s + 1 : s + 25] for s in starts])
        loss = nn.functional.cross_entropy(head(rnn(embed(x))[0]).flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        grad_norm = norm_of(parameters)
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        tracker.log({"train/loss": loss.item(), "train/grad_norm": grad_norm}, step)
        if step % 100 == 99:
            tracker.epoch(step // 100)
    tracker.close()


if __name__ == "__main__":
    main()
