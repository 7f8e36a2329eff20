"""Deep Q-learning on a corridor with noisy rewards."""

import random
from collections import deque

import torch
from toy import mlp
from tracking import Tracker, load_config

LENGTH, LIMIT = 10, 40


def main() -> None:
    cfg = load_config()
    random.seed(cfg["seed"])
    tracker = Tracker(cfg)
    net, target = mlp(LENGTH, 32, 2), mlp(LENGTH, 32, 2)
    target.load_state_dict(net.state_dict())
    optimizer = torch.optim.Adam(net.parameters(), lr=cfg["lr"])
    eye, memory = torch.eye(LENGTH), deque(maxlen=2000)
    place, used, total = 0, 0, 0.0
    for step in range(cfg["steps"]):
        epsilon = max(0.05, 1 - step / 800)
        action = random.randrange(2) if random.random() < epsilon else int(net(eye[place]).argmax())
        after = min(LENGTH - 1, max(0, place + (1 if action else -1)))
        arrived = after == LENGTH - 1
        reward = (1.0 if arrived else 0.0) + random.gauss(0, 0.1)
        memory.append((place, action, reward, after, arrived))
        place, used, total = after, used + 1, total + reward
        values = {"train/epsilon": epsilon}
        if len(memory) >= 64:
            s, a, r, n, d = (torch.tensor(column) for column in zip(*random.sample(list(memory), 64)))
            with torch.no_grad():
                wanted = r + 0.95 * target(eye[n]).max(dim=1).values * (~d)
            loss = (net(eye[s]).gather(1, a[:, None]).squeeze(1) - wanted).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            values["train/td_loss"] = loss.item()
        if step % 100 == 0:
            target.load_state_dict(net.state_dict())
        if arrived or used == LIMIT:
            values["train/episode_reward"] = total
            place, used, total = 0, 0, 0.0
            tracker.log(values, step, force=True)
        else:
            tracker.log(values, step)
    tracker.close()


if __name__ == "__main__":
    main()
