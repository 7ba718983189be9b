"""llf-mixture: scikit-learn's and StepMix's likelihood, any split, masks, BIC, bad broadcasts."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.mixture import GaussianMixture

from fedclust.algorithms import make
from fedclust.algorithms.mixture_fit import Fit, MixtureFit, count_parameters
from fedclust.channels import LocalChannel
from fedclust.clustering.rows import cluster
from fedclust.core import ConfigError, Data, MessageError, Plan, Rule, Run, Schema, run
from fedclust.typing import FloatArray, IntArray

SETS = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer}


def table(name: str) -> FloatArray:
    """A data set on one scale."""
    if name == "penguins":
        from fedclust.datasets import load

        X = np.asarray(load("penguins").X)
    else:
        X = SETS[name]().data
    return np.asarray((X - X.mean(axis=0)) / X.std(axis=0))


def deal(X: FloatArray, n_clients: int = 4, seed: int = 0) -> LocalChannel:
    """Rows dealt at random."""
    owner = np.random.default_rng(seed).integers(0, n_clients, len(X))
    clients = {f"c{c}": Data.of(X[owner == c], missing=True) for c in range(n_clients)}
    return LocalChannel(clients)


def fit_of(done: Run, channel: LocalChannel, schema: Schema) -> Fit:
    """The fit of the final parameters."""
    query: Any = done.algorithm.scoring(done.state)
    fit = run(Plan(query), channel, schema).model
    assert isinstance(fit, Fit)
    return fit


def mixed(n: int, seed: int, missing: float = 0.0) -> tuple[FloatArray, IntArray]:
    """Two numbers and categories of three and of two values, from three clusters."""
    rng = np.random.default_rng(seed)
    own = rng.integers(0, 3, n)
    numbers = rng.normal(size=(n, 2)) * np.array([0.5, 1.0, 1.5])[own, None] + 3 * own[:, None]
    shares = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]])
    colour = np.array([rng.choice(3, p=shares[c]) for c in own])
    yes = rng.random(n) < np.array([0.9, 0.5, 0.1])[own]
    X = np.column_stack([numbers, np.eye(3)[colour], yes, ~yes])
    holes = rng.random((n, 4)) < missing
    X[:, :2][holes[:, :2]] = np.nan
    X[holes[:, 2], 2:5] = np.nan
    X[holes[:, 3], 5:] = np.nan
    return X, np.array([0, 0, 1, 1, 1, 2, 2])


@pytest.mark.parametrize("name", [*SETS, "penguins"])
def test_the_likelihood_is_scikit_learns(name: str) -> None:
    X = table(name)
    channel, schema = deal(X), Schema(X.shape[1])
    start = X[:: len(X) // 3][:3]
    settings: dict[str, Any] = {"init": start, "max_rounds": 1, "min_variance": 1e-9}
    first: Any = run(Plan(make("llf-mixture", 3, **settings)), channel, schema).state
    settings |= {"max_rounds": 3000, "tol": 1e-7}
    done = run(Plan(make("llf-mixture", 3, **settings)), channel, schema)
    theirs = GaussianMixture(
        3,
        covariance_type="diag",
        means_init=first.centers,
        weights_init=first.share,
        precisions_init=1 / first.variance,
        reg_covar=0.0,
        tol=1e-13,
        max_iter=20_000,
    ).fit(X)
    fit = fit_of(done, channel, schema)
    assert fit.loglik == pytest.approx(theirs.score(X) * len(X), rel=1e-6)
    assert fit.bic == pytest.approx(theirs.bic(X), rel=1e-6)
    done.algorithm.assign(done.state, Data.of(X))
    np.testing.assert_allclose(
        done.algorithm.assign(done.state, Data.of(X)), theirs.predict_proba(X), atol=1e-4
    )


def stepmix(X: FloatArray, codes: FloatArray | None, start: FloatArray, rounds: int) -> float:
    """StepMix's log-likelihood after EM from hard labels, over missing cells."""
    from stepmix import StepMix

    n, F = X.shape
    numbers = {"model": "gaussian_diag_nan", "n_columns": F}
    kinds: dict[str, Any] = {"numbers": numbers}
    if codes is not None:
        kinds["words"] = {"model": "categorical_nan", "n_columns": codes.shape[1]}
        X = np.column_stack([X, codes])
    model = StepMix(start.shape[1], measurement=kinds, max_iter=1, progress_bar=0, random_state=0)
    model.fit(X)
    model._m_step(X, start)
    for _ in range(rounds):
        _, logs = model._e_step(X)
        model._m_step(X, np.exp(logs))
    return float(model._e_step(X)[0] * n)


@pytest.mark.filterwarnings("ignore")  # of StepMix
@pytest.mark.parametrize("name", [*SETS, "penguins"])
@pytest.mark.parametrize("removed", [0.2, 0.4])
def test_the_likelihood_is_stepmixs_over_missing_cells(name: str, removed: float) -> None:
    X = table(name)[:, :6]
    X[np.random.default_rng(1).random(X.shape) < removed] = np.nan
    X = X[~np.isnan(X).all(axis=1)]
    centers = np.nan_to_num(X[:: len(X) // 3][:3])
    settings: dict[str, Any] = {"init": centers, "max_rounds": 60, "tol": 0.0, "min_variance": 1e-9}
    channel, schema = deal(X), Schema(X.shape[1], missing=True)
    done = run(Plan(make("llf-mixture", 3, **settings)), channel, schema)
    D = np.nansum((X[:, None] - centers) ** 2, axis=2)
    theirs = stepmix(X, None, np.eye(3)[D.argmin(axis=1)], 59)
    assert fit_of(done, channel, schema).loglik == pytest.approx(theirs, rel=1e-6)


@pytest.mark.filterwarnings("ignore")  # of StepMix
def test_the_likelihood_of_numbers_and_categories_is_stepmixs() -> None:
    X, blocks = mixed(500, 0, missing=0.2)
    X = X[~np.isnan(X).all(axis=1)]
    schema = Schema(7, missing=True, blocks=blocks)
    centers = np.nan_to_num(X[[0, 100, 300]])
    settings: dict[str, Any] = {"init": centers, "max_rounds": 40, "tol": 0.0, "min_variance": 1e-9}
    channel = deal(X)
    done = run(Plan(make("llf-mixture", 3, **settings)), channel, schema)
    codes = np.column_stack([_codes(X[:, 2:5]), _codes(X[:, 5:])])
    D = np.nansum((X[:, None] - centers) ** 2, axis=2)
    theirs = stepmix(X[:, :2], codes, np.eye(3)[D.argmin(axis=1)], 39)
    assert fit_of(done, channel, schema).loglik == pytest.approx(theirs, rel=1e-6)


def _codes(hot: FloatArray) -> FloatArray:
    missing = np.isnan(hot).any(axis=1)
    return np.where(missing, np.nan, np.nan_to_num(hot).argmax(axis=1))


@given(seed=st.integers(0, 10_000), n_clients=st.integers(1, 20))
def test_any_split_of_mixed_rows_with_missing_cells_equals_pooling(
    seed: int, n_clients: int
) -> None:
    X, blocks = mixed(150, seed, missing=0.2)
    schema = Schema(7, missing=True, blocks=blocks)
    plan = Plan(make("llf-mixture", 3, init=np.nan_to_num(X[:3]), max_rounds=15, tol=0.0))
    pooled: Any = run(plan, deal(X, 1), schema).state
    parts: Any = run(plan, deal(X, n_clients, seed), schema).state
    for name in ("centers", "variance", "share"):
        np.testing.assert_allclose(
            getattr(parts, name), getattr(pooled, name), rtol=1e-9, atol=1e-9
        )


def test_masked_sums_give_the_same_bits_for_any_split() -> None:
    X, blocks = mixed(200, 0, missing=0.2)
    low, high = np.array([-5.0, -5, 0, 0, 0, 0, 0]), np.array([13.0, 11, 1, 1, 1, 1, 1])
    schema = Schema(7, low=low, high=high, missing=True, blocks=blocks)
    algorithm = make("llf-mixture", 3, init=np.nan_to_num(X[:3]))
    found = [cluster(algorithm, deal(X, n, n), schema, privacy="secure", seed=n) for n in (3, 4, 7)]
    assert len({one.run.state.variance.tobytes() for one in found}) == 1
    open_ = cluster(algorithm, deal(X), schema)
    np.testing.assert_allclose(found[0].centers, open_.centers, atol=2e-3)
    assert found[0].fit is not None
    assert found[0].fit.loglik == pytest.approx(found[2].fit.loglik, abs=1e-4)  # type: ignore[union-attr]


def test_masked_sums_of_huge_numbers_do_not_overflow() -> None:
    X = 1e9 * table("iris")
    schema = Schema(4, low=np.full(4, -1e10), high=np.full(4, 1e10))
    algorithm = make("llf-mixture", 3, init=X[[0, 60, 120]], max_rounds=30, tol=0.0)
    found = cluster(algorithm, deal(X), schema, privacy="secure")
    clear = cluster(algorithm, deal(X), schema)
    np.testing.assert_allclose(found.centers, clear.centers, rtol=1e-4)
    assert found.inertia == pytest.approx(clear.inertia, rel=1e-4)


def test_the_likelihood_never_falls() -> None:
    X, blocks = mixed(300, 5, missing=0.1)
    plan = Plan(make("llf-mixture", 4, init=np.nan_to_num(X[:4]), tol=0.0, max_rounds=40))
    from fedclust.core import rounds

    schema = Schema(7, missing=True, blocks=blocks)
    values = [done.state.loglik for done in rounds(plan, deal(X), schema)][1:]
    assert (np.diff(values) >= -1e-9 * abs(values[0])).all()


@pytest.mark.parametrize("privacy", ["paper", "guarded", "dp", "secure+dp"])
def test_other_tiers_refuse_it_in_words(privacy: str) -> None:
    X = table("iris")
    schema = Schema(4, low=np.full(4, -9.0), high=np.full(4, 9.0))
    with pytest.raises(ConfigError, match="llf-mixture"):
        cluster(make("llf-mixture", 2), deal(X), schema, privacy=privacy)


def test_a_column_that_nobody_fills_and_one_that_is_constant_say_nothing() -> None:
    X = np.column_stack([table("iris"), np.full(150, 7.0), np.full(150, np.nan)])
    schema = Schema(6, missing=True)
    settings: dict[str, Any] = {"max_rounds": 20, "tol": 0.0}
    start = np.nan_to_num(X[[0, 70, 140]])
    done: Any = run(Plan(make("llf-mixture", 3, init=start, **settings)), deal(X), schema)
    four = make("llf-mixture", 3, init=start[:, :4], **settings)
    fewer = run(Plan(four), deal(X[:, :4]), Schema(4))
    np.testing.assert_allclose(done.model[:, :4], fewer.model, rtol=1e-6, atol=1e-9)
    assert np.isfinite(done.state.variance).all()


@pytest.mark.parametrize("value", [7.0, 0.1, 1e8 / 3, -1e-9 / 3])
@pytest.mark.parametrize("privacy", ["none", "secure"])
def test_a_constant_that_no_sum_hits_exactly_says_nothing(value: float, privacy: str) -> None:
    """The mean of equal values is off by its last bits, which are no variance."""
    X = np.column_stack([table("iris"), np.full(150, value)])
    low, high = np.full(5, -9.0), np.full(5, 9.0)
    low[4], high[4] = value - abs(value), value + 2 * abs(value)
    schema = Schema(5, low=low, high=high)
    found = cluster(make("llf-mixture", 3), deal(X), schema, privacy=privacy)
    assert found.run.state.variance[:, 4].tolist() == [1.0, 1.0, 1.0]
    assert found.fit is not None
    fewer = fit_of(found.run, deal(X), schema).loglik + 75 * np.log(2 * np.pi)
    alone = cluster(
        make("llf-mixture", 3, init=found.algorithm.parameter("init")[:, :4]),
        deal(X[:, :4]),
        Schema(4, low=low[:4], high=high[:4]),
    )
    assert alone.fit is not None
    assert fewer == pytest.approx(alone.fit.loglik, rel=1e-3)


def test_a_server_that_sends_no_parameters_of_a_mixture_is_refused() -> None:
    X = table("iris")
    algorithm = make("llf-mixture", 2, init=X[[0, 100]])
    done = run(Plan(algorithm), deal(X), Schema(4))
    down: Any = algorithm.broadcast(done.state)
    bad = [
        replace(down, variance=-down.variance),
        replace(down, share=np.zeros(2)),
        replace(down, unit=np.zeros(4)),
    ]
    for one in bad:
        with pytest.raises(MessageError, match="no parameters of a mixture"):
            algorithm.client_step(one, Data.of(X), np.random.default_rng(0))


def test_parameters_are_counted_as_in_the_books() -> None:
    assert count_parameters(3, np.zeros(4, np.int64)) == 2 + 3 * 8
    assert count_parameters(2, np.array([0, 1, 1, 1, 2, 2])) == 1 + 2 * (2 + 2 + 1)
    fit = Fit(-100.0, 3.0, 1.0, 50.0, 7)
    assert fit.bic == pytest.approx(200 + 7 * np.log(50))
    assert fit.icl == fit.bic + 6
    assert MixtureFit.key == "mixture-fit"


def test_the_likelihood_of_one_record_is_never_sent() -> None:
    fit = MixtureFit(2, np.zeros((2, 3)), np.zeros((2, 10)), np.zeros(3, dtype=np.int64))
    assert fit.rule(3) == Rule(min_samples=2)
