"""Records from the published files alone: none now, several with means that leave rows out."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from fedclust import load
from fedclust.kernels import nearest
from fedclust.typing import FloatArray, IntArray

from .published import (
    LOADERS,
    Reader,
    find_records,
    outcome_of,
    run_study_of,
    sums_that_withhold,
    table,
)

SEEDS = range(3)  # times four sets: twelve studies


def labels_of(run: Path, X: FloatArray) -> IntArray:
    """The cluster of each row, which no file of the run has."""
    model = load(run)
    return model.nearest(model.rows({f"x{f}": x for f, x in enumerate(X.T)})[0])


@pytest.mark.parametrize("tier", ["none", "secure"])
def test_twelve_studies_publish_no_record(tmp_path: Path, tier: str) -> None:
    """The same attack finds records if means leave out clients with few rows of a cluster."""
    if tier == "secure":
        pytest.importorskip("cryptography")
    before = 0
    for name in LOADERS:
        for seed in SEEDS:
            X, owner, k = table(name, seed)
            outcome = outcome_of(tmp_path / f"{name} {seed}", X, owner, k, tier)
            reader, ready = Reader(outcome.folder), outcome.model.preparation
            assert reader.profile["coverage"] == "all"
            assert reader.sizes.sum() == len(X)
            overall = reader.overall, reader.offset
            assert find_records(X, reader.centers, reader.sizes, reader.means, *overall) == 0
            exact = np.ascontiguousarray(outcome.clustering.centers)
            labels = nearest(ready.scale_rows(X)[0], exact)[0]
            sizes, means = sums_that_withhold(X, owner, labels, k, minimum=5)
            before += find_records(X, ready.in_units(exact), sizes, means)
    assert before >= 3


@pytest.mark.parametrize(
    ("algorithm", "more"),
    [
        ("lossless", 'max_rounds = 2\ninit = "careful"'),
        ("fkm", ""),
        ("one-shot", ""),
        ("k-fed", ""),
    ],
)
def test_centres_of_other_rows_than_the_means_publish_none_either(
    tmp_path: Path, algorithm: str, more: str
) -> None:
    """A run that stopped early, and algorithms that leave single rows out of their centres."""
    for name in LOADERS:
        X, owner, k = table(name, 0)
        folder = tmp_path / name
        run = run_study_of(folder, X, owner, k, "none", algorithm=algorithm, clustering=more)
        reader = Reader(run)
        overall = reader.overall, reader.offset
        assert find_records(X, reader.centers, reader.sizes, reader.means, *overall) == 0


@pytest.mark.parametrize(
    ("algorithm", "more"), [("lossless", 'max_rounds = 2\ninit = "careful"'), ("fkm", "")]
)
def test_such_centres_would_publish_records_beside_exact_means(
    tmp_path: Path, algorithm: str, more: str
) -> None:
    """One row changed its cluster in the last round, or FKM left it out: it is what differs."""
    found = 0
    for name in LOADERS:
        for seed in SEEDS:
            X, owner, k = table(name, seed)
            folder = tmp_path / f"{name} {seed}"
            run = run_study_of(folder, X, owner, k, "none", algorithm=algorithm, clustering=more)
            reader, labels = Reader(run), labels_of(run, X)
            means = np.array([X[labels == c].mean(axis=0) for c in range(k)])
            found += find_records(X, reader.centers, reader.sizes, means, X.mean(axis=0))
    assert found >= 3


def test_a_row_that_is_left_out_is_not_the_rest_of_all_rows(tmp_path: Path) -> None:
    """The scale is that of the rows used; otherwise one row with a missing value would show."""
    X, owner, k = table("iris", 0)
    missing = {(17, 0): ""}
    reader = Reader(run_study_of(tmp_path, X, owner, k, "none", missing=missing))
    used = np.delete(X, 17, axis=0)
    np.testing.assert_allclose(reader.offset, used.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(reader.overall, used.mean(axis=0), rtol=1e-9)


def count_range(profile: dict[str, Any], client: str, cluster: int) -> tuple[float, float]:
    """The range of a withheld count, by all linear equations in the file."""
    names = [one["name"] for one in profile["clients"]]
    counts = np.array(
        [[c["by_client"][n] for c in profile["clusters"]] for n in names], dtype=float
    )
    rows = np.array([one["used"] for one in profile["clients"]])
    columns = np.array([one["size"] for one in profile["clusters"]])
    M, C = counts.shape
    A = np.vstack([np.kron(np.eye(M), np.ones(C)), np.kron(np.ones(M), np.eye(C))])
    bounds = [(0, None) if np.isnan(n) else (n, n) for n in counts.ravel()]
    objective = np.zeros(M * C)
    objective[names.index(client) * C + cluster] = 1
    b = np.concatenate([rows, columns])
    low, high = (
        sign * linprog(sign * objective, A_eq=A, b_eq=b, bounds=bounds).fun for sign in (1, -1)
    )
    return low, high


@pytest.mark.parametrize("name", LOADERS)
def test_no_withheld_count_can_be_computed(tmp_path: Path, name: str) -> None:
    X, owner, k = table(name, 1)
    reader = Reader(run_study_of(tmp_path, X, owner, k, "none"))
    profile, n_withheld = reader.profile, 0
    used = {client["name"]: client["used"] for client in profile["clients"]}
    for c, cluster in enumerate(profile["clusters"]):
        for client, n in cluster["by_client"].items():
            if n is None:
                n_withheld += 1
                low, high = count_range(profile, client, c)
                most = min(used[client], cluster["size"])
                least = max(0, used[client] + cluster["size"] - len(X))
                assert high - low >= min(profile["minimum"], most - least) - 1e-6
    assert n_withheld == profile["withheld"]["cells"] > 0


@pytest.mark.parametrize("tier", ["paper", "guarded"])
@pytest.mark.parametrize("fuzzy", [False, True])
def test_what_clients_withhold_is_not_the_rest_of_all_rows(
    tmp_path: Path, tier: str, fuzzy: bool
) -> None:
    for name in LOADERS:
        X, owner, k = table(name, 0)
        more = f"fuzzy = {str(fuzzy).lower()}"
        reader = Reader(run_study_of(tmp_path / name, X, owner, k, tier, clustering=more))
        assert reader.profile["coverage"] == "released"
        sizes = np.nan_to_num(reader.sizes)
        overall = reader.overall, reader.offset
        assert find_records(X, reader.centers, sizes, reader.means, *overall) == 0
        rest = len(X) * reader.offset - sizes @ reader.means
        assert find_records(X, rest[None], sizes[:1], rest[None]) == 0
