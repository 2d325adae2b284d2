"""Learn features without a network: an RFM in a scikit-learn pipeline, its settings chosen by cross-validation.

    python examples/rfm.py

The target depends on two of ten inputs. The RFM finds them: the diagonal of its feature matrix M is large there.
"""

import numpy as np
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gramlab import RFM


def main() -> None:
    """Choose bandwidth, ridge and update by three-fold cross-validation, and print what was learned."""
    random = np.random.default_rng(0)
    x = random.normal(size=(400, 10))
    y = x[:, 0] * x[:, 1] + 0.5 * np.sin(3 * x[:, 0]) + 0.1 * random.normal(size=400)
    x_train, x_test, y_train, y_test = train_test_split(x, y, random_state=0)

    pipeline = make_pipeline(StandardScaler(), RFM("regression", kernel="laplace", n_iters=4))
    grid = {
        "rfm__bandwidth": [3.0, 10.0],
        "rfm__ridge": [1e-3, 1e-1],
        "rfm__update": [None, "agop", "fact"],  # None learns no features: kernel ridge regression
    }
    search = GridSearchCV(pipeline, grid, cv=3).fit(x_train, y_train)

    results = search.cv_results_
    for update in grid["rfm__update"]:
        scores = [score for score, p in zip(results["mean_test_score"], results["params"], strict=True)
                  if p["rfm__update"] == update]  # fmt: skip
        print(f"update {update}: best R² in cross-validation {max(scores):.2f}")
    print("chosen:", search.best_params_)
    print(f"R² on held-out samples: {search.score(x_test, y_test):.2f}")
    M = search.best_estimator_.named_steps["rfm"].features_
    print("diagonal of M:", (M.diagonal() / M.diagonal().max()).round(2))


if __name__ == "__main__":
    main()
