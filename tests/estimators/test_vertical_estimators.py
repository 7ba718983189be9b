"""The estimators over split columns."""

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from fedclust import VerticalFuzzyCMeans, VerticalKMeans

from .column_owners import frames, pd, rows

KINDS = [VerticalKMeans, VerticalFuzzyCMeans]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([VerticalKMeans(), VerticalFuzzyCMeans()])  # type: ignore[untyped-decorator]
def test_scikit_learns_own_checks(estimator: Any, check: Any) -> None:
    """One owner of all columns is the pooled case."""
    check(estimator)


def test_k_means_is_scikit_learns_from_the_same_records() -> None:
    X = rows()
    theirs = KMeans(3, init=X[[0, 50, 100]], n_init=1, tol=0.0).fit(X)
    ours = VerticalKMeans(3, init=[0, 50, 100]).fit([X[:, :1], X[:, 1:]])
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    joined = np.hstack([ours.centers_of("0"), ours.centers_of("1")])
    np.testing.assert_allclose(joined, theirs.cluster_centers_, rtol=1e-12)
    assert ours.inertia_ == pytest.approx(theirs.inertia_)
    assert ours.converged_


@pytest.mark.parametrize("kind", KINDS)
def test_tables_and_columns_of_one_table_are_the_same_federation(kind: Any) -> None:
    X = rows()
    frame = pd.DataFrame(X, columns=list("abcd"))
    fits = [
        kind(3, random_state=0).fit({"bank": X[:, :2], "telecom": X[:, 2:]}),
        kind(3, random_state=0).fit(X, owners=["bank", "bank", "telecom", "telecom"]),
        kind(3, random_state=0).fit(frame, owners={"bank": ["a", "b"], "telecom": ["c", "d"]}),
    ]
    for other in fits[1:]:
        np.testing.assert_array_equal(other.labels_, fits[0].labels_)
        np.testing.assert_array_equal(other.centers_of("bank"), fits[0].centers_of("bank"))
    assert fits[0].owners_ == ("bank", "telecom")
    new = rows(20, seed=1)
    labels = [
        fits[0].predict({"bank": new[:, :2], "telecom": new[:, 2:]}),
        fits[1].predict(new),
        fits[2].predict(pd.DataFrame(new, columns=list("abcd"))),
    ]
    for other in labels[1:]:
        np.testing.assert_array_equal(other, labels[0])
    np.testing.assert_array_equal(fits[1].predict(X), fits[1].labels_)


def test_memberships_add_up_and_follow_the_distances() -> None:
    X = rows()
    model = VerticalFuzzyCMeans(3, fuzzifier=1.7, random_state=0).fit([X[:, :3], X[:, 3:]])
    np.testing.assert_allclose(model.memberships_.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.memberships_.argmax(axis=1), model.labels_)
    again = model.predict_proba([X[:, :3], X[:, 3:]])
    np.testing.assert_allclose(again, model.memberships_, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", ["hash", "psi"])
def test_from_two_files_to_labels_at_each_owner(kind: Any, method: str) -> None:
    if method == "psi":
        pytest.importorskip("private_set_intersection")
    tables = frames()
    model = kind(3, random_state=0).fit_frames(tables, "customer", alignment=method)
    shared = set(tables["bank"]["customer"]) & {int(i) for i in tables["telecom"]["customer"]}
    assert model.alignment_.n_records == len(model.labels_) == len(shared)
    assert model.alignment_.report()["bank"].startswith(f"{len(shared)} of your 130 rows")
    by_id = []
    for owner, table in tables.items():
        labels = model.labels_of(owner)
        assert len(labels) == len(table)
        ids = [int(i) for i in table["customer"]]
        assert {i for i, c in zip(ids, labels, strict=True) if c >= 0} == shared
        by_id.append({i: c for i, c in zip(ids, labels, strict=True) if c >= 0})
    assert by_id[0] == by_id[1]
    assert model.centers_of("bank").shape == (3, 2)
    by_owner = model.predict_frames(tables, "customer", alignment=method)
    for owner in tables:
        np.testing.assert_array_equal(by_owner[owner], model.labels_of(owner))
    again = kind(3, random_state=0).fit_frames(tables, "customer", alignment=method)
    np.testing.assert_array_equal(again.labels_of("bank"), model.labels_of("bank"))


def test_memberships_at_each_owner() -> None:
    tables = frames()
    id = {"bank": "customer", "telecom": "customer"}
    model = VerticalFuzzyCMeans(3, random_state=0).fit_frames(tables, id)
    at_bank = model.memberships_of("bank")
    assert at_bank.shape == (130, 3)
    assert (np.isnan(at_bank[:, 0]) == (model.labels_of("bank") == -1)).all()


def test_full_centres_are_refused_and_trust_in_the_server_is_described() -> None:
    model = VerticalKMeans(3, random_state=0).fit([rows()[:, :2], rows()[:, 2:]])
    with pytest.raises(AttributeError, match="no party has the full centres"):
        model.cluster_centers_  # noqa: B018
    assert "semi-trusted server" in model.trust_
    assert "up to a rotation" in model.trust_


def test_more_starts_are_no_worse_and_are_counted() -> None:
    X = np.random.default_rng(3).normal(size=(200, 4))
    one, five = (
        VerticalKMeans(8, init="records", n_init=n, random_state=1).fit([X[:, :2], X[:, 2:]])
        for n in (1, 5)
    )
    assert five.inertia_ <= one.inertia_
    assert min(five.bytes_sent_.values()) > 3 * max(one.bytes_sent_.values())
    partition = VerticalKMeans(8, init="partition", random_state=1).fit(X)
    assert partition.n_rounds_ > 1
    assert clone(five).n_init == 5
    assert len(one.history_) == one.n_rounds_


@pytest.mark.parametrize("max_rounds", [None, 3])
def test_a_run_that_max_rounds_ended_warns(max_rounds: int | None) -> None:
    X = np.random.default_rng(0).random((300, 2))
    model = VerticalFuzzyCMeans(9, tol=0.0, max_rounds=max_rounds, random_state=0)
    words = f"vertical-llf-fcm did not converge in {max_rounds or 300} rounds; increase max_rounds"
    with pytest.warns(ConvergenceWarning, match=words):
        assert not model.fit(X).converged_


def test_results_before_the_fit_are_refused() -> None:
    for method in ("predict", "predict_proba"):
        with pytest.raises(NotFittedError):
            getattr(VerticalFuzzyCMeans(3), method)(rows())
    for method in ("centers_of", "labels_of", "memberships_of"):
        with pytest.raises(NotFittedError):
            getattr(VerticalFuzzyCMeans(3), method)("a")


def test_fewer_clusters_than_n_clusters_warns() -> None:
    X = np.tile([[0.0, 0.0], [1.0, 1.0]], (20, 1))
    with pytest.warns(ConvergenceWarning, match="only 2 of n_clusters=4 clusters have any records"):
        VerticalKMeans(4, random_state=0).fit(X)
