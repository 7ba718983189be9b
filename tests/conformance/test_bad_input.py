"""The data nobody hopes for: no NaN, no crash, or one clear error."""

from typing import Any

import numpy as np
import pytest

from fedclust.algorithms import ALGORITHMS, make
from fedclust.channels import LocalChannel
from fedclust.clustering.rows import cluster
from fedclust.core import Data, FedclustError, Plan, Schema, TooFewClients, run
from fedclust.tiers import transforms_for
from fedclust.typing import FloatArray

KEYS = list(ALGORITHMS)


def blobs(n: int = 60) -> FloatArray:
    rng = np.random.default_rng(0)
    return rng.normal(rng.integers(0, 3, n)[:, None] * 6.0, 1.0, (n, 2))


def by_turns(X: FloatArray, n: int = 3) -> list[FloatArray]:
    return [X[i::n] for i in range(n)]


EMPTY = np.empty((0, 2))
TABLES: dict[str, list[FloatArray]] = {
    "one constant feature": by_turns(np.column_stack([blobs()[:, 0], np.full(60, 7.0)])),
    "all features constant": by_turns(np.full((60, 2), 3.0)),
    "every row twice": by_turns(np.repeat(blobs(30), 2, axis=0)),
    "two distinct rows": by_turns(np.tile([[0.0, 0.0], [1.0, 1.0]], (30, 1))),
    "an empty client": [*by_turns(blobs()), EMPTY],
    "a client with one row": [*by_turns(blobs()), blobs(1)],
    "every client one row": [blobs()[i : i + 1] for i in range(20)],
    "one client": [blobs()],
    "huge values": by_turns(blobs() * 1e120),
    "tiny values": by_turns(blobs() * 1e-120),
    "far from the origin": by_turns(blobs() + 1e9),
    "one wild row": [*by_turns(blobs()), np.array([[1e6, -1e6], [1e6, -1e6]])],
    "negative zero": by_turns(blobs() * np.array([1.0, -0.0])),
    "integers": by_turns(np.round(blobs())),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", list(TABLES))
@pytest.mark.parametrize("key", KEYS)
def test_finite_centres_or_one_clear_error(key: str, name: str) -> None:
    data = {f"c{i:02d}": Data.of(table) for i, table in enumerate(TABLES[name])}
    settings: dict[str, Any] = {"max_rounds": 30} if hasattr(make(key, 4), "max_rounds") else {}
    try:
        found = cluster(make(key, 4, **settings), LocalChannel(data), Schema(2))
    except FedclustError as problem:
        assert name in {"every client one row"}, problem
        assert "\n" not in str(problem)
        return
    assert found.centers.shape == (4, 2)
    assert np.isfinite(found.centers).all()
    assert np.isfinite(found.inertia)
    if name not in {"far from the origin", "one wild row"}:  # there rounding is all there is
        X = np.vstack(TABLES[name])
        assert (found.centers >= X.min(axis=0) - 1e-6 * np.abs(X).max()).all()
        assert (found.centers <= X.max(axis=0) + 1e-6 * np.abs(X).max()).all()


@pytest.mark.parametrize("key", [k for k in KEYS if hasattr(make(k, 3), "init")])
def test_a_centre_no_client_uses_stays_finite(key: str) -> None:
    start = np.array([[0.0, 0.0], [6.0, 6.0], [1e4, 1e4]])
    data = {f"c{i}": Data.of(table) for i, table in enumerate(by_turns(blobs()))}
    chosen = make(key, 3, init=start, max_rounds=20)
    plan = Plan(chosen, transforms_for(chosen, 2, "none"))
    centers = run(plan, LocalChannel(data), Schema(2)).model
    assert np.isfinite(centers).all()
    if key in {"llf-cm", "dwf", "ewf"}:
        assert centers[2].tolist() == [1e4, 1e4]  # it keeps its place; it is not sent to the origin


@pytest.mark.parametrize("key", [k for k in KEYS if hasattr(make(k, 3), "init")])
def test_rows_on_the_start_centres_are_no_trouble(key: str) -> None:
    X = blobs()
    data = {f"c{i}": Data.of(table) for i, table in enumerate(by_turns(X))}
    chosen = make(key, 4, init=X[[0, 1, 1, 2]], max_rounds=20)
    plan = Plan(chosen, transforms_for(chosen, 2, "none"))
    assert np.isfinite(run(plan, LocalChannel(data), Schema(2)).model).all()


@pytest.mark.parametrize("key", KEYS)
def test_more_clusters_than_rows_gives_no_nan(key: str) -> None:
    data = {"a": Data.of(blobs(5)), "b": Data.of(blobs(4))}
    settings: dict[str, Any] = {"max_rounds": 10} if hasattr(make(key, 12), "max_rounds") else {}
    try:
        found = cluster(make(key, 12, **settings), LocalChannel(data), Schema(2))
    except TooFewClients as problem:
        assert "replies are empty" in str(problem)
    else:
        assert np.isfinite(found.centers).all()
