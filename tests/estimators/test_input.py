"""Error messages of the estimators for wrong data and parameters."""

from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from fedclust import (
    ConfigError,
    DataError,
    FederatedFuzzyCMeans,
    FederatedKMeans,
    TooFewClients,
    make,
    make_seeding,
)

from .row_owners import owners, pd, rows


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_clusters": 0}, "n_clusters must be an integer of at least 1, got 0"),
        ({"n_init": 0}, "n_init must be an integer"),
        ({"algorithm": "fkn"}, "FederatedKMeans does not support 'fkn'; .* did you mean 'fkm'"),
        ({"algorithm": "Loseless"}, "did you mean 'lossless'"),
        ({"algorithm": None}, "FederatedKMeans does not support 'None'"),
        ({"algorithm": make_seeding("careful", 3)}, "FederatedKMeans does not support 'careful'"),
        ({"init": ["a", "b", "c"]}, "init must be 'auto', the name of a seeding, .* got list"),
        ({"init": lambda X: X}, "init must be 'auto', the name of a seeding, .* got function"),
        ({"min_clients": 0}, "min_clients must be an integer"),
        (
            {"algorithm": "llf-fcm"},
            "FederatedKMeans does not support 'llf-fcm'; use one of lossless, llf",
        ),
        ({"algorithm": make("fkm", 4)}, "n_clusters=3, but the algorithm has n_clusters=4"),
        (
            {"algorithm": "k-fed", "max_rounds": 9},
            "max_rounds=9: 'k-fed' has no parameter max_rounds",
        ),
        (
            {"algorithm": "k-fed", "init": "careful"},
            "k-fed takes no initial centres; leave",
        ),
        ({"init": "carefull"}, "init='carefull' is not one of .* did you mean 'careful'"),
        ({"init": "uniform"}, "no public bounds: give bounds="),
        ({"init": np.zeros((2, 2))}, r"init must be an array of 3 centres, got \(2, 2\)"),
        ({"init": np.zeros((3, 5))}, "init has 5 columns, the data 2"),
        ({"bounds": 3}, r"bounds must be \(low, high\), each a number or 2 numbers"),
        ({"bounds": (1, 0)}, "bounds: low and high must be finite, and low below high"),
        ({"sampling": 2}, "sampling must be a number above 0 and at most 1, got 2"),
        ({"privacy": "much"}, "privacy must be one of 'none', 'paper'"),
        ({"tol": -1}, "llf-cm: tol must be a number of at least 0, got -1"),
    ],
)
def test_wrong_parameters_give_a_one_line_error(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        FederatedKMeans(**{"n_clusters": 3, **settings}).fit(rows(), clients=owners())
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda m: m.fit(rows(), clients=["a"]),
            r"clients: expected one value per row \(240\)",
        ),
        (lambda m: m.fit(rows(), sample_weight=[1]), "sample_weight: expected one value per row"),
        (
            lambda m: m.fit([rows(9), np.ones((4, 3))]),
            "client '1': X has 3 features, but FederatedKMeans is expecting 2",
        ),
        (
            lambda m: m.fit({"a": rows(9), "b": np.array([[np.nan, 1.0]])}),
            "client 'b': column 0 has 1 missing or infinite values",
        ),
        (
            lambda m: m.fit(pd.DataFrame({"x": [1.0, np.nan], "y": [1, 2]}), clients=["u", "v"]),
            r"X: column 'x' has 1 missing or infinite values \(first in row 1\)",
        ),
        (lambda m: m.fit(rows(2)), "n_samples=2 must be at least n_clusters=3"),
        (lambda m: m.fit([np.empty((0, 2))]), "n_samples=0 must be at least n_clusters=3"),
        (
            lambda m: m.fit(rows(), clients="hospital"),
            r"clients=X\['hospital'\], and drop it from X",
        ),
        (
            lambda m: m.fit(rows(4), clients=["a", None, "b", "b"]),
            "clients: missing in 1 rows, first in row 1",
        ),
        (
            lambda m: m.fit(rows(4), clients=["a", float("nan"), "b", "b"]),
            "clients: missing in 1 rows, first in row 1",
        ),
        (lambda m: m.fit(rows(4), clients=[1, "1", 2, 2]), "clients: two names are equal as text"),
        (lambda m: m.fit({1: rows(4), "1": rows(4)}), "two client names are equal as text"),
        (
            lambda m: m.fit([rows(4), None]),
            "item 1 of 2 must be a table of rows, but is a NoneType",
        ),
        (lambda m: m.fit(rows(4), sample_weight=list("abcd")), "sample_weight holds values that"),
        (lambda m: m.fit(rows(4), sample_weight=[-1, 1, 1, 1]), "sample_weight must be finite"),
        (lambda m: m.fit(rows()).predict([rows(), rows()]), "expected one table, got several"),
        (lambda m: m.fit(rows()).transform({"a": rows()}), "expected one table, got several"),
        (
            lambda m: m.fit({"a": pd.DataFrame({"x": [1.0, 2.0], "sex": ["f", "m"]})}),
            "client 'a': column 'sex' is not numeric",
        ),
        (
            lambda m: m.fit(pd.DataFrame({"born": pd.to_datetime(["2001-01-01"] * 3)})),
            "X: column 'born' has dates or durations",
        ),
        (
            lambda m: m.fit({"a": _frame("x", "y"), "b": _frame("x", "z")}),
            "client 'b': The feature names should match those .* z .* y",
        ),
    ],
)
def test_wrong_data_gives_a_one_line_error(call: Any, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        call(FederatedKMeans(3))
    assert "\n" not in str(caught.value)


def _frame(*columns: str) -> Any:
    return pd.DataFrame(np.random.default_rng(0).random((9, len(columns))), columns=columns)


def test_min_clients_above_the_number_of_clients_is_refused() -> None:
    with pytest.raises(TooFewClients, match="3 clients are connected, but min_clients=9"):
        FederatedKMeans(3, min_clients=9).fit(rows(), clients=owners())


def test_a_different_fuzzifier_of_the_algorithm_is_refused() -> None:
    with pytest.raises(ConfigError, match="fuzzifier=2.0, but the algorithm has fuzzi"):
        FederatedFuzzyCMeans(3, algorithm=make("llf-fcm", 3, fuzzifier=1.5)).fit(rows())


def test_no_convergence_warns_unless_the_user_set_max_rounds() -> None:
    X = np.random.default_rng(0).random((2000, 2))
    assert FederatedKMeans(3, random_state=0).fit(rows()).converged_
    assert not FederatedKMeans(20, max_rounds=2, random_state=0).fit(X).converged_
    with pytest.warns(ConvergenceWarning, match="llf-fcm did not converge in 300 rounds"):
        FederatedFuzzyCMeans(9, tol=1e-14, random_state=0).fit(X[:200])


def test_an_empty_client_takes_part_without_rows() -> None:
    model = FederatedKMeans(3, random_state=0).fit([rows(), np.empty((0, 2))])
    assert len(model.labels_) == 240


def test_fewer_clusters_than_n_clusters_warns() -> None:
    X = np.tile([[0.0, 0.0], [1.0, 1.0]], (20, 1))
    with pytest.warns(ConvergenceWarning, match="only 2 of n_clusters=4 clusters have any rows"):
        FederatedKMeans(4, random_state=0).fit(X)


def test_nothing_is_predicted_before_the_fit() -> None:
    for method in ("predict", "transform", "score", "predict_proba"):
        with pytest.raises(NotFittedError):
            getattr(FederatedFuzzyCMeans(3), method)(rows())
