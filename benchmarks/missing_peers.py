"""Mixtures and k-prototypes from the same start as other packages, over four clients."""

import warnings
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np
from kmodes.kprototypes import KPrototypes
from sklearn.mixture import GaussianMixture
from stepmix import StepMix

from fedclust import make
from fedclust.channels import LocalChannel
from fedclust.core import Data, Plan, Run, Schema, run
from fedclust.kernels import nearest
from fedclust.typing import FloatArray, IntArray

from .timing import row, verdict

K = 3
TINY = 1e-9  # the least variance, so that no bound is met
FLAT = 1e-6  # a variance below which a cluster has no spread: the likelihood has no maximum
HEADING = ("what", "package", "data sets compared", "largest relative difference", "target")


def deal(X: FloatArray) -> LocalChannel:
    """Rows of four clients."""
    owner = np.random.default_rng(0).integers(0, 4, len(X))
    return LocalChannel({f"c{c}": Data.of(X[owner == c], missing=True) for c in range(4)})


def mixture(X: FloatArray, schema: Schema, start: FloatArray, rounds: int) -> Run:
    """A mixture from given centres, of so many rounds."""
    algorithm = make("llf-mixture", K, init=start, max_rounds=rounds, tol=0.0, min_variance=TINY)
    return run(Plan(algorithm), deal(X), schema)


def loglik(X: FloatArray, done: Run, schema: Schema) -> float:
    """The log-likelihood of the final parameters over all rows."""
    query: Any = done.algorithm.scoring(done.state)
    fit: Any = run(Plan(query), deal(X), schema).model
    return float(fit.loglik)


def of_scikit_learn(X: FloatArray, rounds: int) -> tuple[float, float]:
    """Theirs and ours, over complete rows, after as many rounds from the same parameters."""
    schema, start = Schema(X.shape[1]), X[:: len(X) // K][:K]
    first: Any = mixture(X, schema, start, 1).state
    theirs = GaussianMixture(
        K,
        covariance_type="diag",
        means_init=first.centers,
        weights_init=first.share,
        precisions_init=1 / first.variance,
        reg_covar=0.0,
        tol=0.0,
        max_iter=rounds,
    ).fit(X)
    ours = loglik(X, mixture(X, schema, start, rounds + 1), schema)
    return float(theirs.score(X) * len(X)), ours


def of_stepmix(
    X: FloatArray, codes: FloatArray | None, rows: FloatArray, schema: Schema, rounds: int
) -> tuple[float, float]:
    """Theirs and ours, over missing cells; `rows` has columns of 0 and 1 for codes."""
    start = np.nan_to_num(rows[:: len(rows) // K][:K])
    kinds: dict[str, Any] = {"n": {"model": "gaussian_diag_nan", "n_columns": X.shape[1]}}
    if codes is not None:
        kinds["c"] = {"model": "categorical_nan", "n_columns": codes.shape[1]}
        X = np.column_stack([X, codes])
    theirs = StepMix(K, measurement=kinds, max_iter=1, progress_bar=0, random_state=0)
    theirs.fit(X)
    D = np.nansum((rows[:, None] - start) ** 2, axis=2)
    theirs._m_step(X, np.eye(K)[D.argmin(axis=1)])
    for _ in range(rounds - 1):
        theirs._m_step(X, np.exp(theirs._e_step(X)[1]))
    done = mixture(rows, schema, start, rounds)
    if (done.state.variance[:, : X.shape[1] if codes is None else 2] < FLAT).any():
        raise ValueError("a cluster without spread in a column")
    ours = loglik(rows, done, schema)
    return float(theirs._e_step(X)[0] * len(X)), ours


def categories(n: int, seed: int) -> tuple[FloatArray, IntArray]:
    """Two numbers and the codes of two columns of categories, from three clusters."""
    rng = np.random.default_rng(seed)
    own = rng.integers(0, K, n)
    numbers = rng.normal(size=(n, 2)) + 3 * own[:, None] * np.array([1.0, -1.0])
    codes = [(own + (rng.random(n) < 0.2 + c / 10)) % (K + c) for c in range(2)]
    return numbers, np.column_stack(codes)


def of_kmodes(gamma: float, seed: int) -> tuple[float, float]:
    """The cost of KPrototypes, and ours."""
    numbers, codes = categories(600, seed)
    hot = np.column_stack([np.eye(3)[codes[:, 0]], np.eye(4)[codes[:, 1]]])
    height = np.r_[1.0, 1.0, np.full(7, np.sqrt(gamma / 2))]
    rows = np.column_stack([numbers, hot]) * height
    schema = Schema(9, blocks=np.array([0, 0, 1, 1, 1, 2, 2, 2, 2]), height=height)
    table = np.column_stack([numbers.astype(object), codes.astype(object)])
    start: Any = [numbers[:K], codes[:K]]
    theirs = KPrototypes(K, init=start, gamma=gamma, n_init=1, random_state=0)
    theirs.fit(table, categorical=[2, 3])
    plan = Plan(make("llf-prototypes", K, init=rows[:K]))
    return float(theirs.cost_), float(nearest(rows, run(plan, deal(rows), schema).model)[1].sum())


def cases(sets: Iterator[tuple[str, FloatArray, int]]) -> Iterator[tuple[str, str, Any, float]]:
    """What is compared, over which data, both values, and the largest difference allowed."""
    for name, X, _ in sets:
        with suppress(ValueError):  # theirs refuses a cluster that shrinks to a point
            yield "GaussianMixture", name, of_scikit_learn(X, 50), 1e-6
        for share in (0.2, 0.4):
            H = np.where(np.random.default_rng(1).random(X.shape) < share, np.nan, X)
            H = H[~np.isnan(H).all(axis=1)]
            with suppress(ValueError):
                both = of_stepmix(H, None, H, Schema(X.shape[1], missing=True), 50)
                yield "StepMix", f"{name}, {share:.0%} removed", both, 1e-6
    numbers, codes = categories(1_000, 0)
    holes = np.random.default_rng(2).random((1_000, 4)) < 0.2
    holes[holes.all(axis=1)] = False
    numbers[holes[:, :2]] = np.nan
    hot = np.column_stack([np.eye(3)[codes[:, 0]], np.eye(4)[codes[:, 1]]])
    hot[holes[:, [2, 2, 2, 3, 3, 3, 3]]] = np.nan
    schema = Schema(9, missing=True, blocks=np.array([0, 0, 1, 1, 1, 2, 2, 2, 2]))
    coded = np.where(holes[:, 2:], np.nan, codes)
    both = of_stepmix(numbers, coded, np.column_stack([numbers, hot]), schema, 40)
    yield "StepMix", "numbers and categories, 20% removed", both, 1e-6
    for gamma in (0.3, 1.0, 4.0):
        for seed in range(3):
            yield "KPrototypes", f"weight {gamma:g}, seed {seed}", of_kmodes(gamma, seed), 1e-9


def peers(sets: Iterator[tuple[str, FloatArray, int]]) -> list[str]:
    """The same log-likelihood, and the same cost, as other packages from the same start."""
    found: dict[str, list[float]] = {}
    limits = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of theirs, about rounds
        for package, name, (theirs, ours), limit in cases(sets):
            found.setdefault(package, []).append(abs(theirs - ours) / abs(theirs))
            limits[package] = limit
            print(package, name, theirs, ours, flush=True)
    lines = [row(*HEADING), row(*["---"] * len(HEADING))]
    for package, apart in found.items():
        what = "cost" if package == "KPrototypes" else "log-likelihood"
        worst = (f"{max(apart):.0e}", verdict(max(apart), limits[package]))
        lines.append(row(what, package, len(apart), *worst))
    return lines
