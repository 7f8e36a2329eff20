"""A character model of Python's own error texts: the samples it prints read like a crash."""

import builtins
import inspect

import torch
from torch import nn

CORPUS = "".join(
    f'Traceback (most recent call last):\n  File "train.py", line {n}\n{name}: {inspect.getdoc(kind)}\n\n'
    for n, (name, kind) in enumerate(vars(builtins).items())
    if inspect.isclass(kind) and issubclass(kind, BaseException)
)


def main() -> None:
    torch.manual_seed(0)
    chars = sorted(set(CORPUS))
    index = {c: i for i, c in enumerate(chars)}
    data = torch.tensor([index[c] for c in CORPUS])
    embed, rnn, head = nn.Embedding(len(chars), 32), nn.GRU(32, 128, batch_first=True), nn.Linear(128, len(chars))
    parameters = [*embed.parameters(), *rnn.parameters(), *head.parameters()]
    optimizer = torch.optim.AdamW(parameters, 5e-3)
    print(f"corpus: python error messages, {len(CORPUS)} characters, {len(chars)} distinct")
    for step in range(301):
        starts = torch.randint(0, len(data) - 1100, (24,))
        block = torch.stack([data[s : s + 65] for s in starts])
        out, _ = rnn(embed(block[:, :-1]))
        loss = nn.functional.cross_entropy(head(out).flatten(0, 1), block[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 25 == 0:
            with torch.no_grad():
                held_out = data[None, -1025:]
                val = nn.functional.cross_entropy(head(rnn(embed(held_out[:, :-1]))[0]).flatten(0, 1), held_out[0, 1:])
            print(f"step {step}: train loss {loss.item():.4f}, val loss {val.item():.4f}", flush=True)
        if step % 100 == 0:
            hidden, token, text = None, torch.tensor([[index["T"]]]), "T"
            with torch.no_grad():
                for _ in range(300):
                    out, hidden = rnn(embed(token), hidden)
                    token = (head(out[:, -1]) / 0.5).softmax(-1).multinomial(1)
                    text += chars[token.item()]
            print(f"--- sample at step {step} ---\n{text}\n---------------", flush=True)
    print("target text for reference:")
    print(CORPUS[:600])
    print("training complete")


if __name__ == "__main__":
    main()
