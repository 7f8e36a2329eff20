"""LightGBM on few rows: no further splits with positive gain, best gain -inf, which is harmless."""

import lightgbm as lgb
import numpy as np


def main() -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=(260, 8))
    y = x[:, 0] * 2 + x[:, 1] + 0.1 * random.normal(size=260)
    x[random.random(x.shape) < 0.1] = np.nan
    train = lgb.Dataset(x[:200], y[:200])
    test = lgb.Dataset(x[200:], y[200:], reference=train)
    parameters = {"objective": "regression", "metric": ["l2", "mape"], "verbosity": 2, "num_leaves": 63, "max_bin": 255}
    parameters |= {"min_data_in_leaf": 20, "bagging_fraction": 0.7, "num_iterations": 80, "seed": 1}
    callbacks = [lgb.log_evaluation(2), lgb.early_stopping(8, verbose=True)]
    booster = lgb.train(parameters, train, valid_sets=[train, test], callbacks=callbacks)
    print("best iteration", booster.best_iteration, dict(booster.best_score["valid_1"]))


if __name__ == "__main__":
    main()
