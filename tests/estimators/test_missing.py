"""Missing cells in the estimators over split rows."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from fedclust import FederatedFuzzyCMeans, FederatedKMeans
from fedclust.core import ConfigError, DataError
from fedclust.datasets import load
from fedclust.typing import FloatArray

ESTIMATORS = (FederatedKMeans, FederatedFuzzyCMeans)


def make_rows() -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 50)
    X = rng.normal(size=(150, 4)) + 5.0 * y[:, None]
    X[rng.random(X.shape) < 0.2] = np.nan
    X[7] = np.nan
    return X, y


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_missing_cells_are_refused_unless_asked_for(kind: type[FederatedKMeans]) -> None:
    X, _ = make_rows()
    with pytest.raises(
        DataError,
        match=r"missing or infinite values .*; set missing='partial', or use FederatedImputer",
    ):
        kind(3).fit(X)
    with pytest.raises(ConfigError, match="missing must be 'refuse' or 'partial', got 'mean'"):
        kind(3, missing="mean").fit(X)
    assert not kind(3).__sklearn_tags__().input_tags.allow_nan
    assert clone(kind(3, missing="partial")).__sklearn_tags__().input_tags.allow_nan


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_rows_with_missing_cells_take_part(kind: type[FederatedKMeans]) -> None:
    X, y = make_rows()
    model = kind(3, missing="partial", random_state=0).fit(X, clients=np.arange(150) % 4)
    assert np.isfinite(model.cluster_centers_).all()
    assert np.isfinite(model.score(X))
    assert model.labels_[7] == -1
    observed = np.arange(150) != 7
    assert adjusted_rand_score(y[observed], model.labels_[observed]) > 0.9
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    alone = kind(3, missing="partial", init=model.algorithm_.parameter("init")).fit(X)
    np.testing.assert_allclose(alone.cluster_centers_, model.cluster_centers_, atol=1e-9)


def test_memberships_are_known_for_every_row() -> None:
    X, _ = make_rows()
    model = FederatedFuzzyCMeans(3, missing="partial", random_state=0).fit(X)
    U = model.predict_proba(X)
    np.testing.assert_allclose(U.sum(axis=1), 1.0)
    np.testing.assert_allclose(U[7], 1 / 3)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_a_table_without_any_value_is_refused_as_such(kind: type[FederatedKMeans]) -> None:
    with pytest.raises(DataError, match="no row has a value in any column"):
        kind(2, missing="partial").fit(np.full((20, 3), np.nan))


def test_a_pandas_column_of_booleans_may_have_missing_cells() -> None:
    yes = [True, None, False] * 20
    frame = pd.DataFrame({"dose": np.tile([9.0, 9.0, 0.0], 20), "yes": yes})
    frame["yes"] = frame["yes"].astype("boolean")
    model = FederatedKMeans(2, missing="partial", random_state=0).fit(frame)
    np.testing.assert_allclose(model.cluster_centers_, [[9, 1], [0, 0]])


def test_fuzzy_centres_stay_apart_where_most_cells_are_missing() -> None:
    """Filled with means, such rows have one fuzzy centre."""
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, 400)
    X = rng.normal(size=(400, 40)) + 4.0 * y[:, None]
    X[rng.random(X.shape) < 0.9] = np.nan
    model = FederatedFuzzyCMeans(2, missing="partial", random_state=0)
    labels = model.fit(X, clients=np.arange(400) % 4).labels_
    observed = labels >= 0
    assert adjusted_rand_score(y[observed], labels[observed]) > 0.9


@pytest.mark.parametrize("scaled", [False, True])
def test_an_outlying_value_does_not_spoil_the_start(scaled: bool) -> None:
    """Filled with the mean, which the value moves, missing cells would be a cluster."""
    rng = np.random.default_rng(2)
    y = rng.integers(0, 3, 600)
    X = rng.normal(size=(600, 5)) + 4.0 * rng.normal(size=(3, 5))[y]
    holes = rng.random(X.shape) < 0.2
    X[7, 1], holes[7] = 1e6, False
    if scaled:
        X = (X - X.mean(axis=0)) / X.std(axis=0)
    start = np.vstack([*(X[(y == c) & (np.arange(600) != 7)].mean(axis=0) for c in range(3)), X[7]])
    X[holes] = np.nan
    found, known = (
        FederatedKMeans(4, init=init, missing="partial", random_state=0)
        .fit(X, clients=np.arange(600) % 4)
        .inertia_
        for init in ("auto", start)
    )
    assert found < 1.02 * known


def test_all_patients_of_four_hospitals_are_labelled() -> None:
    """With complete rows only, 299 of 920 patients would take part."""
    data = load("heart_disease")
    assert np.isnan(data.X).any(axis=1).sum() == 920 - 299
    assert data.y is not None
    assert data.client is not None
    X = (data.X - np.nanmean(data.X, axis=0)) / np.nanstd(data.X, axis=0)
    model = FederatedKMeans(2, missing="partial", random_state=0).fit(X, clients=data.client)
    assert (model.labels_ >= 0).sum() == 920
    same = float(np.mean(model.labels_ == data.y))
    assert max(same, 1 - same) >= 0.79


@pytest.mark.parametrize("privacy", ["dp", "guarded"])
def test_other_tiers_refuse(privacy: str) -> None:
    X, _ = make_rows()
    model = FederatedKMeans(3, missing="partial", privacy=privacy, bounds=(-10, 20))
    with pytest.raises(ConfigError, match="protects sums over complete rows only"):
        model.fit([X[:50], X[50:100], X[100:]])


def test_masks_give_the_open_result() -> None:
    X, _ = make_rows()
    tables = [X[:50], X[50:100], X[100:]]
    start = np.array([[0.0] * 4, [5.0] * 4, [10.0] * 4])
    centers = [
        FederatedKMeans(3, missing="partial", init=start, privacy=privacy, bounds=(-10, 20))
        .fit(tables)
        .cluster_centers_
        for privacy in ("none", "secure")
    ]
    np.testing.assert_allclose(centers[0], centers[1], atol=1e-7)
