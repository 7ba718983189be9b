"""Error messages of the estimators for wrong data and parameters."""

import re
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
    VerticalKMeans,
    make,
    make_seeding,
)
from fedclust.algorithms.registry import SEEDINGS, VERTICAL_SEEDINGS

from .row_owners import owners, pd, rows


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_clusters": 0}, "n_clusters must be an integer of at least 1, got 0"),
        ({"n_init": 0}, "n_init must be an integer"),
        ({"algorithm": "fkn"}, "FederatedKMeans does not support 'fkn'; .* did you mean 'fkm'"),
        ({"algorithm": "Loseless"}, "did you mean 'lossless'"),
        (
            {"algorithm": "kmeans"},
            "does not support 'kmeans'; .*; the plain algorithm is 'lossless'",
        ),
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
        ({"init": "random"}, "init='random' is not one of .* did you mean 'client'"),
        ({"privacy": "DP"}, "got 'DP'; did you mean 'dp'"),
        ({"device": "cuda"}, "got 'cuda'; did you mean 'gpu'"),
        ({"missing": "mean"}, "FederatedImputer fills missing cells with means"),
        ({"algorithm": "lloyd"}, "the plain algorithm is 'lossless'"),
        ({"init": "carefull"}, "init='carefull' is not one of .* did you mean 'careful'"),
        ({"init": "uniform"}, "no public bounds: give bounds="),
        ({"init": np.zeros((2, 2))}, r"init must be an array of 3 centres, got \(2, 2\)"),
        ({"init": np.zeros((3, 5))}, "init has 5 columns, but the data have 2"),
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


@pytest.mark.parametrize("privacy", ["secure", "dp", "secure+dp"])
def test_advice_about_missing_bounds_works(privacy: str) -> None:
    """Following the message is enough: the same call with bounds is a fit."""
    pytest.importorskip("cryptography")
    pytest.importorskip("opendp")
    X, who = rows(3000), np.arange(3000) % 4
    words = rf"^privacy='{re.escape(privacy)}' needs public bounds .* pass bounds=\(low, high\)"
    with pytest.raises(ConfigError, match=words) as caught:
        FederatedKMeans(3, privacy=privacy).fit(X, clients=who)
    assert "init" not in str(caught.value)
    model = FederatedKMeans(3, privacy=privacy, bounds=(-10, 20)).fit(X, clients=who)
    assert np.isnan(model.inertia_) == (privacy != "secure")


def test_an_unknown_init_lists_those_for_split_rows() -> None:
    with pytest.raises(ConfigError) as caught:
        FederatedKMeans(3, init="kmeans").fit(rows())
    names = {"auto", "k-means++", "cells", "summary", *SEEDINGS}
    listed = str(caught.value).removeprefix("init='kmeans' is not one of ").partition(";")[0]
    assert set(listed.split(", ")) == names
    assert not names & set(VERTICAL_SEEDINGS)


@pytest.mark.parametrize("kind", [FederatedKMeans, FederatedFuzzyCMeans, VerticalKMeans])
@pytest.mark.parametrize(
    ("parameter", "words"),
    [
        ("max_iter", "use max_rounds"),
        ("n_components", "use n_clusters"),
        ("batch_size", "sampling takes a share"),
        ("k", "use n_clusters"),
        ("n_cluster", "did you mean 'n_clusters'"),
    ],
)
def test_unknown_parameters_name_the_class_and_the_remedy(
    kind: Any, parameter: str, words: str
) -> None:
    with pytest.raises(
        TypeError, match=f"^{kind.__name__} has no parameter '{parameter}'; .*{words}"
    ):
        kind(**{parameter: 3})
    assert parameter not in kind().get_params()


def test_a_subclass_may_take_any_parameter() -> None:
    class Mine(FederatedKMeans):
        def __init__(self, n_clusters: int = 3, **others: Any) -> None:
            super().__init__(n_clusters)

    assert Mine(max_iter=3).n_clusters == 3


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
            "client '1': 3 columns, but the tables before it have 2; every client needs the same",
        ),
        (
            lambda m: m.fit({"a": rows(9), "b": np.array([[np.nan, 1.0]])}),
            "client 'b': column 0 has 1 missing or infinite values",
        ),
        (
            lambda m: m.fit(pd.DataFrame({"x": [1.0, np.nan], "y": [1, 2]}), clients=["u", "v"]),
            r"X: column 'x' has 1 missing or infinite values \(first in row 1\)",
        ),
        (lambda m: m.fit(rows(2)), r"n_clusters=3 is more than there are rows \(n_samples=2\)"),
        (lambda m: m.fit([np.empty((0, 2))]), "n_samples=0, but at least 2 rows are needed"),
        (
            lambda m: m.fit(rows(), clients="hospital"),
            "clients='hospital' names a column, but the columns of X have no names; pass a data",
        ),
        (
            lambda m: m.fit(_frame("owner", "x"), clients="owners"),
            "clients='owners': X has no such column; it has owner, x; did you mean 'owner'",
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
        (
            lambda m: m.fit(_frame("x", "y")).predict({"a": _frame("y", "z")}),
            r"client 'a': its columns must be those of the fit \(missing: 'x'; only here: 'z'\)",
        ),
        (
            lambda m: m.fit({"a": pd.DataFrame({"x": [1.0, 2.0], "sex": ["f", "m"]})}),
            "client 'a': column 'sex' is not numeric; drop it, or encode it",
        ),
        (
            lambda m: m.fit(pd.DataFrame({"x": ["1,5", "2", "3,25"]})),
            "X: column 'x' is not numeric; its numbers have decimal commas: read the file with dec",
        ),
        (
            lambda m: m.fit(pd.DataFrame({"born": pd.to_datetime(["2001-01-01"] * 3)})),
            "X: column 'born' has dates or durations",
        ),
        (
            lambda m: m.fit({"a": _frame("x", "y"), "b": _frame("x", "z")}),
            r"client 'b': its columns must be those of client 'a' \(missing: 'y'; only here: 'z'\)",
        ),
        (
            lambda m: m.fit({"a": _frame("x", "y"), "b": rows(9)}),
            "the columns of client 'a' have names, those of client 'b' have none; pass data frames",
        ),
        (lambda m: m.fit(rows()[:, 0]), "X: expected a table with rows and columns"),
        (lambda m: m.fit([]), "X: expected a table with rows and columns"),
        (
            lambda m: m.fit(rows()).predict(rows()[0]),
            "X: expected a table with rows and columns",
        ),
        (lambda m: m.fit([[1.0, 2.0], [3.0]]), "X: its rows have different lengths"),
        (lambda m: m.fit(np.array([["m", "f"]] * 9)), "X: has text, which is not numeric; drop"),
        (lambda m: m.fit(rows() + 1j), "X: Complex data not supported; use a column for"),
        (lambda m: m.fit(np.ma.masked_less(rows(), 0.5)), "X: some values are masked"),
        (lambda m: m.fit(_frame("x", "y", "x")), "X: two columns are called 'x'; rename one"),
        (lambda m: m.fit({"a": rows() + 1j}), "client 'a': Complex data not supported"),
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


@pytest.mark.parametrize(
    ("settings", "remedy"),
    [
        ({"tol": 1e-14}, "300 rounds; increase max_rounds or tol"),
        ({"max_rounds": 1}, "1 round; increase max_rounds or tol"),
        ({"max_rounds": 2}, "2 rounds; increase max_rounds or tol"),
        ({"algorithm": make("llf-fcm", 9, max_rounds=3)}, "3 rounds; increase max_rounds or tol"),
        ({"sampling": 0.5, "max_rounds": 20}, "20 rounds; with sampling=0.5 centres keep moving"),
        (
            {"privacy": "secure", "bounds": (0, 1), "tol": 1e-14},
            "40 rounds; privacy='secure' allows no more rounds; increase tol",
        ),
    ],
)
def test_a_run_that_max_rounds_ended_warns(settings: dict[str, Any], remedy: str) -> None:
    X = np.random.default_rng(0).random((200, 2))
    model = FederatedFuzzyCMeans(9, random_state=0, **settings)
    if settings.get("privacy") == "secure":
        pytest.importorskip("cryptography")
    with pytest.warns(ConvergenceWarning, match=f"llf-fcm did not converge in {remedy}"):
        assert not model.fit(X, clients=np.arange(200) % 4).converged_


def test_a_run_that_converged_does_not_warn() -> None:
    """Warnings are errors in these tests."""
    assert FederatedKMeans(3, max_rounds=50, random_state=0).fit(rows()).converged_


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
