"""Learn 300 noisy rows by heart: the training loss goes to 0 and the validation loss rises. Writers train/ and val/."""

import torch
from toy import Classes, accuracy, mlp
from torch import nn
from tracking import Tracker, load_config


def main() -> None:
    cfg = load_config()
    train_log, val_log, data = Tracker(cfg, part="train"), Tracker(cfg, part="val"), Classes(noise=3.0)
    train, val = data.batch(cfg["rows"]), data.batch(1000)
    model = mlp(32, 128, 128, 10)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    step = 0
    for epoch in range(cfg["epochs"]):
        for part in torch.randperm(cfg["rows"]).split(cfg["batch_size"]):
            loss = nn.functional.cross_entropy(model(train[0][part]), train[1][part])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            train_log.log({"loss": loss.item()}, step)
            step += 1
        with torch.no_grad():
            held_out = nn.functional.cross_entropy(model(val[0]), val[1]).item()
        train_log.log({"accuracy": accuracy(model, *train)}, step, force=True)
        val_log.log({"loss": held_out, "accuracy": accuracy(model, *val)}, step, force=True)
        train_log.epoch(epoch)
    val_log.writer.close()
    train_log.close()


if __name__ == "__main__":
    main()
