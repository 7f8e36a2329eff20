"""REINFORCE on a corridor: walk right to the end; the mean return is nan until the first episode has ended."""

import torch
from toy import mlp
from tracking import Tracker, load_config

LENGTH, LIMIT = 8, 40


def main() -> None:
    cfg = load_config()
    tracker = Tracker(cfg)
    policy = mlp(LENGTH, 32, 2)
    optimizer = torch.optim.Adam(policy.parameters(), lr=cfg["lr"])
    returns: list[float] = []
    place, log_probs, rewards, baseline = 0, [], [], 0.0
    for step in range(cfg["steps"]):
        logits = policy(torch.nn.functional.one_hot(torch.tensor(place), LENGTH).float())
        chosen = torch.distributions.Categorical(logits=logits)
        action = chosen.sample()
        log_probs.append(chosen.log_prob(action))
        place = max(0, place + (1 if action == 1 and torch.rand(()) < 0.9 else -1))
        arrived = place == LENGTH - 1
        rewards.append(1.0 if arrived else -0.02)
        values = {"train/mean_return": sum(returns[-10:]) / len(returns[-10:]) if returns else float("nan")}
        if arrived or len(rewards) == LIMIT:
            total = sum(rewards)
            loss = -(total - baseline) * torch.stack(log_probs).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            baseline += 0.1 * (total - baseline)
            returns.append(total)
            values |= {"train/policy_loss": loss.item(), "train/episode_return": total}
            place, log_probs, rewards = 0, [], []
            tracker.log(values, step, force=True)
        else:
            tracker.log(values, step)
        if step % 1000 == 999:
            tracker.epoch(step // 1000, f"{len(returns)} episodes")
    tracker.close()


if __name__ == "__main__":
    main()
