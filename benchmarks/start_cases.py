"""Data sets with clients, on which starts are compared."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from fedclust.core import DataError
from fedclust.datasets import Dataset, dirichlet, iid, load
from fedclust.typing import FloatArray, IntArray

LARGE = 30_000  # rows that are drawn from larger sets
BIRCH = 20_000


@dataclass(frozen=True, eq=False)
class Case:
    """A table, its number of clusters, and the client of each row."""

    name: str
    X: FloatArray
    n_clusters: int
    owner: IntArray
    fuzzy: bool = False  # whether fuzzy c-means is measured, too

    @property
    def shape(self) -> str:
        """Rows, features and clusters."""
        n, F = self.X.shape
        return f"{n:,} x {F}, {self.n_clusters}"


def all_cases() -> Iterator[Case | str]:
    """Every case; for a public data set that is not on this machine, a sentence instead."""
    for name, cases in PUBLIC.items():
        try:
            data = load(name, download=False)
        except DataError as problem:
            yield f"skipped: {problem}"
            continue
        yield from cases(data)
    yield from _synthetic()
    yield from _included()


def _wholesale(data: Dataset) -> Iterator[Case]:
    X, regions = _standardise(data.X), _known(data.client)
    yield Case("wholesale, 3 regions", X, 6, regions, fuzzy=True)
    yield Case("wholesale, 3 regions", X, 4, regions, fuzzy=True)


def _covertype(data: Dataset) -> Iterator[Case]:
    rows = _sample(len(data.X), LARGE)
    X, y, areas = _standardise(data.X[rows]), _known(data.y)[rows], _known(data.client)[rows]
    yield Case("covertype, 4 areas", X, 7, areas, fuzzy=True)
    yield Case("covertype, 20 uneven clients", X, 20, dirichlet(y, 20, 0.3, 1))


def _kddcup(data: Dataset) -> Iterator[Case]:
    rows = _sample(len(data.X), LARGE)
    X, owner = _standardise(data.X[rows]), dirichlet(_known(data.y)[rows], 10, 0.5, 1)
    yield Case("kddcup99, 10 uneven clients", X, 8, owner, fuzzy=True)
    yield Case("kddcup99, 10 uneven clients", X, 23, owner)


def _pendigits(data: Dataset) -> Iterator[Case]:
    X, n = _standardise(data.X), len(data.X)
    yield Case("pendigits, 5 clients", X, 10, iid(n, 5, 0))
    uneven = dirichlet(_known(data.y), 20, 0.3, 1)
    yield Case("pendigits, 20 uneven clients", X, 10, uneven, fuzzy=True)
    yield Case("pendigits, 600 rows, tiny clients", X[:600], 10, tiny(600))


def _s1(data: Dataset) -> Iterator[Case]:
    yield Case("s1, 5 uneven clients", data.X, 15, dirichlet(data.y, 5, 0.3, 1), fuzzy=True)
    yield Case("s1, 100 clients", data.X, 15, iid(len(data.X), 100, 1))


def _s2(data: Dataset) -> Iterator[Case]:
    yield Case("s2, 20 uneven clients", data.X, 15, dirichlet(data.y, 20, 0.3, 1))


def _s4(data: Dataset) -> Iterator[Case]:
    n = len(data.X)
    yield Case("s4, 1 client", data.X, 15, np.zeros(n, dtype=int))
    yield Case("s4, 100 uneven clients", data.X, 15, dirichlet(data.y, 100, 0.3, 1), fuzzy=True)
    yield Case("s4, tiny clients", data.X, 15, tiny(n))


def _birch(data: Dataset) -> Iterator[Case]:
    rows = _sample(len(data.X), BIRCH)
    yield Case("birch1, 20 clients", data.X[rows].astype(float), 100, iid(BIRCH, 20, 0))


PUBLIC: dict[str, Callable[[Dataset], Iterator[Case]]] = {
    "wholesale_customers": _wholesale,
    "covertype": _covertype,
    "kddcup99_10": _kddcup,
    "pendigits": _pendigits,
    "s1": _s1,
    "s2": _s2,
    "s4": _s4,
    "birch1": _birch,
}


def _synthetic() -> Iterator[Case]:
    X, y = unbalanced()
    yield Case("three large and five small blobs, 5 uneven clients", X, 8, dirichlet(y, 5, 0.3, 1))
    X, y = lognormal()
    yield Case("log-normal, 20 clients", X, 6, iid(len(X), 20, 0), fuzzy=True)
    yield Case("log-normal, 5 uneven clients", X, 10, dirichlet(y, 5, 0.3, 1))
    X, y = np.random.default_rng(0).exponential(size=(2000, 1)), np.arange(2000) % 5
    yield Case("one exponential column, 5 clients", X, 30, iid(2000, 5, 0))
    yield Case("one exponential column, 20 uneven clients", X, 30, dirichlet(y, 20, 0.3, 1))
    X = np.random.default_rng(0).lognormal(0, 2, (2000, 1))
    yield Case("one log-normal column, sigma 2, 5 clients", X, 20, iid(2000, 5, 0))
    X = few_values()
    yield Case("40 distinct rows, 20 clients", X, 30, iid(2000, 20, 0), fuzzy=True)
    yield Case("40 distinct rows, tiny clients", X, 30, tiny(2000))
    yield Case("60 distinct rows, 100 clients", few_values(60), 25, iid(2000, 100, 0))
    X = np.random.default_rng(0).geometric(0.08, (1500, 1)).astype(float)
    yield Case("one column of integers, tiny clients", X, 12, tiny(1500), fuzzy=True)
    X = one_column_of_few_values()
    yield Case("one column of 40 values, 20 clients", X, 30, iid(2000, 20, 0), fuzzy=True)
    X = outlying()
    yield Case("blobs and 30 outliers, 20 clients", X, 15, iid(2000, 20, 0))
    X, y = student()
    yield Case("Student's t, 20 uneven clients", X, 8, dirichlet(y, 20, 0.3, 1), fuzzy=True)
    yield Case("Student's t, 1,000 rows, tiny clients", X[:1000], 8, tiny(1000))
    X, y = blobs()
    yield Case("blobs, 5 uneven clients", X, 15, dirichlet(y, 5, 0.2, 1))
    yield Case("blobs, 650 rows, tiny clients", X[:650], 15, tiny(650), fuzzy=True)


def _included() -> Iterator[Case]:
    """The data sets that scikit-learn includes."""
    digits, wine, cancer, iris = load_digits(), load_wine(), load_breast_cancer(), load_iris()
    inked = digits.data[:, digits.data.std(axis=0) > 0]
    uneven = dirichlet(digits.target, 10, 0.2, 1)
    yield Case("digits, 10 uneven clients", inked, 10, uneven, fuzzy=True)
    yield Case("wine, 5 clients", _standardise(wine.data), 3, iid(178, 5, 0), fuzzy=True)
    yield Case("breast cancer, 20 clients", _standardise(cancer.data), 5, iid(569, 20, 0))
    yield Case("iris, tiny clients", iris.data, 3, tiny(150), fuzzy=True)


def unbalanced() -> tuple[FloatArray, IntArray]:
    """Three blobs of 2,000 rows near to each other, and five of 100 rows far away."""
    rng = np.random.default_rng(0)
    angle = np.linspace(0, 2 * np.pi, 6)[:-1]
    ring = 30 + 8 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    centers = np.concatenate([[[0, 0], [6, 0], [3, 6]], ring])
    y = np.repeat(np.arange(8), [2000] * 3 + [100] * 5)
    return rng.normal(centers[y], 1.0), y


def lognormal() -> tuple[FloatArray, IntArray]:
    """5,000 rows of six skewed clusters with long tails."""
    rng = np.random.default_rng(0)
    y, centers = rng.integers(0, 6, 5000), rng.normal(0, 1.2, (6, 5))
    return _standardise(np.exp(centers[y] + rng.normal(0, 0.8, (5000, 5)))), y


def student() -> tuple[FloatArray, IntArray]:
    """5,000 rows of eight clusters whose tails (Student's t, 2.2 degrees) have outliers."""
    rng = np.random.default_rng(0)
    y, centers = rng.integers(0, 8, 5000), rng.uniform(-8, 8, (8, 4))
    return _standardise(centers[y] + rng.standard_t(2.2, (5000, 4))), y


def blobs() -> tuple[FloatArray, IntArray]:
    """3,000 rows of 15 round clusters of deviation 1, some of which overlap."""
    rng = np.random.default_rng(0)
    centers, y = rng.uniform(-20, 20, (15, 2)), rng.integers(0, 15, 3000)
    return rng.normal(centers[y], 1.0), y


def few_values(distinct: int = 40) -> FloatArray:
    """2,000 rows, of which 40 are distinct, or as many as asked for."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(distinct, 3))[rng.integers(0, distinct, 2000)]


def one_column_of_few_values() -> FloatArray:
    """2,000 values, of which 40 are distinct."""
    rng = np.random.default_rng(2)
    return rng.exponential(size=(40, 1))[rng.integers(0, 40, 2000)]


def outlying() -> FloatArray:
    """2,000 rows: eight round clusters, and 30 rows far away from them and from each other."""
    rng = np.random.default_rng(0)
    X = rng.normal(rng.uniform(-10, 10, (8, 4))[rng.integers(0, 8, 2000)], 1.0)
    X[:30] = rng.uniform(-60, 60, (30, 4))
    return X


def tiny(n: int) -> IntArray:
    """Clients of 3 to 10 rows each."""
    rng = np.random.default_rng(0)
    owner = np.repeat(np.arange(n), rng.integers(3, 11, n))[:n]
    return rng.permutation(owner)


def _sample(n: int, size: int) -> IntArray:
    return np.random.default_rng(0).choice(n, size, replace=False)


def _standardise(X: FloatArray) -> FloatArray:
    """Columns of mean 0 and deviation 1, without those that are constant."""
    varied = X.astype(float)[:, np.ptp(X, axis=0) > 0]
    scaled: FloatArray = (varied - varied.mean(axis=0)) / varied.std(axis=0)
    return scaled


def _known(column: IntArray | None) -> IntArray:
    assert column is not None
    return column
