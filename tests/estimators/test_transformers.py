"""Transformers that learn from all clients."""

from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn import preprocessing
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from fedclust import (
    ConfigError,
    DataError,
    FederatedImputer,
    FederatedKMeans,
    FederatedMinMaxScaler,
    FederatedOneHotEncoder,
    FederatedStandardScaler,
)
from fedclust.typing import FloatArray

from .row_owners import owners, pd, rows

pl = pytest.importorskip("polars")

NUMERIC = [
    (FederatedStandardScaler(), preprocessing.StandardScaler()),
    (FederatedStandardScaler(with_mean=False), preprocessing.StandardScaler(with_mean=False)),
    (FederatedStandardScaler(with_std=False), preprocessing.StandardScaler(with_std=False)),
    (FederatedMinMaxScaler(bounds="extremes"), preprocessing.MinMaxScaler()),
    (
        FederatedMinMaxScaler((-1, 2), bounds="extremes", clip=True),
        preprocessing.MinMaxScaler((-1, 2), clip=True),
    ),
    (FederatedImputer(), SimpleImputer()),
    (
        FederatedImputer("constant", fill_value=-1.0),
        SimpleImputer(strategy="constant", fill_value=-1.0),
    ),
]


def ugly() -> FloatArray:
    """Missing cells, heavy tails, a column far from zero, a constant one, a nearly constant one."""
    rng = np.random.default_rng(3)
    X = rng.standard_t(2, (240, 5)) * [1e-6, 1, 1e4, 0, 1e-9] + [0, 100, -3, 7, 1e9]
    X[rng.random(X.shape) < 0.2] = np.nan
    return X


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [
        FederatedStandardScaler(),
        FederatedMinMaxScaler(),
        FederatedImputer(),
        FederatedOneHotEncoder(),
    ]
)
def test_scikit_learns_own_checks(estimator: Any, check: Any) -> None:
    """One client is the pooled case."""
    check(estimator)


@pytest.mark.parametrize(("ours", "theirs"), NUMERIC, ids=str)
@pytest.mark.parametrize("split", ["pooled", "owners", "tables"])
def test_the_result_is_that_of_pooled_rows(ours: Any, theirs: Any, split: str) -> None:
    X, who = ugly(), np.array(owners())
    expected = theirs.fit_transform(X)
    if split == "tables":
        order = np.argsort(who, kind="stable")
        tables = {name: X[who == name] for name in ("bank", "clinic", "shop")}
        found, expected = np.vstack(list(ours.fit_transform(tables).values())), expected[order]
    else:
        found = ours.fit(X, clients=who if split == "owners" else None).transform(X)
    scale = np.nanmax(np.abs(expected), axis=0)
    assert np.nanmax(np.abs(found - expected) / np.where(scale > 0, scale, 1.0)) < 1e-12
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))


def test_no_digits_are_lost_far_from_zero() -> None:
    X, who = np.random.default_rng(0).normal(1e9, 1.0, (240, 1)), owners()
    ours = FederatedStandardScaler().fit(X, clients=who)
    deviations = X - 1e9
    assert abs(float((ours.mean_[0] - 1e9) - deviations.mean())) <= np.spacing(1e9)
    assert ours.scale_[0] == pytest.approx(deviations.std(), rel=1e-9)


def test_scalers_can_be_inverted() -> None:
    X = rows()
    for scaler in (FederatedStandardScaler(), FederatedMinMaxScaler(bounds=(-20, 30))):
        there = scaler.fit(X, clients=owners()).transform(X)
        np.testing.assert_allclose(scaler.inverse_transform(there), X, atol=1e-12)


def test_extremes_leave_a_client_only_if_that_is_asked_for() -> None:
    with pytest.raises(ConfigError, match="belong to single records; pass public bounds"):
        FederatedMinMaxScaler().fit(rows(), clients=owners())
    public = FederatedMinMaxScaler(bounds=([-20, -10], 30)).fit(rows(), clients=owners())
    np.testing.assert_array_equal(public.data_min_, [-20, -10])


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (FederatedMinMaxScaler(bounds=(1, 2, 3)), "each a number or 2 numbers, or 'extremes'"),
        (FederatedMinMaxScaler(bounds=(1, 1)), "low below high, in every column"),
        (FederatedMinMaxScaler((1, 0)), "feature_range: low must be below high"),
        (FederatedImputer("median"), "are no sums over clients"),
        (FederatedOneHotEncoder(handle_unknown="warn"), "'ignore' or 'error', got 'warn'"),
        (
            FederatedOneHotEncoder(min_count=1000),
            "column 0: no category has 1000 rows of one client",
        ),
    ],
)
def test_what_cannot_be_is_refused(estimator: Any, message: str) -> None:
    with pytest.raises((ConfigError, DataError), match=message):
        estimator.fit(rows(), clients=owners())


def test_a_column_without_any_value_cannot_be_imputed() -> None:
    X = pd.DataFrame(rows(), columns=["a", "b"]).assign(b=np.nan)
    with pytest.raises(DataError, match="no client has a value in column 'b'; leave it out"):
        FederatedImputer().fit(X, clients=owners())


@pytest.mark.parametrize("library", [pd.DataFrame, pl.from_pandas, pl.LazyFrame])
def test_the_column_of_owners_goes_through_a_pipeline(library: Any) -> None:
    frame = pd.DataFrame(rows(), columns=["age", "size"]).assign(owner=owners())
    frame.iloc[0, 0] = np.nan
    table = library(frame)
    with sklearn.config_context(enable_metadata_routing=True):
        steps = (FederatedImputer(), FederatedStandardScaler(), FederatedKMeans(3, random_state=0))
        model = make_pipeline(*steps).fit(table, clients="owner")
        listed = clone(model).fit(frame.drop(columns="owner"), clients=owners())
    assert model[-1].clients_ == ("bank", "clinic", "shop")
    assert model[:-1].get_feature_names_out().tolist() == ["age", "size", "owner"]
    np.testing.assert_array_equal(model[-1].labels_, listed[-1].labels_)
    np.testing.assert_array_equal(model.predict(table), listed[-1].labels_)


def test_tables_of_clients_go_through_a_pipeline_and_columns_are_aligned() -> None:
    frame, who = pd.DataFrame(rows(), columns=["age", "size"]), np.array(owners())
    tables = {name: frame[who == name] for name in ("bank", "clinic", "shop")}
    tables["shop"] = tables["shop"][["size", "age"]]
    pipe = make_pipeline(FederatedStandardScaler(), FederatedKMeans(3, random_state=0))
    labels = pipe.fit(tables).predict(tables)
    joined = pipe[-1].fit(FederatedStandardScaler().fit_transform(frame), clients=who)
    for name, found in labels.items():
        np.testing.assert_array_equal(found, joined.labels_of(name))


def test_each_table_of_clients_has_the_output_that_is_set() -> None:
    frame, who = pd.DataFrame(rows(), columns=["age", "size"]), np.array(owners())
    tables = {name: frame[who == name] for name in ("bank", "shop")}
    tables["shop"] = tables["shop"][["size", "age"]]
    for kind in (FederatedStandardScaler(), FederatedOneHotEncoder(min_count=1)):
        found = kind.set_output(transform="pandas").fit_transform(tables)
        pd.testing.assert_frame_equal(found["shop"], kind.transform(frame[who == "shop"]))
        assert found["shop"].columns.tolist() == kind.get_feature_names_out().tolist()


def words() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    colour = rng.choice(["red", "green", "blue"], 240)
    frame = pd.DataFrame({"colour": colour, "size": rng.integers(1, 4, 240)})
    return frame, np.array(owners())


def test_categories_are_those_of_pooled_rows() -> None:
    frame, who = words()
    expected = preprocessing.OneHotEncoder(sparse_output=False).fit(frame)
    ours = FederatedOneHotEncoder().fit(frame, clients=who)
    for mine, theirs in zip(ours.categories_, expected.categories_, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(ours.transform(frame), expected.transform(frame))
    assert list(ours.get_feature_names_out()) == list(expected.get_feature_names_out())
    tables = {name: frame[who == name] for name in ours.clients_}
    tables["shop"] = tables["shop"][["size", "colour"]]
    found = FederatedOneHotEncoder().fit_transform(tables)
    np.testing.assert_array_equal(found["shop"], expected.transform(frame[who == "shop"]))


def test_rare_categories_are_not_named() -> None:
    frame, who = words()
    frame.loc[:3, "colour"] = "a rare disease"
    ours = FederatedOneHotEncoder().fit(frame, clients=who)
    assert ours.categories_[0].tolist() == ["blue", "green", "red"]
    assert ours.transform(frame)[:4, :3].sum() == 0
    alone = FederatedOneHotEncoder().fit(frame)
    assert "a rare disease" in alone.categories_[0]


def test_public_categories_need_no_client() -> None:
    frame, who = words()
    public = [["blue", "green", "pink", "red"], [1, 2, 3]]
    ours = FederatedOneHotEncoder(categories=public).fit(frame, clients=who)
    assert ours.transform(frame).shape == (240, 7)
    strict = FederatedOneHotEncoder(categories=public, handle_unknown="error")
    with pytest.raises(ValueError, match="unknown categories"):
        strict.fit(frame, clients=who).transform(frame.assign(colour="gold"))


def test_encoded_owners_go_on_to_the_clustering() -> None:
    frame, who = words()
    frame["owner"] = who
    encoded = FederatedOneHotEncoder().fit(frame, clients="owner").transform(frame)
    assert encoded.columns[-1] == "owner"
    model = FederatedKMeans(3, random_state=0).fit(encoded, clients="owner")
    assert model.clients_ == ("bank", "clinic", "shop")


@pytest.mark.parametrize("output", ["default", "pandas", "polars"])
@pytest.mark.parametrize("library", [lambda frame: frame, pl.from_pandas])
@pytest.mark.parametrize("kind", [FederatedStandardScaler, FederatedOneHotEncoder])
def test_new_rows_need_no_column_of_owners(kind: Any, library: Any, output: str) -> None:
    """A pipeline that was fitted with a column of owners takes rows without one."""
    frame = pd.DataFrame({"x": np.tile([1.0, 2.0, 3.0, 4.0], 20), "bank": ["a", "b"] * 40})
    frame.index = frame.index + 7
    fitted = kind().set_output(transform=output).fit(library(frame), clients="bank")
    kept = fitted.transform(library(frame))
    new = fitted.transform(library(frame[["x"]]))
    assert list(new.columns) == [name for name in kept.columns if name != "bank"]
    np.testing.assert_array_equal(new.to_numpy(), kept[list(new.columns)].to_numpy())
    assert type(new) is type(kept)
    if library is not pl.from_pandas and output != "polars":
        assert list(new.index) == list(frame.index)
    model = make_pipeline(kind(), FederatedKMeans(2, random_state=0))
    step = kind.__name__.lower()
    model.fit(library(frame), **{f"{step}__clients": "bank", "federatedkmeans__clients": "bank"})
    own = model.predict(library(frame))
    np.testing.assert_array_equal(model.predict(library(frame[["x"]])), own)
