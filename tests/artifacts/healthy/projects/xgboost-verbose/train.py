"""XGBoost at verbosity 3 with early stopping and an unused parameter."""

import numpy as np
import xgboost as xgb


def main() -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=(800, 10))
    x[random.random(x.shape) < 0.05] = np.nan
    y = (np.nansum(x[:, :3], 1) + random.normal(size=800) > 0).astype(int)
    train, test = xgb.DMatrix(x[:600], y[:600], missing=np.nan), xgb.DMatrix(x[600:], y[600:], missing=np.nan)
    parameters = {
        "objective": "binary:logistic",
        "eval_metric": ["error", "logloss", "auc"],
        "verbosity": 3,
        "eta": 0.3,
        "n_estimators": 10,
        "seed": 0,
    }
    booster = xgb.train(
        parameters, train, 200, evals=[(train, "train"), (test, "eval")], early_stopping_rounds=10, verbose_eval=1
    )
    print("best iteration", booster.best_iteration, "best score", booster.best_score)
    booster.save_model("model.deprecated")


if __name__ == "__main__":
    main()
