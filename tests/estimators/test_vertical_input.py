"""What the estimators over split columns say to wrong data and parameters."""

from typing import Any

import numpy as np
import pytest

from fedclust import ConfigError, DataError, VerticalKMeans

from .column_owners import frames, pd, rows


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
        ({"n_clusters": 0}, "n_clusters must be an integer"),
        ({"n_init": 0}, "n_init must be an integer"),
        ({"init": "kmeans++"}, "init='kmeans..' is not one of .* did you mean 'k-means..'"),
        ({"init": [[1, 2], [3]]}, "init must be a word, a record number for each cluster"),
        ({"init": [0.5, 1.5, 2.5]}, "init must be a word, a record number for each cluster"),
        ({"init": [1, 2, 2]}, "init must name 3 different records out of 150"),
        ({"message_dtype": "float16"}, "message_dtype must be 'float64' or 'float32'"),
        ({"max_rounds": 0}, "max_rounds must be an integer"),
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
