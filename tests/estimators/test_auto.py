"""Estimators that choose the number of clusters."""

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from fedclust import FederatedFuzzyCMeans, FederatedKMeans
from fedclust.core import ConfigError


def clients(k: int = 3, n: int = 360) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    places = np.array([[0.0, 0.0], [8.0, 0.0], [0.0, 8.0], [8.0, 8.0]])
    rows = rng.normal(places[np.arange(n) % k], 1.0)
    return {name: rows[i::3] for i, name in enumerate("abc")}


@pytest.mark.parametrize("kind", [FederatedKMeans, FederatedFuzzyCMeans])
@pytest.mark.parametrize("privacy", ["secure", "guarded"])
def test_a_summary_chooses_where_queries_are_limited(kind: Any, privacy: str) -> None:
    pytest.importorskip("cryptography")
    model = kind("auto", privacy=privacy, bounds=(-8, 16)).fit(clients())
    assert model.n_clusters_ == len(model.cluster_centers_) == 3
    assert model.choice_ is not None
    assert model.choice_.summary is not None
    assert model.choice_.summary.queries <= 11
    assert model.transform(clients()["a"]).shape == (120, 3)
    other = clone(model).set_params(random_state=5).fit(clients())
    assert np.array_equal(model.cluster_centers_, other.cluster_centers_)


def test_a_sweep_chooses_otherwise() -> None:
    model = FederatedKMeans("auto", random_state=0).fit(clients(2))
    assert model.choice_ is not None
    assert (model.n_clusters_, model.choice_.summary) == (2, None)
    again = model.set_params(warm_start=True).fit(clients(2))
    assert (again.n_clusters_, again.choice_) == (2, None)
    assert FederatedKMeans(2).fit(clients()).choice_ is None


def test_an_instance_of_an_algorithm_gets_the_chosen_number() -> None:
    from fedclust import make

    model = FederatedKMeans("auto", algorithm=make("llf-cm", 9, max_rounds=7)).fit(clients(2))
    assert (model.algorithm_.n_clusters, model.algorithm_.parameter("max_rounds")) == (2, 7)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"n_clusters": "many"}, "n_clusters must be an integer or 'auto', got 'many'"),
        ({"init": np.zeros((2, 2))}, "finds its own initial centres; leave init='auto'"),
        ({"privacy": "dp", "bounds": (-8, 16)}, "the noise hides the rows"),
    ],
)
def test_settings_that_leave_no_choice_are_refused(settings: Any, words: str) -> None:
    pytest.importorskip("opendp")
    with pytest.raises(ConfigError, match=words):
        FederatedKMeans(**{"n_clusters": "auto", **settings}).fit(clients())
