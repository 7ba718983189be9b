"""Sums of a mixture: compiled and plain, over missing cells, on a grid."""

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedclust import kernels
from fedclust.kernels import (
    Density,
    _mixture_plain,
    mixture,
    mixture_sums,
    most_probable,
    posteriors,
    score_mixture,
)
from fedclust.kernels.grid import Grid, make_grid
from fedclust.typing import FloatArray

_compiled = pytest.importorskip("fedclust.kernels._mixture_compiled")
ONES = np.ones(5)
NOTHING = np.empty(0)


def rows(n: int, seed: int, missing: float = 0.0) -> FloatArray:
    """Three numbers and a category of two values."""
    rng = np.random.default_rng(seed)
    first = rng.random(n) < 0.4
    X = np.column_stack([rng.normal(size=(n, 3)), first, ~first])
    holes = rng.random((n, 4)) < missing
    X[:, :3][holes[:, :3]] = np.nan
    X[holes[:, 3], 3:] = np.nan
    return X


def density(C: int = 3, seed: int = 0) -> Density:
    """Clusters of such rows."""
    rng = np.random.default_rng(seed)
    mean, share = rng.normal(size=(C, 5)), rng.random(C) + 0.1
    mean[:, 3] = rng.random(C)
    mean[:, 4] = 1 - mean[:, 3]
    return Density.of(share / share.sum(), mean, rng.random((C, 5)) + 0.3, np.arange(3))


def textbook(X: FloatArray, at: Density) -> FloatArray:
    """Minus two log of share and density, cell by cell."""
    D = np.empty((len(X), len(at.base)))
    for n, row in enumerate(X):
        for c in range(len(at.base)):
            seen = ~np.isnan(row)
            apart = (row[seen] - at.middle[c][seen]) ** 2
            D[n, c] = at.base[c] + (at.weight[c][seen] * apart + at.cost[c][seen]).sum()
    return D


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("on_grid", [False, True])
def test_compiled_and_plain_agree(hard: bool, missing: bool, weighted: bool, on_grid: bool) -> None:
    X, at = rows(700, 1, missing), density()
    w = np.random.default_rng(0).random(700) if weighted else NOTHING
    grid: Grid | None = make_grid(np.full(5, -8.0), np.full(5, 8.0), 2**20) if on_grid else None
    unit = ONES / 16.0
    plain, fast = (
        code.mixture_block(X, w, at, unit, grid, hard) for code in (_mixture_plain, _compiled)
    )
    for a, b in zip(plain, fast, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=3 if on_grid else 1e-11)


def test_deviances_are_the_textbooks() -> None:
    X, at = rows(40, 2, 0.3), density()
    np.testing.assert_allclose(mixture.deviances(X, at), textbook(X, at), rtol=1e-12)
    assert (most_probable(X, at) == textbook(X, at).argmin(axis=1)).all()
    R = posteriors(X, at)
    np.testing.assert_allclose(R.sum(axis=1), 1.0)
    logs, entropy = score_mixture(X, at)
    np.testing.assert_allclose(logs, np.log(np.exp(-0.5 * textbook(X, at)).sum(axis=1)))
    np.testing.assert_allclose(entropy, -(R * np.log(R)).sum(axis=1), atol=1e-12)


def test_the_distance_to_centres_is_that_of_zeros_and_ones() -> None:
    X, centers = rows(50, 3), np.random.default_rng(1).normal(size=(3, 5))
    around = Density.around(centers, np.arange(3))
    expected = ((X[:, None] - centers) ** 2).sum(axis=2)
    np.testing.assert_allclose(mixture.deviances(X, around), expected, rtol=1e-12)


def test_a_density_survives_being_packed() -> None:
    at = density()
    for a, b in zip(Density.unpack(at.pack()), at, strict=True):
        np.testing.assert_array_equal(a, b)


@given(seed=st.integers(0, 1000), n=st.integers(1, 400), cut=st.floats(0, 1))
def test_integer_sums_are_the_same_bits_for_any_split(seed: int, n: int, cut: float) -> None:
    X, at = rows(n, seed, 0.2), density(4, seed)
    grid, at_row = make_grid(np.full(5, -8.0), np.full(5, 8.0), 2**20), int(cut * n)
    whole = mixture_sums(X, at, grid=grid, unit=ONES * 16)
    order = np.random.default_rng(seed).permutation(n)
    parts = [
        mixture_sums(X[part], at, grid=grid, unit=ONES * 16)
        for part in (order[:at_row], order[at_row:])
        if len(part)
    ]
    for field in whole._fields:
        total = sum(getattr(part, field) for part in parts)
        np.testing.assert_array_equal(total, getattr(whole, field))


def test_far_from_zero_no_digits_are_lost() -> None:
    X, at = rows(3000, 4)[:, :3], density()
    near = Density(at.base, *(a[:, :3] for a in at[1:]))
    far = near._replace(middle=near.middle + 1e6)
    for a, b in zip(mixture_sums(X, near), mixture_sums(X + 1e6, far), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-7)


def test_a_row_far_from_all_clusters_underflows_to_no_nan() -> None:
    X = np.array([[1e8, 0.0, 0.0, 1.0, 0.0]])
    sums = mixture_sums(X, density())
    assert all(np.isfinite(a).all() for a in sums)
    np.testing.assert_allclose(sums.mass.sum(), 1.0)


def test_without_numba_the_plain_loops_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(kernels, "_mixture_compiled", raising=False)
    monkeypatch.setitem(sys.modules, "fedclust.kernels._mixture_compiled", None)
    mixture._backend.cache_clear()
    try:
        assert mixture._backend() is _mixture_plain
    finally:
        mixture._backend.cache_clear()
