"""The estimators over split columns."""

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from fedclust import ConfigError, DataError, VerticalFuzzyCMeans, VerticalKMeans
from fedclust.typing import FloatArray

pd = pytest.importorskip("pandas")
KINDS = [VerticalKMeans, VerticalFuzzyCMeans]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([VerticalKMeans(), VerticalFuzzyCMeans()])  # type: ignore[untyped-decorator]
def test_scikit_learns_own_checks(estimator: Any, check: Any) -> None:
    """One owner of all columns is the pooled case."""
    check(estimator)


def rows(n: int = 150, seed: int = 0) -> FloatArray:
    rng = np.random.default_rng(seed)
    means = np.array([[0.0, 0, 0, 0], [12, 0, 5, 0], [0, 12, 0, 5]])
    return rng.normal(means[rng.integers(0, 3, n)], 1.0)


def test_k_means_is_scikit_learns_from_the_same_records() -> None:
    X = rows()
    theirs = KMeans(3, init=X[[0, 50, 100]], n_init=1, tol=0.0).fit(X)
    ours = VerticalKMeans(3, init=[0, 50, 100]).fit([X[:, :1], X[:, 1:]])
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    whole = np.hstack([ours.centers_of("0"), ours.centers_of("1")])
    np.testing.assert_allclose(whole, theirs.cluster_centers_, rtol=1e-12)
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


def frames(n: int = 150) -> dict[str, Any]:
    """A bank and a telecom: other columns, other orders, partly other people."""
    X, rng = rows(n), np.random.default_rng(9)
    bank = pd.DataFrame(X[:, :2], columns=["income", "debt"]).assign(customer=np.arange(n))
    phone = pd.DataFrame(X[:, 2:], columns=["calls", "data"])
    phone["customer"] = [f" {i}" for i in range(n)]
    return {
        "bank": bank.iloc[rng.permutation(n)[: n - 20]],
        "telecom": phone.iloc[rng.permutation(n)[: n - 30]],
    }


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", ["hash", "psi"])
def test_from_two_files_to_labels_at_each_owner(kind: Any, how: str) -> None:
    if how == "psi":
        pytest.importorskip("private_set_intersection")
    tables = frames()
    model = kind(3, random_state=0).fit_frames(tables, "customer", alignment=how)
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
    at_home = model.predict_frames(tables, "customer", alignment=how)
    for owner in tables:
        np.testing.assert_array_equal(at_home[owner], model.labels_of(owner))
    again = kind(3, random_state=0).fit_frames(tables, "customer", alignment=how)
    np.testing.assert_array_equal(again.labels_of("bank"), model.labels_of("bank"))


def test_memberships_at_each_owner() -> None:
    tables = frames()
    id = {"bank": "customer", "telecom": "customer"}
    model = VerticalFuzzyCMeans(3, random_state=0).fit_frames(tables, id)
    at_bank = model.memberships_of("bank")
    assert at_bank.shape == (130, 3)
    assert (np.isnan(at_bank[:, 0]) == (model.labels_of("bank") == -1)).all()


def test_nobody_holds_whole_centres_and_the_server_is_spoken_of() -> None:
    model = VerticalKMeans(3, random_state=0).fit([rows()[:, :2], rows()[:, 2:]])
    with pytest.raises(AttributeError, match="nobody holds whole centres: each owner has its part"):
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


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m: m.fit([rows(9), rows(8)]), "same records in the same order, but have 0 9, 1 8"),
        (lambda m: m.fit(rows(), owners=["a"]), "owners: expected one name for each of 4 columns"),
        (lambda m: m.fit(rows(2)), "n_samples=2 should be >= n_clusters=3"),
        (lambda m: m.fit([pd.Series([1.0] * 9)] * 2), "each owner gives a table"),
        (lambda m: m.fit(rows(), owners=["a", None, "b", "b"]), "owners: a name is missing"),
        (lambda m: m.fit(rows(), owners=[1, "1", 2, 2]), "two have the same name once names are"),
        (lambda m: m.fit([rows(), rows()]).predict([rows()[:0], rows()[:0]]), "there is no record"),
        (lambda m: m.fit({"a": np.ma.masked_less(rows(), 0), "b": rows()}), "values are masked"),
        (
            lambda m: m.fit({"a": rows(), "b": pd.DataFrame(rows(), columns=list("xyzx"))}),
            "owner 'b': it has two columns called 'x'",
        ),
        (
            lambda m: m.fit_frames({1: frames()["bank"], "1": frames()["telecom"]}, "customer"),
            "two have the same name once names are text",
        ),
        (
            lambda m: m.fit_frames(
                {"a": {"id": [1, 2, 3], "x": [1.0, 2.0]}, "b": {"id": [1, 2, 3], "x": [1, 2, 3]}},
                "id",
            ),
            "owner 'a': 3 ids, but 2 rows of features",
        ),
        (
            lambda m: m.fit_frames(
                {"a": {"id": [1, 2], "x": [1, 2], "y": [1]}, "b": {"id": [1, 2], "x": [1, 2]}}, "id"
            ),
            "owner 'a': its columns have different lengths",
        ),
        (
            lambda m: m.fit_frames(
                {"a": {"id": [1, 2], "x": ["u", "v"]}, "b": {"id": [1, 2], "x": [1, 2]}}, "id"
            ),
            "owner 'a': column 'x' holds values that are no numbers",
        ),
        (
            lambda m: m.fit_frames(
                {"a": {"id": [1, 2], "x": [[1], [2]]}, "b": {"id": [1, 2], "x": [1, 2]}}, "id"
            ),
            "owner 'a': column 'x' must hold one value per row",
        ),
        (
            lambda m: m.fit({"a": rows(), "b": pd.DataFrame({"x": [np.nan] * 150})}),
            "owner 'b': column 'x' has 150 missing",
        ),
        (
            lambda m: m.fit({"a": rows(), "b": pd.DataFrame({"sex": ["f"] * 150})}),
            "owner 'b': column 'sex' holds values that are no numbers",
        ),
        (
            lambda m: m.fit({"a": rows(), "b": rows()}).predict({"a": rows()}),
            "every owner is needed, and no other: missing b",
        ),
        (
            lambda m: m.fit({"a": rows(), "b": rows()}).predict(np.hstack([rows(), rows()])),
            "every owner is needed, and no other: missing a, b; unknown 0",
        ),
        (
            lambda m: m.fit({"a": rows(), "b": rows()}).predict({"a": rows(), "b": rows()[:, :2]}),
            "owner 'b': 2 columns, but it had 4 in the fit",
        ),
        (lambda m: m.fit_frames({"a": frames()["bank"]}, "customer"), "of two owners or more"),
        (
            lambda m: m.fit_frames(frames(), "client"),
            "owner 'bank': there is no id column 'client'",
        ),
        (
            lambda m: m.fit_frames(frames(), {"bank": "customer"}),
            "owner 'telecom': there is no id column None",
        ),
        (
            lambda m: m.fit_frames({**frames(), "c": frames()["bank"][["customer"]]}, "customer"),
            "owner 'c': its table has an id column and nothing else",
        ),
    ],
)
def test_wrong_data_is_answered_in_one_sentence(call: Any, words: str) -> None:
    with pytest.raises(DataError, match=words) as caught:
        call(VerticalKMeans(3))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"n_clusters": 0}, "n_clusters must be a whole number"),
        ({"n_init": 0}, "n_init must be a whole number"),
        ({"init": "kmeans++"}, "init='kmeans..' is not one of .* did you mean 'k-means..'"),
        ({"init": [[1, 2], [3]]}, "init must be a word, a record number for each cluster"),
        ({"init": [0.5, 1.5, 2.5]}, "init must be a word, a record number for each cluster"),
        ({"init": [1, 2, 2]}, "init must name 3 different records out of 150"),
        ({"wire": "float16"}, "wire must be 'float64' or 'float32'"),
        ({"max_rounds": 0}, "max_rounds must be a whole number"),
    ],
)
def test_wrong_parameters_are_answered_in_one_sentence(
    settings: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        VerticalKMeans(**{"n_clusters": 3, **settings}).fit(rows())


def test_owners_of_columns_are_checked() -> None:
    frame = pd.DataFrame(rows(), columns=list("abcd"))
    with pytest.raises(ConfigError, match="owner 'x' has a column 'z', which X has not"):
        VerticalKMeans(3).fit(frame, owners={"x": ["a", "z"]})
    with pytest.raises(ConfigError, match="a column may have one owner only"):
        VerticalKMeans(3).fit(frame, owners={"x": ["a"], "y": ["a", "b"]})
    with pytest.raises(ConfigError, match="nobody has column c, d; leave it out of X"):
        VerticalKMeans(3).fit(frame, owners={"x": ["a"], "y": ["b"]})
    with pytest.raises(ConfigError, match="give owner 'x' a list of columns, not 'a'"):
        VerticalKMeans(3).fit(frame, owners={"x": "a"})
    with pytest.raises(ConfigError, match="no owner 'z'; there are 0, 1"):
        VerticalKMeans(3).fit([rows(), rows()]).centers_of("z")
    assert VerticalKMeans(3, random_state=0).fit([rows(), rows()]).centers_of(0).shape == (3, 4)
    with pytest.raises(ConfigError, match="give one table and the owner of each column"):
        VerticalKMeans(3).fit([rows(), rows()], owners=["a", "b"])
    with pytest.raises(ConfigError, match="records have no number before they are aligned"):
        VerticalKMeans(3, init=[1, 2, 3]).fit_frames(frames(), "customer")
    with pytest.raises(ConfigError, match="id: give the id column's name, or one for each owner"):
        VerticalKMeans(3).fit_frames(frames(), 0)  # type: ignore[arg-type]


def test_columns_are_known_by_name() -> None:
    """In another order they are put back; under other names they are refused."""
    tables = frames()
    model = VerticalKMeans(3, random_state=0).fit_frames(tables, "customer")
    turned = {o: t[t.columns[::-1]] for o, t in tables.items()}
    again = model.predict_frames(turned, "customer")
    np.testing.assert_array_equal(again["bank"], model.labels_of("bank"))
    other = {**tables, "bank": tables["bank"].rename(columns={"debt": "wealth"})}
    words = "owner 'bank': its columns were income, debt in the fit, and are now income, wealth"
    with pytest.raises(DataError, match=words):
        model.predict_frames(other, "customer")
    one = {o: t.iloc[:1] for o, t in tables.items()}
    one["telecom"] = one["telecom"].assign(customer=one["bank"]["customer"].to_numpy())
    assert len(model.predict_frames(one, "customer")["bank"]) == 1


def test_a_later_fit_forgets_the_names_of_an_earlier_one() -> None:
    model = VerticalKMeans(3, random_state=0).fit(pd.DataFrame(rows(), columns=list("abcd")))
    assert not hasattr(model.fit([rows(), rows()]), "feature_names_in_")
    model.fit(pd.DataFrame(rows(), columns=list("abcd")))
    assert not hasattr(model.fit_frames(frames(), "customer"), "feature_names_in_")


def test_not_having_come_to_rest_is_said_unless_asked_for() -> None:
    X = np.random.default_rng(0).random((300, 2))
    with pytest.warns(ConvergenceWarning, match="distances still changed after 300 rounds"):
        VerticalFuzzyCMeans(9, tol=0.0, random_state=0).fit(X)
    assert not VerticalFuzzyCMeans(9, tol=0.0, max_rounds=3, random_state=0).fit(X).converged_


def test_nothing_is_told_before_the_fit() -> None:
    for method in ("predict", "predict_proba"):
        with pytest.raises(NotFittedError):
            getattr(VerticalFuzzyCMeans(3), method)(rows())
    for method in ("centers_of", "labels_of", "memberships_of"):
        with pytest.raises(NotFittedError):
            getattr(VerticalFuzzyCMeans(3), method)("a")


def test_fewer_clusters_than_asked_for_is_said() -> None:
    X = np.tile([[0.0, 0.0], [1.0, 1.0]], (20, 1))
    with pytest.warns(ConvergenceWarning, match="only 2 of n_clusters=4 clusters have any records"):
        VerticalKMeans(4, random_state=0).fit(X)
