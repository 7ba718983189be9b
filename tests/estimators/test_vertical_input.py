"""Error messages of the estimators over split columns for wrong data and parameters."""

from typing import Any

import numpy as np
import pytest

from fedclust import ConfigError, DataError, VerticalKMeans

from .column_owners import frames, pd, rows


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.fit([rows(9), rows(8)]), r"same records .* differ \(0 9, 1 8\)"),
        (lambda m: m.fit(rows(), owners=["a"]), r"owners: expected one name per column \(4\)"),
        (lambda m: m.fit(rows(2)), r"n_clusters=3 is more than there are rows \(n_samples=2\)"),
        (lambda m: m.fit([pd.Series([1.0] * 9)] * 2), "expected a table per owner"),
        (lambda m: m.fit(rows(), owners=["a", None, "b", "b"]), "owners: a name is missing"),
        (lambda m: m.fit(rows(), owners=[1, "1", 2, 2]), "owners: two names are equal as text"),
        (
            lambda m: m.fit([rows(), rows()]).predict([rows()[:0], rows()[:0]]),
            "contains no records",
        ),
        (lambda m: m.fit({"a": np.ma.masked_less(rows(), 0), "b": rows()}), "values are masked"),
        (
            lambda m: m.fit({"a": rows(), "b": pd.DataFrame(rows(), columns=list("xyzx"))}),
            "owner 'b': two columns are called 'x'",
        ),
        (
            lambda m: m.fit_frames({1: frames()["bank"], "1": frames()["telecom"]}, "customer"),
            "owners: two names are equal as text",
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
            "owner 'a': column 'x' is not numeric",
        ),
        (
            lambda m: m.fit_frames(
                {"a": {"id": [1, 2], "x": [[1], [2]]}, "b": {"id": [1, 2], "x": [1, 2]}}, "id"
            ),
            "owner 'a': column 'x' must have one value per row",
        ),
        (
            lambda m: m.fit({"a": rows(), "b": pd.DataFrame({"x": [np.nan] * 150})}),
            "owner 'b': column 'x' has 150 missing",
        ),
        (
            lambda m: m.fit({"a": rows(), "b": pd.DataFrame({"sex": ["f"] * 150})}),
            "owner 'b': column 'sex' is not numeric",
        ),
        (
            lambda m: m.fit({"a": rows(), "b": rows()}).predict({"a": rows()}),
            "owners must be exactly those of the fit: missing b",
        ),
        (
            lambda m: m.fit({"a": rows(), "b": rows()}).predict(np.hstack([rows(), rows()])),
            "owners must be exactly those of the fit: missing a, b; unknown 0",
        ),
        (
            lambda m: m.fit({"a": rows(), "b": rows()}).predict({"a": rows(), "b": rows()[:, :2]}),
            "owner 'b': 2 columns, expected 4 as in the fit",
        ),
        (lambda m: m.fit_frames({"a": frames()["bank"]}, "customer"), "with two owners or more"),
        (
            lambda m: m.fit_frames(frames(), "client"),
            "owner 'bank': id column 'client' does not exist",
        ),
        (
            lambda m: m.fit_frames(frames(), {"bank": "customer"}),
            "owner 'telecom': id column None does not exist",
        ),
        (
            lambda m: m.fit_frames({**frames(), "c": frames()["bank"][["customer"]]}, "customer"),
            "owner 'c': its table has no column besides the id",
        ),
    ],
)
def test_wrong_data_gives_a_one_line_error(call: Any, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        call(VerticalKMeans(3))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_clusters": 0}, "n_clusters must be an integer"),
        ({"n_init": 0}, "n_init must be an integer"),
        ({"init": "kmeans++"}, "init='kmeans..' is not one of .* did you mean 'k-means..'"),
        ({"init": [[1, 2], [3]]}, "init must be a name, a record number per cluster"),
        ({"init": [0.5, 1.5, 2.5]}, "init must be a name, a record number per cluster"),
        ({"init": [1, 2, 2]}, "init must name 3 different records out of 150"),
        ({"message_dtype": "float16"}, "message_dtype must be 'float64' or 'float32'"),
        ({"max_rounds": 0}, "max_rounds must be an integer"),
    ],
)
def test_wrong_parameters_give_a_one_line_error(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        VerticalKMeans(**{"n_clusters": 3, **settings}).fit(rows())


def test_owners_of_columns_are_checked() -> None:
    frame = pd.DataFrame(rows(), columns=list("abcd"))
    with pytest.raises(ConfigError, match="owner 'x' has column 'z', which is not in X"):
        VerticalKMeans(3).fit(frame, owners={"x": ["a", "z"]})
    with pytest.raises(ConfigError, match="a column is listed twice"):
        VerticalKMeans(3).fit(frame, owners={"x": ["a"], "y": ["a", "b"]})
    with pytest.raises(ConfigError, match="no owner for column c, d; assign it"):
        VerticalKMeans(3).fit(frame, owners={"x": ["a"], "y": ["b"]})
    with pytest.raises(ConfigError, match="owner 'x' needs a list of columns, got 'a'"):
        VerticalKMeans(3).fit(frame, owners={"x": "a"})
    with pytest.raises(ConfigError, match="unknown owner 'z'; known owners: 0, 1"):
        VerticalKMeans(3).fit([rows(), rows()]).centers_of("z")
    assert VerticalKMeans(3, random_state=0).fit([rows(), rows()]).centers_of(0).shape == (3, 4)
    with pytest.raises(ConfigError, match="owners: not allowed with several tables"):
        VerticalKMeans(3).fit([rows(), rows()], owners=["a", "b"])
    with pytest.raises(ConfigError, match="record numbers are unknown before alignment"):
        VerticalKMeans(3, init=[1, 2, 3]).fit_frames(frames(), "customer")
    with pytest.raises(ConfigError, match="id: expected the name of the id column"):
        VerticalKMeans(3).fit_frames(frames(), 0)  # type: ignore[arg-type]


def test_columns_are_matched_by_name() -> None:
    """Another order is restored; other names are refused."""
    tables = frames()
    model = VerticalKMeans(3, random_state=0).fit_frames(tables, "customer")
    reversed_columns = {o: t[t.columns[::-1]] for o, t in tables.items()}
    again = model.predict_frames(reversed_columns, "customer")
    np.testing.assert_array_equal(again["bank"], model.labels_of("bank"))
    other = {**tables, "bank": tables["bank"].rename(columns={"debt": "wealth"})}
    message = "owner 'bank': expected the columns of the fit, income, debt, got income, wealth"
    with pytest.raises(DataError, match=message):
        model.predict_frames(other, "customer")
    one = {o: t.iloc[:1] for o, t in tables.items()}
    one["telecom"] = one["telecom"].assign(customer=one["bank"]["customer"].to_numpy())
    assert len(model.predict_frames(one, "customer")["bank"]) == 1


def test_a_later_fit_removes_earlier_feature_names() -> None:
    model = VerticalKMeans(3, random_state=0).fit(pd.DataFrame(rows(), columns=list("abcd")))
    assert not hasattr(model.fit([rows(), rows()]), "feature_names_in_")
    model.fit(pd.DataFrame(rows(), columns=list("abcd")))
    assert not hasattr(model.fit_frames(frames(), "customer"), "feature_names_in_")
