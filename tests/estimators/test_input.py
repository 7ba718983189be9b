"""What the estimators say to wrong data and parameters, in one sentence."""

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
    ("settings", "words"),
    [
        ({"n_clusters": 0}, "n_clusters must be an integer of at least 1, got 0"),
        ({"n_init": 0}, "n_init must be an integer"),
        ({"algorithm": "fkn"}, "'fkn' is not for FederatedKMeans; .* did you mean 'fkm'"),
        ({"algorithm": "Loseless"}, "did you mean 'lossless'"),
        ({"algorithm": None}, "'None' is not for FederatedKMeans"),
        ({"algorithm": make_seeding("careful", 3)}, "'careful' is not for FederatedKMeans"),
        ({"init": ["a", "b", "c"]}, "init must be 'auto', the name of a seeding, .* got list"),
        ({"init": lambda X: X}, "init must be 'auto', the name of a seeding, .* got function"),
        ({"min_clients": 0}, "min_clients must be an integer"),
        (
            {"algorithm": "llf-fcm"},
            "'llf-fcm' is not for FederatedKMeans; it takes lossless, llf",
        ),
        ({"algorithm": make("fkm", 4)}, "n_clusters=3, but the algorithm given has n_clusters=4"),
        ({"algorithm": "k-fed", "max_rounds": 9}, "max_rounds=9 has no meaning for 'k-fed'"),
        ({"algorithm": "k-fed", "init": "careful"}, "k-fed needs no start: leave init='auto'"),
        ({"init": "carefull"}, "init='carefull' is not one of .* did you mean 'careful'"),
        ({"init": "uniform"}, "no public bounds of the features are known: give bounds="),
        ({"init": np.zeros((2, 2))}, r"init must be an array of 3 centres, got \(2, 2\)"),
        ({"init": np.zeros((3, 5))}, "init has 5 columns, the data 2"),
        ({"bounds": 3}, r"bounds must be \(low, high\), each a number or 2 of them"),
        ({"bounds": (1, 0)}, "bounds: low must be below high"),
        ({"sampling": 2}, "sampling must be a number above 0 and at most 1, got 2"),
        ({"privacy": "much"}, "privacy must be one of 'none', 'paper'"),
        ({"tol": -1}, "llf-cm: tol must be a number of at least 0, got -1"),
    ],
)
def test_wrong_parameters_are_answered_in_one_sentence(
    settings: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        FederatedKMeans(**{"n_clusters": 3, **settings}).fit(rows(), clients=owners())
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda m: m.fit(rows(), clients=["a"]),
            "clients: expected one value for each of 240 rows",
        ),
        (lambda m: m.fit(rows(), sample_weight=[1]), "sample_weight: expected one value for each"),
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
        (lambda m: m.fit(rows(2)), "n_samples=2 should be >= n_clusters=3"),
        (lambda m: m.fit([np.empty((0, 2))]), "n_samples=0 should be >= n_clusters=3"),
        (lambda m: m.fit(rows(), clients="hospital"), r"clients=X\['hospital'\], and leave it out"),
        (lambda m: m.fit(rows(4), clients=["a", None, "b", "b"]), "row 1 has no owner"),
        (lambda m: m.fit(rows(4), clients=["a", float("nan"), "b", "b"]), "row 1 has no owner"),
        (lambda m: m.fit(rows(4), clients=[1, "1", 2, 2]), "two owners have the same name"),
        (lambda m: m.fit({1: rows(4), "1": rows(4)}), "two clients have the same name"),
        (lambda m: m.fit([rows(4), None]), "number 1 of 2 is not a table of rows but a NoneType"),
        (lambda m: m.fit(rows(4), sample_weight=list("abcd")), "sample_weight holds values that"),
        (lambda m: m.fit(rows(4), sample_weight=[-1, 1, 1, 1]), "sample_weight must be finite"),
        (lambda m: m.fit(rows()).predict([rows(), rows()]), "give one table at a time"),
        (lambda m: m.fit(rows()).transform({"a": rows()}), "give one table at a time"),
        (
            lambda m: m.fit({"a": pd.DataFrame({"x": [1.0, 2.0], "sex": ["f", "m"]})}),
            "client 'a': column 'sex' holds values that are no numbers",
        ),
        (
            lambda m: m.fit(pd.DataFrame({"born": pd.to_datetime(["2001-01-01"] * 3)})),
            "X: column 'born' holds dates or durations",
        ),
        (
            lambda m: m.fit({"a": _frame("x", "y"), "b": _frame("x", "z")}),
            "client 'b': The feature names should match those .* z .* y",
        ),
    ],
)
def test_wrong_data_is_answered_in_one_sentence(call: Any, words: str) -> None:
    with pytest.raises(DataError, match=words) as caught:
        call(FederatedKMeans(3))
    assert "\n" not in str(caught.value)


def _frame(*columns: str) -> Any:
    return pd.DataFrame(np.random.default_rng(0).random((9, len(columns))), columns=columns)


def test_more_clients_than_there_are_cannot_be_required() -> None:
    with pytest.raises(TooFewClients, match="3 clients are there, but min_clients=9"):
        FederatedKMeans(3, min_clients=9).fit(rows(), clients=owners())


def test_the_fuzzifier_of_an_algorithm_is_not_overruled() -> None:
    with pytest.raises(ConfigError, match="fuzzifier=2.0, but the algorithm given has fuzzi"):
        FederatedFuzzyCMeans(3, algorithm=make("llf-fcm", 3, fuzzifier=1.5)).fit(rows())


def test_not_having_come_to_rest_is_said_unless_asked_for() -> None:
    X = np.random.default_rng(0).random((2000, 2))
    assert FederatedKMeans(3, random_state=0).fit(rows()).converged_
    assert not FederatedKMeans(20, max_rounds=2, random_state=0).fit(X).converged_
    with pytest.warns(ConvergenceWarning, match="llf-fcm still moved after 300 rounds"):
        FederatedFuzzyCMeans(9, tol=1e-14, random_state=0).fit(X[:200])


def test_an_empty_client_takes_part_without_rows() -> None:
    model = FederatedKMeans(3, random_state=0).fit([rows(), np.empty((0, 2))])
    assert len(model.labels_) == 240


def test_fewer_clusters_than_asked_for_is_said() -> None:
    X = np.tile([[0.0, 0.0], [1.0, 1.0]], (20, 1))
    with pytest.warns(ConvergenceWarning, match="only 2 of n_clusters=4 clusters have any rows"):
        FederatedKMeans(4, random_state=0).fit(X)


def test_nothing_is_predicted_before_the_fit() -> None:
    for method in ("predict", "transform", "score", "predict_proba"):
        with pytest.raises(NotFittedError):
            getattr(FederatedFuzzyCMeans(3), method)(rows())
