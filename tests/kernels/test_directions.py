"""Main directions do not depend on the last bits of sums, as LAPACK's eigenvectors may."""

import numpy as np
import pytest

from fedclust.follow.agreement import TOLERANCE
from fedclust.kernels.directions import main_directions, point_forward
from fedclust.typing import FloatArray

RNG = np.random.default_rng(0)
MATRICES: dict[str, FloatArray] = {
    "equal shares": np.eye(6) / 6 - np.full((6, 6), 1 / 36),
    "equal columns": np.full((5, 5), 0.14),
    "equal pairs": np.kron(np.diag([0.3, 0.2, 0.1]), np.full((2, 2), 1.0)),
    "two opposite columns": np.array([[0.2, -0.2], [-0.2, 0.2]]),
    "a sphere": np.eye(4) * 0.25,
    "constant columns": np.diag([0.3, 0.1, 0.0, 0.0, 0.0]),
    "nothing": np.zeros((4, 4)),
    "any": np.cov(RNG.normal(size=(9, 50))),
}


def disturbed(matrix: FloatArray, seed: int) -> FloatArray:
    """As another processor might have added it up."""
    noise = np.random.default_rng(seed).normal(0, 1e-17, matrix.shape) * np.abs(matrix).max()
    other: FloatArray = matrix + noise + noise.T
    return other


def spread(matrix: FloatArray, n: int) -> float:
    found = [
        point_forward(main_directions(disturbed(matrix, seed), n).vectors) for seed in range(10)
    ]
    return float(max(np.abs(one - found[0]).max() for one in found))


@pytest.mark.parametrize("name", MATRICES)
def test_rounding_does_not_choose_directions(name: str) -> None:
    matrix = MATRICES[name]
    assert spread(matrix, min(3, len(matrix))) < TOLERANCE


@pytest.mark.parametrize("name", ["equal shares", "a sphere"])
def test_it_chooses_eigenvectors(name: str) -> None:
    found = [np.abs(np.linalg.eigh(disturbed(MATRICES[name], seed))[1]) for seed in range(10)]
    assert max(np.abs(one - found[0]).max() for one in found) > 1e-3


@pytest.mark.parametrize("name", MATRICES)
def test_they_are_directions_of_large_variance(name: str) -> None:
    matrix = MATRICES[name]
    n = min(3, len(matrix))
    variances, vectors = main_directions(matrix, n)
    assert np.abs(vectors.T @ vectors - np.eye(n)).max() < 1e-9
    best = np.linalg.eigvalsh(matrix)[::-1][:n].sum()
    assert variances.sum() >= 0.9 * best - 1e-12


def test_unique_eigenvectors_are_those_of_lapack() -> None:
    matrix = MATRICES["any"]
    values, vectors = np.linalg.eigh(matrix)
    found = main_directions(matrix, 3)
    assert (found.vectors == vectors[:, ::-1][:, :3]).all()
    assert (found.variances == values[::-1][:3]).all()


def test_short_vectors_need_fewer_digits() -> None:
    """Two directions of little variance, whose eigenvectors have fewer digits than they need."""
    close = np.diag([1.0, 1e-6 + 1e-7, 1e-6, 0.0])
    exact = np.linalg.eigh(close)[1][:, ::-1][:, :3]
    assert (main_directions(close, 3, floor=1e-6).vectors == exact).all()
    assert not (main_directions(close, 3).vectors == exact).all()
