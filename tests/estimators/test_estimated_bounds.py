"""Estimators that find bounds from counts of values."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from fedclust import FedclustError, FederatedFuzzyCMeans, FederatedKMeans, FederatedMixture
from fedclust.core import ConfigError
from fedclust.typing import FloatArray, IntArray


def table(extreme: float = 1e6) -> tuple[FloatArray, IntArray]:
    rng = np.random.default_rng(0)
    rows = rng.normal([[0.0, 0.0], [9.0, 30.0], [0.0, 60.0]] * 100, 1.0)
    rows[17, 1] = extreme
    return rows, np.arange(300) % 4


@pytest.mark.parametrize("kind", [FederatedKMeans, FederatedFuzzyCMeans, FederatedMixture])
@pytest.mark.parametrize("privacy", ["none", "secure"])
def test_rows_are_clipped_to_bounds_that_hide_an_extreme(kind: type, privacy: str) -> None:
    pytest.importorskip("cryptography")
    found = []
    for extreme in (4_000.0, 1e9):
        X, owner = table(extreme)
        model = kind(3, privacy=privacy, bounds="estimate", random_state=0).fit(X, clients=owner)
        assert (model.predict(X) == model.labels_).all()
        assert model.bounds_[1][1] < 70
        found.append((*(b.tobytes() for b in model.bounds_), model.cluster_centers_.tobytes()))
    assert found[0] == found[1]


def test_a_mixture_clips_numbers_and_not_codes() -> None:
    X, owner = table()
    X = np.column_stack([np.arange(300) % 3, X])
    model = FederatedMixture(3, categories={0: (0, 1, 2)}, bounds="estimate", random_state=0)
    model.fit(X, clients=owner)
    assert (model.predict(X) == model.labels_).all()
    assert model.bounds_[1].shape == (5,)


def test_the_refusal_without_bounds_names_the_estimate() -> None:
    X, owner = table()
    with pytest.raises(ConfigError, match="or bounds='estimate'"):
        FederatedKMeans(3, privacy="secure").fit(X, clients=owner)
    with pytest.raises(ConfigError, match=r"bounds must be \(low, high\), .* or 'estimate'"):
        FederatedKMeans(3, bounds="guess").fit(X, clients=owner)


def test_bounds_much_wider_than_the_data_are_a_warning_that_helps() -> None:
    """All rows are in one cell of the start, so one cluster gets them all."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(60, 2)), rng.normal(6, 1, (60, 2))])
    wide = FederatedKMeans(2, bounds=(-1e5, 1e5), privacy="secure")
    with pytest.warns(ConvergenceWarning, match="bounds closer to the data, or use init='summ"):
        wide.fit(X, clients=np.arange(120) % 4)
    close = FederatedKMeans(2, bounds=(-10, 20), privacy="secure")
    assert sorted(np.bincount(close.fit(X, clients=np.arange(120) % 4).labels_)) == [60, 60]
    with pytest.raises(FedclustError, match="public bounds are so wide"):
        FederatedKMeans(2, bounds=(-1e9, 1e9), privacy="secure").fit(X, clients=np.arange(120) % 4)
