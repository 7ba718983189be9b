"""Metrics equal scikit-learn's and their formulas; federated equals pooled."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.metrics import davies_bouldin_score, silhouette_score

from fedclust import ConfigError, metrics
from fedclust.channels import LocalChannel
from fedclust.core import Data, Plan, Schema, run
from fedclust.kernels import memberships
from fedclust.metrics import INDICES, Contingency, Evaluation
from fedclust.privacy import MinCount
from fedclust.tiers import transforms_for
from fedclust.typing import FloatArray


def problem(seed: int = 0, n: int = 80, k: int = 4) -> tuple[FloatArray, FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)), rng.normal(size=(k, 3)), rng.random(n) + 0.2


def distances(X: FloatArray, C: FloatArray) -> FloatArray:
    d: FloatArray = np.sqrt(((X[:, None] - C) ** 2).sum(axis=2))
    return d


def test_inertia_and_score_are_scikit_learns() -> None:
    X, _, w = problem()
    model = KMeans(4, n_init=1, random_state=0).fit(X, sample_weight=w)
    assert metrics.inertia(X, model.cluster_centers_, sample_weight=w) == pytest.approx(
        model.inertia_
    )
    assert metrics.score(X, model.cluster_centers_, sample_weight=w) == pytest.approx(
        model.inertia_ / w.sum()
    )


def test_errors_of_ffcm_are_unsquared_means_per_feature() -> None:
    X, C, _ = problem()
    d = distances(X, C)
    assert metrics.wsse(X, C) == pytest.approx(d.min(axis=1).sum() / X.size)
    assert metrics.osse(X, C) == pytest.approx((d.sum() - d.min(axis=1).sum()) / X.size)


def test_xie_beni_and_objective_follow_their_formulas() -> None:
    X, C, _ = problem()
    for m in (1.5, 2.0, 2.4):
        J = (memberships(X, C, m) ** m * distances(X, C) ** 2).sum()
        assert metrics.fuzzy_objective(X, C, fuzzifier=m) == pytest.approx(J)
        apart = min(((a - b) ** 2).sum() for i, a in enumerate(C) for b in C[:i])
        assert metrics.xie_beni(X, C, fuzzifier=m) == pytest.approx(J / (len(X) * apart))


def test_davies_bouldin_is_scikit_learns_at_the_means() -> None:
    X, _, _ = problem()
    model = KMeans(4, n_init=1, tol=0.0, random_state=0).fit(X)
    ours = metrics.davies_bouldin(X, model.cluster_centers_)
    assert ours == pytest.approx(davies_bouldin_score(X, model.labels_))


def test_soft_davies_bouldin_follows_the_framework() -> None:
    X, C, _ = problem()
    S = distances(X, C).mean(axis=0) * memberships(X, C, 2.0).mean(axis=0)
    worst = [
        max((S[i] + S[j]) / np.linalg.norm(C[i] - C[j]) for j in range(4) if j != i)
        for i in range(4)
    ]
    assert metrics.soft_davies_bouldin(X, C) == pytest.approx(np.mean(worst))


def test_simplified_silhouette_follows_its_formula() -> None:
    X, C, _ = problem()
    d = np.sort(distances(X, C), axis=1)
    assert metrics.simplified_silhouette(X, C) == pytest.approx(
        ((d[:, 1] - d[:, 0]) / d[:, 1]).mean()
    )
    assert metrics.simplified_silhouette(C[:1], np.vstack([C[:1], C[:1]])) == 0.0
    with pytest.raises(ConfigError, match="needs at least 2 centres, got 1"):
        metrics.simplified_silhouette(X, C[:1])


def test_degenerate_centres_give_infinity_or_zero_not_nan() -> None:
    X, C, _ = problem()
    twins = np.vstack([C, C[:1]])
    assert metrics.xie_beni(X, twins) == np.inf
    assert metrics.soft_davies_bouldin(X, twins) == np.inf
    assert metrics.davies_bouldin(X, C[:1]) == 0.0
    assert metrics.davies_bouldin(X, np.vstack([C, [[1e9] * 3]])) > 0  # an empty cluster is ignored


@pytest.mark.parametrize("name", list(INDICES))
@given(seed=st.integers(0, 1000), n_clients=st.integers(1, 9))
def test_a_federated_index_is_the_index_of_the_pooled_rows(
    name: str, seed: int, n_clients: int
) -> None:
    X, C, w = problem(seed)
    owner = np.random.default_rng(seed).integers(0, n_clients, len(X))
    data = {f"c{i}": Data.of(X[owner == i], w[owner == i]) for i in range(n_clients)}
    done = run(Plan(Evaluation(4, C, name)), LocalChannel(data, strict=True), Schema(3))
    assert done.n_rounds == 1
    pooled = metrics.evaluate(name, X, C, sample_weight=w)
    assert done.model == pytest.approx(pooled, rel=1e-9)


def test_an_index_is_computed_block_by_block() -> None:
    rng = np.random.default_rng(0)
    X, C = rng.normal(size=(200_000, 2)), rng.normal(size=(3, 2))
    assert metrics.inertia(X, C) == pytest.approx(
        distances(X, C).min(axis=1) @ distances(X, C).min(axis=1)
    )


def test_unknown_indices_are_named() -> None:
    with pytest.raises(
        ConfigError, match="index='dunn' is not one of inertia, simplified-silhouette"
    ):
        metrics.evaluate("dunn", [[1.0]], [[1.0]])


def test_agreement_is_scikit_learns() -> None:
    truth, labels = [0, 0, 1, 1, 2, 2], [1, 1, 0, 0, 0, 2]
    assert metrics.adjusted_rand_index(truth, truth) == 1.0
    assert metrics.adjusted_rand_index(truth, labels) < 1.0
    nmi = metrics.normalized_mutual_information(truth, labels)
    assert metrics.v_measure(truth, labels) == pytest.approx(nmi)


def test_silhouette_is_scikit_learns() -> None:
    X, C, _ = problem()
    labels = distances(X, C).argmin(axis=1)
    assert metrics.silhouette(X, labels) == pytest.approx(silhouette_score(X, labels))


def test_majority_accuracy_maps_every_cluster_to_its_most_frequent_label() -> None:
    assert metrics.majority_accuracy(["a", "a", "b", "b"], [7, 7, 7, 9]) == 0.75
    assert metrics.majority_accuracy([0, 1, 2], [0, 0, 0]) == pytest.approx(1 / 3)


def test_the_client_mean_is_not_the_pooled_metric() -> None:
    truth, labels, clients = [0, 0, 1, 1], [0, 0, 0, 0], ["a", "a", "b", "b"]
    ari = metrics.adjusted_rand_index
    assert metrics.client_mean(ari, truth, labels, clients) == 1.0  # one cluster each: perfect
    assert ari(truth, labels) == 0.0


def test_gaps_match_centres_one_to_one_or_to_the_nearest() -> None:
    truth = np.array([[0.0, 0.0], [10.0, 0.0]])
    centers = np.array([[10.0, 1.0], [0.0, 2.0]])
    assert metrics.knowledge_gap(centers, truth) == pytest.approx(3.0)
    assert metrics.normalized_gap(centers, truth) == pytest.approx(3.0 / np.sqrt(2))
    both_near_one = np.array([[0.0, 0.0], [0.0, 1.0]])
    assert metrics.knowledge_gap(both_near_one, truth, "nearest") == pytest.approx(1.0)
    assert metrics.knowledge_gap(both_near_one, truth) > 9
    with pytest.raises(ConfigError, match="matching must be"):
        metrics.knowledge_gap(centers, truth, "greedy")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="2 centres, but 3 true ones"):
        metrics.knowledge_gap(centers, np.zeros((3, 2)))


def test_the_tolerance_index_is_a_frobenius_norm() -> None:
    assert metrics.tolerance_index(np.array([[3.0, 0.0]]), np.array([[0.0, 4.0]])) == 5.0


@given(seed=st.integers(0, 1000), n_clients=st.integers(1, 9))
def test_several_indices_share_one_message(seed: int, n_clients: int) -> None:
    X, C, w = problem(seed)
    owner = np.random.default_rng(seed).integers(0, n_clients, len(X))
    data = {f"c{i}": Data.of(X[owner == i], w[owner == i]) for i in range(n_clients)}
    names = tuple(INDICES)
    plan = Plan(Evaluation(4, C, names, fuzzifier=1.7))
    done = run(plan, LocalChannel(data, strict=True), Schema(3))
    assert done.n_rounds == 1
    assert list(done.model.indices) == list(names)
    for name in names:
        pooled = metrics.evaluate(name, X, C, fuzzifier=1.7, sample_weight=w)
        assert done.model.indices[name] == pytest.approx(pooled, rel=1e-9), name
    sizes = np.bincount(distances(X, C).argmin(axis=1), w, 4)
    np.testing.assert_allclose(done.model.sizes, sizes, rtol=1e-12)


def test_a_tuple_of_one_index_also_gives_sizes() -> None:
    X, C, _ = problem()
    done = run(Plan(Evaluation(4, C, ("score",))), LocalChannel({"a": X}), Schema(3)).model
    assert done.indices == {"score": pytest.approx(metrics.score(X, C))}
    assert done.sizes.sum() == len(X)


def test_invalid_indices_are_refused_before_the_run() -> None:
    with pytest.raises(ConfigError, match="index='dunn' is not one of"):
        Evaluation(2, np.zeros((2, 1)), ("inertia", "dunn"))
    with pytest.raises(ConfigError, match="needs at least 2 centres, got 1"):
        Evaluation(1, np.zeros((1, 1)), "simplified-silhouette")


@given(seed=st.integers(0, 1000), n_clients=st.integers(1, 9))
def test_a_table_of_two_clusterings_gives_the_adjusted_rand_index(
    seed: int, n_clients: int
) -> None:
    X, C, w = problem(seed)
    other = C + np.random.default_rng(seed).normal(scale=0.5, size=C.shape)
    owner = np.random.default_rng(seed).integers(0, n_clients, len(X))
    data = {f"c{i}": Data.of(X[owner == i], w[owner == i]) for i in range(n_clients)}
    plan = Plan(Contingency(4, C, other))
    assert plan.algorithm.lossless
    table = run(plan, LocalChannel(data, strict=True), Schema(3)).model
    first, second = distances(X, C).argmin(axis=1), distances(X, other).argmin(axis=1)
    expected = np.zeros((4, 4))
    np.add.at(expected, (first, second), 1)
    np.testing.assert_array_equal(table, expected)
    agreement = metrics.adjusted_rand_index(first, second)
    assert metrics.adjusted_rand_of_table(table) == pytest.approx(agreement, abs=1e-12)


def test_clusterings_of_one_cluster_or_no_rows_agree() -> None:
    assert metrics.adjusted_rand_of_table([[7.0]]) == 1.0
    assert metrics.adjusted_rand_of_table([[7.0, 0.0], [0.0, 0.0]]) == 1.0
    assert metrics.adjusted_rand_of_table([[0.0]]) == 1.0


def test_scores_and_tables_of_a_single_record_are_withheld_under_rules() -> None:
    X, C, _ = problem(n=40)
    data = {"single": Data.of(X[:1]), "many": Data.of(X[1:])}
    for scoring in (Contingency(4, C, C), Evaluation(4, C, ("inertia", "xie-beni"))):
        rule = transforms_for(scoring, 3, "paper")
        for transforms in (rule, (MinCount(2),)):
            model = run(Plan(scoring, transforms), LocalChannel(data), Schema(3)).model
            counted = model.sum() if isinstance(model, np.ndarray) else model.sizes.sum()
            assert counted == 39
