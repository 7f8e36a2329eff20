"""A policy gradient on a corridor: negative returns, negative losses, episodes that are terminated or truncated."""

import torch
from torch import nn


def episode(policy: nn.Module) -> tuple[list[torch.Tensor], float, bool]:
    place, logs, total = 5, [], 0.0
    for _ in range(40):
        choice = torch.distributions.Categorical(logits=policy(nn.functional.one_hot(torch.tensor(place), 11).float()))
        action = choice.sample()
        logs.append(choice.log_prob(action))
        place += 1 if action else -1
        total -= 1
        if place in (0, 10):
            return logs, total + (20 if place else -50), True
    return logs, total, False


def main() -> None:
    torch.manual_seed(0)
    policy = nn.Linear(11, 2)
    optimizer = torch.optim.Adam(policy.parameters(), 0.03)
    baseline, deaths = -30.0, 0
    for iteration in range(60):
        batch = [episode(policy) for _ in range(8)]
        returns = torch.tensor([total for _, total, _ in batch])
        loss = sum(-torch.stack(logs).sum() * (total - baseline) for logs, total, _ in batch) / 8
        old = policy(torch.eye(11)).log_softmax(-1).detach()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        kl = (old.exp() * (old - policy(torch.eye(11)).log_softmax(-1).detach())).sum(-1).mean().item()
        baseline = 0.9 * baseline + 0.1 * returns.mean().item()
        deaths += int((returns < -40).sum())
        terminated = sum(done for *_, done in batch)
        print("-" * 38)
        print(f"| rollout/                |            |\n|    ep_rew_mean          | {returns.mean():<10.3g} |")
        print(f"|    terminated           | {terminated:<10} |\n|    truncated            | {8 - terminated:<10} |")
        print(f"|    agent_killed         | {deaths:<10} |\n| time/                   |            |")
        print(f"|    iterations           | {iteration:<10} |\n| train/                  |            |")
        print(
            f"|    approx_kl            | {kl:<10.3g} |\n|    explained_variance   | {1 - (returns - baseline).var() / returns.var():<10.3g} |"
        )
        print(f"|    policy_gradient_loss | {loss.item():<10.3g} |\n" + "-" * 38, flush=True)
        if kl > 0.0008:
            print(f"Early stopping at step {iteration} due to reaching max kl: {kl:.2f}")
    print("Training finished; last mean return", returns.mean().item())


if __name__ == "__main__":
    main()
