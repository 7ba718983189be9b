"""FederatedKPrototypes: cost, splits, weights, words, missing cells, mistakes."""

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from fedclust import ConfigError, DataError, FederatedKMeans, FederatedKPrototypes
from fedclust.typing import FloatArray, IntArray

LISTED = {2: [1, 2, 5]}


def mixed(n: int = 240) -> tuple[FloatArray, IntArray]:
    """Two numbers and a category of three codes, from two clusters."""
    rng = np.random.default_rng(0)
    own = np.arange(n) % 2
    code = np.where(rng.random(n) < 0.9, 1 + own, 5)
    return np.column_stack([rng.normal(4.0 * own[:, None], 1.0, (n, 2)), code]), own


def cost(X: FloatArray, model: FederatedKPrototypes) -> float:
    """The cost as Huang defines it."""
    numbers = np.array([row[:2] for row in model.prototypes_.tolist()], dtype=float)
    D = ((X[:, None, :2] - numbers) ** 2).sum(axis=2)
    D += model.category_weight_ * (X[:, 2:] != model.prototypes_[:, 2].astype(float))
    return float(D.min(axis=1).sum())


@pytest.mark.parametrize("center", ["mode", "shares"])
def test_clusters_cost_and_prototypes(center: str) -> None:
    X, own = mixed()
    model = FederatedKPrototypes(2, categories=LISTED, center=center, random_state=0)
    model.fit(X, clients=np.arange(240) % 5)
    assert max(np.mean(model.labels_ == own), np.mean(model.labels_ != own)) > 0.98
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert sorted(model.prototypes_[:, 2]) == [1.0, 2.0]
    assert model.category_weight_ == pytest.approx(X[:, :2].std(axis=0).mean() / 2)
    assert model.inertia_ == pytest.approx(-model.score(X))
    if center == "mode":
        assert model.inertia_ == pytest.approx(cost(X, model))
    else:
        assert model.inertia_ < cost(X, model)
    assert model.transform(X).argmin(axis=1).tolist() == model.labels_.tolist()
    assert model.encoded_names_ == ["x0", "x1", "x2=1", "x2=2", "x2=5"]
    assert clone(model).get_params() == model.get_params()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.labels_)  # noqa: S301


def test_it_costs_what_kmodes_costs() -> None:
    kmodes = pytest.importorskip("kmodes.kprototypes")
    X, _ = mixed()
    model = FederatedKPrototypes(2, categories=LISTED, category_weight=0.7, random_state=0)
    model.fit(X, clients=np.arange(240) % 5)
    start = [model.prototypes_[:, :2].astype(float), model.prototypes_[:, 2:].astype(float)]
    theirs = kmodes.KPrototypes(2, init=start, n_init=1, gamma=0.7).fit(X, categorical=[2])
    assert model.inertia_ == pytest.approx(theirs.cost_, rel=1e-9)


@pytest.mark.parametrize("privacy", ["none", "secure", "guarded"])
def test_any_split_finds_the_same(privacy: str) -> None:
    X, _ = mixed()
    start = np.array([[0, 0, 1, 0, 0], [4, 4, 0, 1, 0.0]])
    settings: dict[str, Any] = {"categories": LISTED, "bounds": (-10, 20), "init": start}
    alone = FederatedKPrototypes(2, category_weight=1.3, **settings).fit(X)
    parts = FederatedKPrototypes(2, category_weight=1.3, privacy=privacy, **settings)
    parts.fit(X, clients=np.arange(240) % 6)
    np.testing.assert_allclose(parts.cluster_centers_, alone.cluster_centers_, atol=1e-9)


def test_masked_sums_weigh_categories_by_the_bounds() -> None:
    X, _ = mixed()
    model = FederatedKPrototypes(2, categories=LISTED, privacy="secure", bounds=(-10, 20))
    model.fit(X, clients=np.arange(240) % 3)
    assert model.category_weight_ == pytest.approx(30 / np.sqrt(12) / 2)


def test_words_missing_cells_and_a_column_that_nobody_has() -> None:
    X, own = mixed()
    holes = np.random.default_rng(1).random((240, 2)) < 0.2
    kind = np.array(["low", "high", "", "", "odd"], dtype=object)[X[:, 2].astype(int) - 1]
    frame = pd.DataFrame(
        {
            "dose": np.where(holes[:, 0], np.nan, X[:, 0]),
            "kind": np.where(holes[:, 1], None, kind),
            "lost": np.nan,
        }
    )
    frame.iloc[3] = [np.nan, None, np.nan]
    model = FederatedKPrototypes(
        2, categories={"kind": ["low", "high", "odd"]}, missing="partial", random_state=0
    )
    model.fit(frame, clients=np.arange(240) % 4)
    assert model.labels_[3] == -1
    seen = model.labels_ >= 0
    same = np.mean(model.labels_[seen] == own[seen])
    assert max(same, 1 - same) > 0.9
    assert sorted(model.prototypes_[:, 1]) == ["high", "low"]
    np.testing.assert_array_equal(model.predict(frame), model.labels_)
    assert model.__sklearn_tags__().input_tags.allow_nan


def test_without_categories_it_is_k_means() -> None:
    X = mixed()[0][:, :2]
    ours = FederatedKPrototypes(2, random_state=0).fit(X, clients=np.arange(240) % 3)
    theirs = FederatedKMeans(2, random_state=0).fit(X, clients=np.arange(240) % 3)
    np.testing.assert_array_equal(ours.cluster_centers_, theirs.cluster_centers_)


def test_a_warm_start_keeps_the_weight() -> None:
    X, _ = mixed()
    model = FederatedKPrototypes(2, categories=LISTED, warm_start=True, random_state=0).fit(X)
    weight = model.category_weight_
    assert model.fit(X[:100]).category_weight_ == weight


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"category_weight": 0}, "category_weight must be above zero or 'auto', got 0"),
        ({"category_weight": "much"}, "category_weight must be above zero or 'auto', got 'much'"),
        ({"center": "median"}, "center must be 'mode' or 'shares', got 'median'"),
        ({"categories": {2: [1]}}, "column 'x2' has .* values that are not listed"),
        ({"privacy": "dp", "bounds": (-10, 20)}, "no bound is known"),
    ],
)
def test_mistakes_get_a_sentence(settings: dict[str, Any], words: str) -> None:
    with pytest.raises((ConfigError, DataError), match=words):
        FederatedKPrototypes(2, **{"categories": LISTED, **settings}).fit(mixed()[0])
