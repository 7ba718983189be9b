"""Identities between the papers' algorithms: what must hold to the last digits."""

from typing import Any

import numpy as np
import pytest

from fedclust.algorithms import make
from fedclust.algorithms.centers import Candidates, CenterState
from fedclust.channels import LocalChannel
from fedclust.core import AnyAlgorithm, Data, Plan, Schema, run, stream
from fedclust.kernels import k_means, lloyd
from fedclust.tiers import transforms_for
from fedclust.typing import FloatArray

SCHEMA = Schema(2)


def rows(n: int = 300, seed: int = 0) -> FloatArray:
    rng = np.random.default_rng(seed)
    means = np.array([[-4.0, 0.0], [4.0, 0.0], [0.0, 5.0]])
    return rng.normal(means[rng.integers(0, 3, n)], 1.5)


def parts(X: FloatArray, n_clients: int = 5, seed: int = 1) -> dict[str, Data]:
    owner = np.random.default_rng(seed).integers(0, n_clients, len(X))
    return {f"c{c}": Data.of(X[owner == c]) for c in range(n_clients)}


def centers(algorithm: AnyAlgorithm, data: dict[str, Data], privacy: str = "none") -> FloatArray:
    plan = Plan(algorithm, transforms_for(algorithm, 2, privacy))
    found: FloatArray = run(plan, LocalChannel(data), SCHEMA).model
    return found


START = rows(4, seed=9)


def test_i1_llf_fcm_is_pooled_fcm_for_any_partition() -> None:
    X, chosen = rows(), make("llf-fcm", 4, init=START, max_rounds=200)
    pooled = centers(chosen, {"all": Data.of(X)})
    for n_clients in (2, 7, 50):
        np.testing.assert_allclose(centers(chosen, parts(X, n_clients)), pooled, atol=1e-12)


def test_i2_llf_cm_is_lloyd_unless_singletons_are_withheld() -> None:
    X, chosen = rows(), make("llf-cm", 4, init=START)
    pooled = lloyd(X, START, steps=300).centers
    np.testing.assert_allclose(centers(chosen, parts(X, 5)), pooled, atol=1e-12)
    np.testing.assert_allclose(centers(chosen, parts(X, 60)), pooled, atol=1e-12)
    suppressed = centers(chosen, parts(X, 60), "paper")  # five rows each: singletons abound
    assert np.abs(suppressed - pooled).max() > 1e-3
    whole = {"a": Data.of(X[:150]), "b": Data.of(X[150:])}  # no singleton at any round
    np.testing.assert_allclose(centers(chosen, whole, "paper"), pooled, atol=1e-12)


def test_i4_avg1_with_one_local_step_is_llf_fcm() -> None:
    X = rows()
    for fuzzifier in (1.3, 2.0, 2.6):
        shared: dict[str, Any] = {"init": START, "max_rounds": 200, "tol": 0.0}
        shared["fuzzifier"] = fuzzifier
        ours = centers(make("ffcm-avg1", 4, **shared), parts(X))
        lossless = centers(make("llf-fcm", 4, **shared), parts(X))
        np.testing.assert_allclose(ours, lossless, atol=1e-12)


def test_i4_the_published_avg1_is_not() -> None:
    X = rows()
    published = make("ffcm-avg1", 4, preset="reference", init=START, max_rounds=50)
    lossless = make("llf-fcm", 4, init=START)
    uneven = {"a": Data.of(X[X[:, 0] > 0]), "b": Data.of(X[X[:, 0] <= 0])}
    assert np.abs(centers(published, uneven) - centers(lossless, uneven)).max() > 0.1


def test_i5_dwf_with_one_local_step_is_lloyd() -> None:
    X = rows()
    chosen = make("dwf", 4, init=START, local_steps=1, min_count=1, max_rounds=25, tol=0.0)
    expected = lloyd(X, START, steps=25).centers
    for n_clients in (1, 5, 40):
        np.testing.assert_allclose(centers(chosen, parts(X, n_clients)), expected, atol=1e-12)


def test_i6_gradient_descent_scaled_by_curvature_is_llf_fcm() -> None:
    X = rows()
    chosen = make("gdf-fcm", 4, init=START, local_steps=0, max_rounds=50, tol=0.0)
    lossless = make("llf-fcm", 4, init=START, max_rounds=50, tol=0.0)
    np.testing.assert_allclose(centers(chosen, parts(X)), centers(lossless, parts(X)), atol=1e-12)


def test_i6_the_published_step_is_its_gradient_times_records() -> None:
    """V - alpha * sum N_m g_m / sum N_m, written out once more.

    Of ten local iterations, the last ends with the memberships.
    """
    data = parts(rows(), 3)
    rate = 0.002
    chosen = make("gdf-fcm", 4, preset="reference", init=START, max_rounds=1, learning_rate=rate)
    from fedclust.kernels import fuzzy_c_means, memberships

    total, count = np.zeros((4, 2)), 0
    for client in data.values():
        local, _ = fuzzy_c_means(client.X, START, 2.0, steps=9)
        w = memberships(client.X, local, 2.0) ** 2
        gradient = 2 * (w.sum(axis=0)[:, None] * START - w.T @ client.X)
        total += len(client) * gradient
        count += len(client)
    np.testing.assert_allclose(centers(chosen, data), START - rate * total / count, atol=1e-12)


def test_i7_fkm_and_k_fed_cluster_the_same_centres_the_same_way() -> None:
    """With unit weights, and from one start, both servers run Lloyd over the local centres."""
    local = rows(40, seed=3)
    merged = Candidates(local, np.ones(40))
    fkm = make("fkm", 4, init=START, restarts=0)
    state = fkm.server_step(CenterState(START, 0, np.inf), merged, stream(0, "server", 0))
    k_fed = lloyd(local, START, steps=300).centers
    order = np.lexsort(state.centers.T), np.lexsort(k_fed.T)  # FKM keeps identities, k-FED not
    np.testing.assert_allclose(state.centers[order[0]], k_fed[order[1]], atol=1e-12)
    assert np.isfinite(k_means(local, 4, np.random.default_rng(0))).all()


def test_i8_features_conserve_mass() -> None:
    """The sum of masses a client sends is the number of its rows."""
    data = parts(rows(), 3)
    ffcf = make("ffcf", 4)
    plan = Plan(ffcf, seed=1)
    down = ffcf.broadcast(ffcf.start(SCHEMA, plan.rng("server", -1)))
    for name, client in data.items():
        sent = ffcf.client_step(down, client, plan.rng(name, 0))
        assert sent.mass.sum() == pytest.approx(len(client))


def test_gradient_descent_at_the_published_rate_diverges_where_ours_does_not() -> None:
    """Summed gradients make the step grow with the data."""
    X = np.vstack([rows(3000), rows(3000, seed=2)])
    data = {"a": Data.of(X[:3000]), "b": Data.of(X[3000:])}
    with np.errstate(over="ignore", invalid="ignore"):
        reference = make("gdf-fcm", 3, preset="reference", init=START[:3], learning_rate=0.05)
        published = centers(reference, data)
    assert not np.isfinite(published).all() or np.abs(published).max() > 1e3
    assert np.abs(centers(make("gdf-fcm", 3, init=START[:3]), data)).max() < 10
