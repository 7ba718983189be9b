"""The local steps against their definitions, on both backends."""

import os
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedclust import kernels
from fedclust.kernels import (
    _plain,
    divide_or_keep,
    fuzzy_sums,
    hard_sums,
    memberships,
    nearest,
    sq_distances,
    steps,
    threads,
)
from fedclust.kernels.threads import blocks, n_threads
from fedclust.typing import FloatArray

SHAPES = [(1, 1, 1), (7, 2, 3), (300, 5, 16), (300, 17, 16), (1000, 40, 20), (70_000, 3, 4)]


def naive_distances(X: FloatArray, C: FloatArray) -> FloatArray:
    d: FloatArray = ((X[:, None, :].astype(float) - C[None].astype(float)) ** 2).sum(axis=2)
    return d


def naive_memberships(X: FloatArray, C: FloatArray, m: float) -> FloatArray:
    D = naive_distances(X, C)
    u: FloatArray = 1 / ((D[:, :, None] / D[:, None, :]) ** (1 / (m - 1))).sum(axis=2)
    return u


def data(n: int, F: int, k: int, seed: int = 0) -> tuple[FloatArray, FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, F)), rng.normal(size=(k, F)), rng.random(n) + 0.1


@pytest.mark.parametrize(("n", "F", "k"), SHAPES)
@pytest.mark.parametrize("far", [0.0, 1e6])
def test_distances_from_fixed_rows_are_the_distances(n: int, F: int, k: int, far: float) -> None:
    X, C, _ = data(n, F, k)
    X, C = X + far, C + far
    found = steps.DistancesFrom(X)
    np.testing.assert_allclose(found.to(C), naive_distances(X, C), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(found.to(X[:1])[0], 0.0)
    X[0, 0] = np.nan
    np.testing.assert_array_equal(steps.DistancesFrom(X).to(C), sq_distances(X, C))


@pytest.mark.parametrize(("n", "F", "k"), SHAPES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_hard_sums_are_counts_and_sums_of_the_nearest(
    backend: str, n: int, F: int, k: int, dtype: type
) -> None:
    X, C, w = data(n, F, k)
    X, C = X.astype(dtype), C.astype(dtype).astype(float)
    labels = naive_distances(X, C).argmin(axis=1)
    for weight in (np.empty(0), w):
        sums = hard_sums(X, C, weight)
        share = weight if len(weight) else np.ones(n)
        for c in range(k):
            mine = labels == c
            assert sums.records[c] == mine.sum()
            assert sums.weight[c] == pytest.approx(share[mine].sum())
            expected = share[mine] @ X[mine].astype(float)
            np.testing.assert_allclose(sums.total[c], expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("n", "F", "k"), SHAPES)
def test_nearest_returns_label_and_distance(backend: str, n: int, F: int, k: int) -> None:
    X, C, _ = data(n, F, k)
    labels, d2 = nearest(X, C)
    D = naive_distances(X, C)
    np.testing.assert_array_equal(labels, D.argmin(axis=1))
    np.testing.assert_allclose(d2, D.min(axis=1), rtol=1e-12)


@pytest.mark.parametrize(("n", "F", "k"), SHAPES[1:])
@pytest.mark.parametrize("fuzzifier", [1.5, 2.0, 2.7])
def test_fuzzy_sums_are_sums_over_memberships(
    backend: str, n: int, F: int, k: int, fuzzifier: float
) -> None:
    X, C, w = data(min(n, 3000), F, k)
    U = naive_memberships(X, C, fuzzifier)
    np.testing.assert_allclose(memberships(X, C, fuzzifier), U, rtol=1e-8, atol=1e-12)
    for weight in (np.empty(0), w[: len(X)]):
        share = weight if len(weight) else np.ones(len(X))
        sums = fuzzy_sums(X, C, fuzzifier, weight)
        W = share[:, None] * U**fuzzifier
        np.testing.assert_allclose(sums.weight, W.sum(axis=0), rtol=1e-8)
        np.testing.assert_allclose(sums.total, W.T @ X, rtol=1e-8, atol=1e-8)


def test_float32_rows_are_summed_in_float64(backend: str) -> None:
    X = np.full((200_000, 1), 0.1, dtype=np.float32)
    total = hard_sums(X, np.zeros((1, 1))).total[0, 0]
    assert total == pytest.approx(200_000 * float(np.float32(0.1)), rel=1e-12)


def test_ties_go_to_the_lowest_index(backend: str) -> None:
    for F in (2, 20):
        X, C = np.zeros((5, F)), np.zeros((3, F))
        C[0, 0], C[1, 0], C[2, 0] = 1.0, -1.0, 1.0
        assert nearest(X, C)[0].tolist() == [0] * 5
        assert hard_sums(X, C).records.tolist() == [5, 0, 0]


@pytest.mark.parametrize("F", [3, 30])
def test_a_row_on_a_centre_belongs_only_to_it(backend: str, F: int) -> None:
    C = np.random.default_rng(0).normal(size=(4, F))
    np.testing.assert_array_equal(memberships(C, C, 2.0), np.eye(4))
    doubled = np.vstack([C, C[:1]])
    np.testing.assert_array_equal(memberships(C[:1], doubled, 2.0), [[0.5, 0, 0, 0, 0.5]])


@pytest.mark.parametrize("fuzzifier", [1.0001, 1.01, 1.1, 20.0, 60.0])
@pytest.mark.parametrize("F", [2, 30])
def test_any_fuzzifier_gives_finite_memberships(backend: str, fuzzifier: float, F: int) -> None:
    X, C, _ = data(200, F, 5)
    U = memberships(X, C, fuzzifier)
    assert np.isfinite(U).all()
    np.testing.assert_allclose(U.sum(axis=1), 1.0, rtol=1e-12)
    if fuzzifier < 1.001:  # the limit is k-means
        np.testing.assert_array_equal(U.argmax(axis=1), nearest(X, C)[0])
    sums = fuzzy_sums(X, C, fuzzifier)
    assert np.isfinite(sums.total).all()
    assert (sums.weight > 0).all()


@pytest.mark.parametrize("F", [4, 40])
@pytest.mark.parametrize("offset", [1e3, 1e6, 1e8])
def test_far_from_the_origin_nothing_changes(backend: str, F: int, offset: float) -> None:
    X, C, _ = data(500, F, 6)
    far, far_C = X + offset, C + offset
    exact = naive_distances(far, far_C)
    np.testing.assert_array_equal(nearest(far, far_C)[0], exact.argmin(axis=1))
    np.testing.assert_allclose(sq_distances(far, far_C), exact, rtol=1e-6)
    np.testing.assert_allclose(
        memberships(far, far_C, 2.0), _plain.memberships_of(exact, 2.0), rtol=1e-6
    )


@pytest.mark.parametrize("F", [4, 40])
def test_two_tight_clusters_far_apart_keep_their_structure(backend: str, F: int) -> None:
    """No common shift helps here: the differences that matter are tiny beside the distances."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(100, F)), rng.normal(size=(100, F)) + 1e8])
    C = X[[0, 1, 100, 101]]
    np.testing.assert_array_equal(nearest(X, C)[0], naive_distances(X, C).argmin(axis=1))


def test_no_rows_add_up_to_zero(backend: str) -> None:
    for F in (2, 20):
        empty, C = np.empty((0, F)), np.ones((3, F))
        assert not hard_sums(empty, C).total.any()
        assert not fuzzy_sums(empty, C, 2.0).total.any()
        assert memberships(empty, C, 2.0).shape == (0, 3)
        assert nearest(empty, C)[0].shape == (0,)


def test_inputs_are_not_modified(backend: str) -> None:
    for F in (3, 30):
        X, C, w = data(100, F, 4)
        before = X.copy(), C.copy(), w.copy()
        hard_sums(X, C, w)
        fuzzy_sums(X, C, 2.0, w)
        nearest(X, C)
        memberships(X, C, 2.0)
        for now, then in zip((X, C, w), before, strict=True):
            np.testing.assert_array_equal(now, then)


# Loops are compiled for each number of columns up to 16.
COLUMNS = st.sampled_from([1, 2, 3, 4, 8, 15, 16, 17, 24])


@given(st.integers(1, 60), COLUMNS, st.integers(1, 9), st.integers(0, 9999))
def test_both_backends_agree(n: int, F: int, k: int, seed: int) -> None:
    pytest.importorskip("numba")
    X, C, w = data(n, F, k, seed)
    X[: n // 3] = C[seed % k]  # rows on a centre, and equal rows
    fast, plain = hard_sums(X, C, w), _plain.hard_block(X, w, C)
    for a, b in zip(fast, plain, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)
    for a, b in zip(fuzzy_sums(X, C, 1.7, w), _plain.fuzzy_block(X, w, C, 1.7), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9)


def test_a_label_does_not_depend_on_the_rows_around_it(backend: str) -> None:
    for F in (2, 16, 17, 100):
        X, C, _ = data(1000, F, 7)
        labels = nearest(X, C)[0]
        one_by_one = [int(nearest(X[i : i + 1], C)[0][0]) for i in range(0, 1000, 37)]
        assert labels[::37].tolist() == one_by_one


def test_the_number_of_threads_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEDCLUST_NUM_THREADS", "3")
    assert n_threads() == 3
    for invalid in ("", "0", "many"):
        monkeypatch.setenv("FEDCLUST_NUM_THREADS", invalid)
        assert n_threads() >= 1
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)  # not on every system
    assert n_threads() == os.cpu_count()


def test_a_forgotten_pool_is_created_again() -> None:
    threads._forget_pool()
    assert threads._pool is None
    assert threads.map_blocks(lambda block: block.start, 300_000, 2)[:2] == [0, 37500]


def test_a_worker_does_not_wait_for_workers() -> None:
    """Nested work runs in place: threads that wait for each other would deadlock."""
    nested = threads.map_in_parallel(
        lambda i: threads.map_in_parallel(lambda j: (i, j), range(3)), range(9)
    )
    assert [pair for pairs in nested for pair in pairs] == [
        (i, j) for i in range(9) for j in range(3)
    ]


def test_blocks_cover_all_rows_once() -> None:
    for n, F in [(0, 3), (1, 3), (2048, 3), (200_001, 3), (5000, 5000)]:
        parts = blocks(n, F)
        assert [i for part in parts for i in (part.start, part.stop)][:1] == [0]
        assert sum(part.stop - part.start for part in parts) == n
        assert all(a.stop == b.start for a, b in pairwise(parts))


def test_products_run_on_the_blas_that_is_limited() -> None:
    """A process looks them up once; here they are looked up again."""
    libraries = threads._blas.__wrapped__()
    assert libraries
    assert len(libraries) == len(threads._blas())


def test_bits_do_not_depend_on_the_number_of_threads() -> None:
    code = """
import numpy as np, hashlib
from fedclust.kernels import hard_sums, fuzzy_sums
out = hashlib.sha256()
for F in (2, 40):
    X = np.random.default_rng(0).normal(size=(150_000, F)); C = X[:5]
    for part in (*hard_sums(X, C), *fuzzy_sums(X, C, 2.0)):
        out.update(part.tobytes())
print(out.hexdigest())
"""
    hashes = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "FEDCLUST_NUM_THREADS": threads},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for threads in ("1", "2", "5")
    }
    assert len(hashes) == 1


def test_a_forked_child_makes_its_own_threads() -> None:
    code = """
import os, numpy as np
from fedclust.kernels import hard_sums
X = np.random.default_rng(0).normal(size=(150_000, 2))
hard_sums(X, X[:3])
pid = os.fork()
if pid == 0:
    hard_sums(X, X[:3])
    os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert done.stdout.strip() == "7"


def test_without_numba_the_plain_backend_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(kernels, "_compiled", raising=False)
    monkeypatch.setitem(sys.modules, "fedclust.kernels._compiled", None)
    steps.backend.cache_clear()
    try:
        assert steps.backend() is _plain
    finally:
        steps.backend.cache_clear()


def test_a_centre_of_zero_weight_does_not_move() -> None:
    old = np.array([[1.0, 2.0], [3.0, 4.0]])
    moved = divide_or_keep(np.array([[0.0, 0.0], [6.0, 9.0]]), np.array([0.0, 3.0]), old)
    assert moved.tolist() == [[1.0, 2.0], [2.0, 3.0]]
