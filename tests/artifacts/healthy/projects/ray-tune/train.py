"""Ray Tune with a scheduler that stops the worse trials early; all end as TERMINATED."""

import ray
import torch
from ray import tune
from ray.tune.schedulers import ASHAScheduler
from torch import nn


def trial(config: dict[str, float]) -> None:
    torch.manual_seed(0)
    model = nn.Linear(6, 1)
    optimizer = torch.optim.SGD(model.parameters(), config["lr"])
    for _ in range(12):
        x = torch.randn(32, 6)
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        tune.report({"loss": loss.item()})


def main() -> None:
    ray.init(_node_ip_address="10.0.0.11", num_cpus=2, include_dashboard=False, _temp_dir="/home/user/ray", object_store_memory=80_000_000)
    tuner = tune.Tuner(
        trial,
        param_space={"lr": tune.grid_search([0.2, 0.05, 0.01, 0.001])},
        tune_config=tune.TuneConfig(metric="loss", mode="min", scheduler=ASHAScheduler(grace_period=2, max_t=12)),
        run_config=tune.RunConfig(name="tune-41", storage_path="/workspace/proj/ray_results", verbose=2),
    )
    results = tuner.fit()
    print("errors:", results.num_errors, "terminated:", results.num_terminated)
    print("best config", results.get_best_result().config)
    ray.shutdown()


if __name__ == "__main__":
    main()
