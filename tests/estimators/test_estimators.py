"""The scikit-learn estimators."""

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from fedclust import (
    ConfigError,
    FederatedFuzzyCMeans,
    FederatedKMeans,
    FederatedKPrototypes,
    FederatedMixture,
    make,
    make_seeding,
)
from fedclust.algorithms import ALGORITHMS
from fedclust.typing import FloatArray

from .row_owners import owners, pd, rows


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [
        FederatedKMeans(),
        FederatedFuzzyCMeans(),
        FederatedMixture(),
        FederatedKMeans(2, missing="partial"),
        FederatedFuzzyCMeans(2, missing="partial"),
        FederatedMixture(2, missing="partial"),
        FederatedKPrototypes(missing="partial"),
    ]
)
def test_scikit_learns_own_checks(estimator: Any, check: Any) -> None:
    """One client is the pooled case, so all checks of scikit-learn apply."""
    check(estimator)


@pytest.mark.parametrize("kind", [FederatedKMeans, FederatedFuzzyCMeans])
def test_owners_lists_and_dicts_are_the_same_federation(kind: Any) -> None:
    X, who = rows(), np.array(owners())
    names = ["bank", "clinic", "shop"]
    parts = {name: X[who == name] for name in names}
    by_row = kind(3, random_state=0).fit(X, clients=who)
    by_name = kind(3, random_state=0).fit(parts)
    np.testing.assert_array_equal(by_row.cluster_centers_, by_name.cluster_centers_)
    assert by_row.bytes_sent_.keys() == by_name.bytes_sent_.keys() == set(names)
    listed = kind(3, random_state=0).fit(list(parts.values()))
    assert len(listed.labels_) == 240
    expected = np.concatenate([by_row.labels_[who == name] for name in names])
    np.testing.assert_array_equal(by_name.labels_, expected)


def test_lossless_is_scikit_learns_k_means_from_the_same_start() -> None:
    X = rows()
    model = FederatedKMeans(3, random_state=1).fit(X, clients=owners())
    start = vars(model.algorithm_)["init"]
    pooled = KMeans(3, init=start, n_init=1, tol=0.0).fit(X)
    np.testing.assert_allclose(model.cluster_centers_, pooled.cluster_centers_, atol=1e-12)
    np.testing.assert_array_equal(model.labels_, pooled.labels_)
    assert model.inertia_ == pytest.approx(pooled.inertia_)
    assert model.score(X) == pytest.approx(pooled.score(X))
    np.testing.assert_allclose(model.transform(X), pooled.transform(X))


def test_one_client_is_the_pooled_case() -> None:
    X = rows()
    init = X[:3]
    alone = FederatedKMeans(3, init=init).fit(X)
    together = FederatedKMeans(3, init=init).fit(X, clients=owners())
    np.testing.assert_allclose(alone.cluster_centers_, together.cluster_centers_, rtol=1e-12)


def test_memberships_add_up_and_labels_are_the_highest() -> None:
    X = rows()
    model = FederatedFuzzyCMeans(3, fuzzifier=1.6, random_state=0).fit(X, clients=owners())
    U = model.predict_proba(X)
    np.testing.assert_allclose(U.sum(axis=1), 1.0)
    np.testing.assert_array_equal(U.argmax(axis=1), model.labels_)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    D = model.transform(X)
    assert model.score(X) == pytest.approx(-(U**1.6 * D**2).sum())


@pytest.mark.parametrize("key", [key for key in ALGORITHMS if key != "llf-mixture"])
def test_every_registry_key_works(key: str) -> None:
    """Mixtures have an estimator of their own."""
    kind = FederatedFuzzyCMeans if ALGORITHMS[key].traits.soft else FederatedKMeans
    model = kind(3, algorithm=key, random_state=0).fit(rows(), clients=owners())
    assert len(np.unique(model.labels_)) == 3
    assert model.n_rounds_ >= 1
    assert len(model.history_) == model.n_rounds_
    assert set(model.history_[0]) == {"round", "n_clients", "shift", "bytes_down", "bytes_up"}


@pytest.mark.parametrize("init", ["careful", "client", "fkm", "k-fed", "one-shot", "uniform"])
def test_every_seeding_works(init: str) -> None:
    model = FederatedKMeans(3, init=init, bounds=(-3, 15), n_init=4, random_state=0)
    model.fit(rows(), clients=owners())
    assert model.inertia_ < 1000


def test_algorithms_and_seedings_can_be_made_by_hand() -> None:
    model = FederatedKMeans(
        3,
        algorithm=make("dwf", 3, local_steps=2),
        init=make_seeding("careful", 3, neighbours=3),
        random_state=0,
    ).fit(rows(), clients=owners())
    assert vars(model.algorithm_)["local_steps"] == 2
    start = rows(3)
    given = FederatedKMeans(3, algorithm=make("llf-cm", 3, init=start)).fit(rows())
    np.testing.assert_array_equal(vars(given.algorithm_)["init"], start)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_parameters_reach_the_algorithm() -> None:
    model = FederatedFuzzyCMeans(3, fuzzifier=1.7, max_rounds=2, tol=0.0, random_state=0)
    model.fit(rows(), clients=owners())
    assert model.n_rounds_ == 2
    assert vars(model.algorithm_)["fuzzifier"] == 1.7


def test_more_starts_are_never_worse() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(300, 2))
    one, ten = (
        FederatedKMeans(12, init="client", n_init=n, random_state=3).fit(
            X, clients=np.arange(300) % 4
        )
        for n in (1, 10)
    )
    assert ten.inertia_ < one.inertia_
    assert ten.bytes_sent_["0"] > 5 * one.bytes_sent_["0"]


def test_the_same_random_state_gives_the_same_model() -> None:
    fits = [
        FederatedKMeans(5, algorithm="fkm", sampling=0.7, random_state=s).fit(
            rows(), clients=owners()
        )
        for s in (4, 4, 5)
    ]
    np.testing.assert_array_equal(fits[0].cluster_centers_, fits[1].cluster_centers_)
    assert (fits[0].cluster_centers_ != fits[2].cluster_centers_).any()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_sampling_selects_some_clients() -> None:
    model = FederatedKMeans(3, sampling=0.4, min_clients=2, max_rounds=4, tol=0.0, random_state=0)
    model.fit(rows(), clients=np.arange(240) % 10)
    assert {line["n_clients"] for line in model.history_} == {4}


def test_weights_count_rows() -> None:
    X = rows(60)
    weight = np.r_[np.full(30, 3.0), np.ones(30)]
    who = np.arange(60) % 2
    weighted = FederatedKMeans(3, init=X[:3]).fit(X, clients=who, sample_weight=weight)
    repeated = FederatedKMeans(3, init=X[:3]).fit(
        np.repeat(X, weight.astype(int), axis=0), clients=np.repeat(who, weight.astype(int))
    )
    np.testing.assert_allclose(weighted.cluster_centers_, repeated.cluster_centers_)
    parts = FederatedKMeans(3, init=X[:3]).fit(
        [X[:30], X[30:]], sample_weight=[weight[:30], weight[30:]]
    )
    np.testing.assert_allclose(parts.cluster_centers_, weighted.cluster_centers_)


def test_paper_privacy_costs_exactness_and_default_does_not() -> None:
    rng = np.random.default_rng(2)
    X, who = rng.normal(size=(60, 2)), np.arange(60) % 15
    exact = FederatedKMeans(6, init=X[:6]).fit(X, clients=who)
    pooled = KMeans(6, init=X[:6], n_init=1, tol=0.0).fit(X)
    np.testing.assert_allclose(exact.cluster_centers_, pooled.cluster_centers_, atol=1e-12)
    paper = FederatedKMeans(6, init=X[:6], privacy="paper").fit(X, clients=who)
    assert np.abs(paper.cluster_centers_ - pooled.cluster_centers_).max() > 1e-3


def test_data_frames_name_their_columns() -> None:
    frame = pd.DataFrame(rows(), columns=["age", "size"])
    model = FederatedKMeans(3, random_state=0).fit(frame, clients=owners())
    assert model.feature_names_in_.tolist() == ["age", "size"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["size", "age"]])
    model.set_output(transform="pandas")
    assert list(pd.DataFrame(model.transform(frame))) == [f"federatedkmeans{i}" for i in range(3)]
    assert "FederatedKMeans" in model._repr_html_()


def test_it_works_inside_scikit_learn() -> None:
    X = rows()
    pipe = make_pipeline(StandardScaler(), FederatedKMeans(3, random_state=0))
    assert len(np.unique(pipe.fit_predict(X))) == 3
    search = GridSearchCV(FederatedKMeans(random_state=0), {"n_clusters": [2, 3]}, cv=2).fit(X)
    assert search.best_params_ == {"n_clusters": 3}
    assert clone(FederatedKMeans(3, algorithm=make("fkm", 3))).n_clusters == 3
    assert FederatedKMeans(3).fit_transform(X).shape == (240, 3)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8])
def test_other_number_types_are_accepted(dtype: type) -> None:
    X: FloatArray = (rows() + 10).astype(dtype)
    labels = FederatedKMeans(3, random_state=0).fit(X, clients=owners()).labels_
    expected = FederatedKMeans(3, random_state=0).fit(X.astype(float), clients=owners()).labels_
    np.testing.assert_array_equal(labels, expected)


def test_weights_are_matched_by_name() -> None:
    """A dict in another order must not give one client another's weights."""
    X = {"a": rows(60, 1), "b": rows(60, 2)}
    w = {name: np.random.default_rng(i).random(60) for i, name in enumerate(X)}
    in_order, in_reverse = (
        FederatedKMeans(3, random_state=0).fit(X, sample_weight=weights).inertia_
        for weights in (w, dict(reversed(w.items())))
    )
    assert in_order == in_reverse
    for wrong in ({"a": w["a"], "c": w["b"]}, {"a": w["a"]}):
        with pytest.raises(ConfigError, match="sample_weight: its names must be those of the"):
            FederatedKMeans(3).fit(X, sample_weight=wrong)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_concurrent_fits_restore_the_number_of_threads() -> None:
    """Workers limit BLAS to one thread; the last one must restore the setting."""
    from concurrent.futures import ThreadPoolExecutor

    from threadpoolctl import threadpool_info, threadpool_limits

    X = np.random.default_rng(0).random((3000, 40))

    def threads() -> list[int]:
        return [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]

    FederatedKMeans(5, max_rounds=2, random_state=0).fit(X)
    with threadpool_limits(2, "blas"):
        before = threads()
        with ThreadPoolExecutor(4) as pool:
            fits = (FederatedKMeans(5, max_rounds=5, random_state=seed) for seed in range(8))
            list(pool.map(lambda fit: fit.fit(X), fits))
        assert set(before) == {2}
        assert threads() == before
