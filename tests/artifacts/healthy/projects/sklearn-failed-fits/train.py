"""A grid search in which some fits fail by design (error_score is nan), with every warning sklearn has."""

import warnings

import numpy as np
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import classification_report
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neural_network import MLPClassifier

warnings.simplefilter("always")


def main() -> None:
    x, y = make_classification(400, 20, n_informative=8, n_classes=3, random_state=0)
    x[:, 0] *= 1e4
    xt, xv, yt, yv = train_test_split(x, y, random_state=0)
    grid = {"penalty": ["l1", "l2"], "C": [0.1, 1.0], "solver": ["lbfgs", "liblinear"]}
    search = GridSearchCV(LogisticRegression(max_iter=20), grid, cv=3, verbose=3, error_score=np.nan)
    search.fit(xt, yt % 2)
    print("best parameters", search.best_params_, "score", search.best_score_)
    print("all scores", search.cv_results_["mean_test_score"])
    net = MLPClassifier((16,), max_iter=25, verbose=True, random_state=0, learning_rate_init=0.01)
    net.fit(xt / x.std(0), yt)
    print("validation\n", classification_report(np.append(yv, 3), np.append(net.predict(xv / x.std(0)), 0)))
    print("Finished fitting all models.")


if __name__ == "__main__":
    main()
