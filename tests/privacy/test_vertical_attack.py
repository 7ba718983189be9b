"""What a server can do that keeps what it sees of split columns: rebuild the records.

This is no defect to be mended: summed distances *are* geometry. It stands here so that nobody
promises otherwise. Columns of the distance matrix differ by a linear function of the record, so
an SVD of the matrices of two rounds gives the records up to a linear map; and because the server
itself made the weights that made the centres, the squared distances are linear in the unknown
metric of that map. What is left open is a rotation, a reflection and a shift.
"""

from typing import Any

import numpy as np
import pytest
from scipy.linalg import orthogonal_procrustes
from sklearn.datasets import load_diabetes, load_iris

from fedclust.algorithms import make
from fedclust.channels import LocalChannel
from fedclust.core import Data, Plan, Schema, rounds
from fedclust.typing import FloatArray
from fedclust.vertical import TRUST


def what_the_server_keeps(
    chosen: Any, X: FloatArray, owners: int, n_rounds: int
) -> list[tuple[FloatArray, FloatArray]]:
    """Summed squared distances of each round, and the weights that had made its centres."""
    parts = {f"o{i}": Data.of(p) for i, p in enumerate(np.array_split(X, owners, axis=1))}
    schema, plan = Schema(X.shape[1], n_records=len(X)), Plan(chosen)
    state, log = chosen.start(schema, plan.rng("server", -1)), []
    for done in rounds(plan, LocalChannel(parts), schema):
        log.append((done.state.d2, chosen.weights(state, np.arange(chosen.n_clusters))))
        state = done.state
        if done.number + 1 == n_rounds:
            break
    return log


def rebuilt(log: list[tuple[FloatArray, FloatArray]], F: int) -> FloatArray:
    """Records up to rotation, reflection and shift, from the server's log alone."""
    differences = np.hstack([D[:, 1:] - D[:, :1] for D, _ in log])
    U, s, _ = np.linalg.svd(differences - differences.mean(axis=0), full_matrices=False)
    Z = U[:, :F] * s[:F] / s[0]  # the records, up to a linear map
    equations, right = [], []
    upper = np.triu_indices(F)
    for D, W in log:
        means = (W / W.sum(axis=0)).T @ Z
        for c in range(D.shape[1]):
            gap = Z - means[c]
            products = gap[:, upper[0]] * gap[:, upper[1]]
            equations.append(products * np.where(upper[0] == upper[1], 1.0, 2.0))
            right.append(D[:, c])
    solution = np.linalg.lstsq(np.vstack(equations), np.concatenate(right), rcond=None)[0]
    metric = np.zeros((F, F))
    metric[upper] = solution
    metric = metric + metric.T - np.diag(np.diag(metric))
    values, vectors = np.linalg.eigh(metric)
    return np.asarray(Z @ (vectors * np.sqrt(np.maximum(values, 0.0))))


def recovered(found: FloatArray, X: FloatArray) -> float:
    """Share of records within a thousandth of the range, under the best isometry."""
    truth, guess = X - X.mean(axis=0), found - found.mean(axis=0)
    turn, _ = orthogonal_procrustes(guess, truth)
    error = np.abs(guess @ turn - truth).max(axis=1)
    return float((error < 1e-3 * np.ptp(X, axis=0).max()).mean())


@pytest.mark.parametrize("key", ["vertical-llf-cm", "vertical-llf-fcm"])
@pytest.mark.parametrize(
    ("load", "k", "owners"), [(load_iris, 3, 2), (load_iris, 4, 4), (load_diabetes, 8, 5)]
)
def test_summed_distances_of_two_rounds_give_all_records(
    key: str, load: Any, k: int, owners: int
) -> None:
    X = load().data
    X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    records = np.random.default_rng(0).choice(len(X), k, replace=False)
    log = what_the_server_keeps(make(key, k, init=records), X, owners, n_rounds=2)
    assert recovered(rebuilt(log, X.shape[1]), X) == 1.0


def test_nothing_of_this_kind_comes_of_noise() -> None:
    """The attack measures what it claims: other distances do not give these records."""
    X = load_iris().data
    records = np.array([0, 60, 120])
    log = what_the_server_keeps(make("vertical-llf-cm", 3, init=records), X, 2, n_rounds=2)
    rng = np.random.default_rng(0)
    other = [(rng.permutation(D), W) for D, W in log]
    assert recovered(rebuilt(other, 4), X) < 0.2


def test_the_docs_say_so() -> None:
    from pathlib import Path

    page = (Path(__file__).parents[2] / "docs" / "vertical.md").read_text()
    assert "semi-trusted server" in page
    assert "semi-trusted server" in TRUST
