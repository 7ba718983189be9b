"""What a server can do that keeps what it sees of split columns: rebuild the records.

This is no defect to be repaired: summed distances *are* geometry. It stands here so that nobody
promises otherwise. Columns of the distance matrix differ by a linear function of the record, so
an SVD of the matrices of two rounds gives the records up to a linear map; and because the server
itself made the weights that made the centres, the squared distances are linear in the unknown
metric of that map. What is left open is a rotation, a reflection and a shift.
"""

from typing import Any

import numpy as np
import pytest
from scipy.linalg import orthogonal_procrustes
from scipy.optimize import least_squares
from sklearn.datasets import load_diabetes, load_iris

from fedclust.algorithms import make, make_seeding
from fedclust.channels import LocalChannel
from fedclust.core import Data, Plan, Request, Schema, rounds, run
from fedclust.tiers.columns import TRUST
from fedclust.typing import FloatArray


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
    context, _ = orthogonal_procrustes(guess, truth)
    error = np.abs(guess @ context - truth).max(axis=1)
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


def test_seeding_by_distances_gives_all_records_before_the_first_round() -> None:
    """k-means++ asks for distances to records: enough of those, and the others follow."""
    X = load_iris().data
    X = X + np.random.default_rng(1).normal(0, 1e-6, X.shape)  # no two equal
    kept: list[tuple[FloatArray, FloatArray]] = []

    class Keeping(LocalChannel):
        def ask(self, plan: Plan, request: Request) -> Any:
            replies = list(super().ask(plan, request))
            total = sum(np.asarray(m.arrays()["d2"]) for _, m in replies)
            kept.append((np.asarray(request.down.arrays()["drawn"]), np.asarray(total)))
            return iter(replies)

    owners = {"a": X[:, :2], "b": X[:, 2:]}
    seeding = make_seeding("vertical-k-means++", 4)
    run(Plan(seeding), Keeping(owners), Schema(4, n_records=len(X)))
    drawn, first = np.unique(np.concatenate([d for d, _ in kept]), return_index=True)
    D = np.hstack([total for _, total in kept])[:, first]
    assert len(drawn) > 4
    assert recovered(_from_landmarks(D, drawn), X) == 1.0


def _from_landmarks(D: FloatArray, landmarks: Any) -> FloatArray:
    """Classical scaling of the landmarks, then every record from its distances to them."""
    among = D[landmarks]
    middle = np.eye(len(among)) - 1.0 / len(among)
    values, vectors = np.linalg.eigh(-0.5 * middle @ among @ middle)
    L = vectors[:, -4:] * np.sqrt(values[-4:])
    right = -0.5 * (D - among.mean(axis=1))
    return np.asarray(
        np.linalg.lstsq(L, (right - right.mean(axis=1, keepdims=True)).T, rcond=None)[0].T
    )


def test_memberships_show_one_owner_the_others_column() -> None:
    """Ratios of whole distances, less what it knows itself: the rest is the other's column."""
    rng = np.random.default_rng(0)
    n, k, m = 120, 6, 2.0
    mine = rng.normal(size=(n, 2))
    theirs = rng.normal(size=n) + 2 * (mine[:, 0] > 0)
    chosen: Any = make("vertical-llf-fcm", k, init=rng.choice(n, k, replace=False), tol=0.0)
    schema, broadcasts = Schema(3, n_records=n), []
    state = chosen.start(schema, rng)
    owners = LocalChannel({"me": mine, "other": theirs[:, None]})
    for done in rounds(Plan(chosen), owners, schema):
        broadcasts.append(chosen.broadcast(state).weights)
        state = done.state
        if done.number == 2:
            break
    guess = _others_column(mine, broadcasts[1], broadcasts[2], m)
    guess, truth = guess - guess.mean(), theirs - theirs.mean()
    error = min(np.abs(guess - truth).max(), np.abs(guess + truth).max())
    assert error < 1e-3 * np.ptp(theirs)


def _others_column(mine: FloatArray, made: FloatArray, after: FloatArray, m: float) -> FloatArray:
    """Solve for the other's centres (up to a shift); each record's value is linear in the rest."""
    n, k = made.shape
    shares = made / made.sum(axis=0)
    own = ((mine[:, None] - shares.T @ mine) ** 2).sum(axis=2)
    ratio = after ** (-1.0 / m)
    ratio /= ratio.mean(axis=1, keepdims=True)

    def values(v: FloatArray) -> tuple[FloatArray, FloatArray]:
        M = np.empty((n, k, 3))
        M[:, :, 0], M[:, :, 1], M[:, :, 2] = ratio, -1.0, 2 * v
        b = own + v**2
        solved = np.linalg.solve(M.transpose(0, 2, 1) @ M, M.transpose(0, 2, 1) @ b[:, :, None])
        return solved[:, 2, 0], (M @ solved)[:, :, 0] - b

    def misfit(v: FloatArray) -> FloatArray:
        v = np.append(0.0, v)
        y, rest = values(v)
        centre = shares.T @ y - v
        return np.append(rest.ravel(), 5 * (centre - centre.mean()))

    starts = [np.random.default_rng(s).normal(size=k - 1) for s in range(8)]
    best = min((least_squares(misfit, s, max_nfev=60) for s in starts), key=lambda q: q.cost)
    return values(np.append(0.0, best.x))[0]


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
