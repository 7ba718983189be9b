"""Federated preprocessing equals pooled preprocessing and reveals no single record."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedclust import ConfigError, DataError, EmptyRound
from fedclust.channels import LocalChannel
from fedclust.clustering.preparation import (
    Column,
    Histogram,
    MedianOfMeans,
    Moments,
    Preparation,
    prepare,
    prepare_over,
)
from fedclust.clustering.preparation.statistics import group_bins
from fedclust.core import Data, MessageError, Plan, Schema, run
from fedclust.typing import FloatArray


def with_missing_values(n: int, F: int, seed: int, at: float = 0.0) -> FloatArray:
    rng = np.random.default_rng(seed)
    X = rng.normal(at, 2.0, (n, F))
    X[rng.random((n, F)) < 0.2] = np.nan
    return X


def parts(X: FloatArray, n_clients: int, seed: int) -> dict[str, Data]:
    owner = np.random.default_rng(seed).integers(0, n_clients, len(X))
    return {f"c{c}": Data(X[owner == c], np.empty(0)) for c in range(n_clients)}


@given(seed=st.integers(0, 10_000), n_clients=st.integers(1, 9), at=st.sampled_from([0.0, 1e9]))
def test_moments_are_the_pooled_ones_wherever_the_columns_lie(
    seed: int, n_clients: int, at: float
) -> None:
    X = with_missing_values(200, 3, seed, at)
    plan = Plan(Moments(min_count=None))
    moments = run(plan, LocalChannel(parts(X, n_clients, seed), strict=True), Schema(3)).model
    np.testing.assert_allclose(moments.mean, np.nanmean(X, axis=0), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(moments.variance, np.nanvar(X, axis=0), rtol=1e-6)
    np.testing.assert_array_equal(moments.count, (~np.isnan(X)).sum(axis=0))
    assert plan.algorithm.lossless
    assert Moments(min_count=1).lossless
    assert not Moments().lossless


def test_a_client_with_few_values_withholds_them() -> None:
    few = np.array([[100.0, 1.0], [np.nan, 2.0], [np.nan, 3.0]])
    many = np.column_stack([np.arange(10.0), np.arange(10.0)])
    data = {"few": Data(few, np.empty(0)), "many": Data(many, np.empty(0))}
    moments = run(Plan(Moments(min_count=3)), LocalChannel(data), Schema(2)).model
    assert moments.mean[0] == pytest.approx(4.5)
    assert moments.count.tolist() == [10, 13]
    with pytest.raises(EmptyRound):
        run(Plan(Moments(min_count=50)), LocalChannel(data), Schema(2))


def test_quantiles_to_within_a_bin_and_no_extremes() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 1))
    X[0] = 1e6  # an extreme value
    for min_count, near in ((None, 0.05), (1, 0.05), (5, 0.1)):
        histogram = Histogram(np.array([-8.0]), np.array([8.0]), n_bins=400, min_count=min_count)
        counts = run(Plan(histogram), LocalChannel(parts(X, 4, 0)), Schema(1)).model
        for share in (0.01, 0.5, 0.99):
            quantile = histogram.quantile(counts, share)[0]
            assert quantile == pytest.approx(np.quantile(X, share), abs=near)
        assert counts.sum() == 5000
    assert histogram.rule(1).min_samples == Moments().rule(1).min_samples == 2


@given(counts=st.lists(st.integers(0, 9), min_size=2, max_size=40), min_count=st.integers(1, 12))
def test_bins_with_few_values_are_merged(counts: list[int], min_count: int) -> None:
    merged = group_bins(np.array(counts, dtype=float), min_count)
    assert ((merged == 0) | (merged >= min_count)).all()
    assert merged.sum() == (sum(counts) if sum(counts) >= min_count else 0)
    if min_count == 1:
        assert merged.tolist() == counts


def test_a_histogram_never_shows_a_bin_of_one() -> None:
    """A bin of one would disclose a value, to within a bin."""
    X = np.random.default_rng(1).normal(size=(30, 1))
    histogram = Histogram(np.array([-8.0]), np.array([8.0]), n_bins=512)
    counts = run(Plan(histogram), LocalChannel({"a": X}), Schema(1)).model
    assert counts[counts > 0].min() >= 5
    assert histogram.quantile(counts, 0.5)[0] == pytest.approx(np.median(X), abs=0.5)


def test_columns_with_public_bounds_are_not_queried() -> None:
    queries: list[Histogram] = []

    def recording_run(plan: Plan, *args: Any, **kwargs: Any) -> Any:
        if isinstance(plan.algorithm, Histogram):
            queries.append(plan.algorithm)
        return run(plan, *args, **kwargs)

    rows = np.random.default_rng(0).normal(size=(200, 3))
    channel = LocalChannel({"a": rows})
    columns = (Column("x"), Column("y", low=-9.0, high=9.0), Column("z"))
    ready = prepare_over(columns, channel, scaling="min-max", runner=recording_run)
    assert [q.places.tolist() for q in queries if q.places is not None] == [[0, 2]]
    assert (ready.offset[1], ready.scale[1]) == (-9.0, 18.0)
    low, high = np.quantile(rows[:, 2], [0.01, 0.99])
    assert ready.offset[2] == pytest.approx(low, abs=0.3)
    assert ready.scale[2] == pytest.approx(high - low, abs=0.6)
    bounded = tuple(Column(name, low=-9.0, high=9.0) for name in "xyz")
    prepare_over(bounded, channel, scaling="min-max", runner=recording_run)
    assert len(queries) == 1


@pytest.mark.parametrize("privacy", ["none", "paper", "guarded"])
@pytest.mark.parametrize("scaling", ["standard", "min-max"])
def test_the_scale_is_that_of_the_rows_used(privacy: str, scaling: str) -> None:
    """Otherwise the difference from the mean of all clusters would be the row that is left out."""
    rows = np.random.default_rng(0).normal(size=(200, 2))
    rows[7, 1] = np.nan
    columns, channel = (Column("x"), Column("y")), LocalChannel({"a": Data(rows, np.empty(0))})
    complete = LocalChannel({"a": rows[~np.isnan(rows).any(axis=1)]})
    dropped = prepare_over(columns, channel, scaling=scaling, privacy=privacy)
    without = prepare_over(columns, complete, scaling=scaling, privacy=privacy)
    assert dropped.offset.tolist() == without.offset.tolist()
    assert dropped.scale.tolist() == without.scale.tolist()
    if scaling == "standard":
        filled = prepare_over(columns, channel, missing="mean", privacy=privacy)
        room = 0.05 if privacy == "guarded" else 1e-9  # rows in no group are not used there
        assert filled.offset[0] == pytest.approx(rows[:, 0].mean(), abs=room)


@pytest.mark.parametrize("scaling", ["standard", "min-max"])
@given(seed=st.integers(0, 1000), n_clients=st.integers(1, 80))
def test_however_small_clients_are_the_scale_is_that_of_one_table(
    scaling: str, seed: int, n_clients: int
) -> None:
    X = np.random.default_rng(seed).standard_t(2, (90, 2))
    columns = (Column("x"), Column("y"))
    split, whole = (
        prepare_over(columns, LocalChannel(parts(X, n, seed)), scaling=scaling)
        for n in (n_clients, 1)
    )
    np.testing.assert_allclose(split.offset, whole.offset, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(split.scale, whole.scale, rtol=1e-9)


def test_invalid_column_indices_are_refused() -> None:
    for places in (np.array([-1]), np.array([0.5]), np.array([0, 1])):
        with pytest.raises(ConfigError, match="a non-negative integer for each column"):
            Histogram(np.zeros(1), np.ones(1), places=places)
    far = Histogram(np.zeros(1), np.ones(1), places=np.array([7]))
    with pytest.raises(MessageError, match="places exceed the 2 columns"):
        run(Plan(far), LocalChannel({"a": np.zeros((9, 2))}), Schema(2))


def test_the_median_of_means_resists_an_outlier_client() -> None:
    data = {f"c{i}": Data(np.full((9, 1), float(i)), np.empty(0)) for i in range(4)}
    data["odd"] = Data(np.full((9, 1), 1e9), np.empty(0))
    data["small"] = Data(np.full((2, 1), -1e9), np.empty(0))
    medians = run(Plan(MedianOfMeans()), LocalChannel(data), Schema(1)).model
    assert medians.tolist() == [2.0]


COLUMNS = (
    Column("age", low=0, high=100, unit="years"),
    Column("dose", log=True, unit="mg"),
    Column("sex", categories=("f", "m")),
)


def clinics(n: int = 60) -> dict[str, dict[str, Any]]:
    rng = np.random.default_rng(0)
    tables = {}
    for name, shift in (("north", 0.0), ("south", 20.0)):
        age = rng.normal(40 + shift, 5, n)
        age[0] = np.nan
        sex: list[Any] = rng.choice(["f", "m"], n).tolist()
        sex[1] = None
        tables[name] = {"age": age, "dose": np.exp(rng.normal(1, 0.5, n)), "sex": sex}
    return tables


def pooled(column: str, first: int = 0) -> FloatArray:
    return np.concatenate([np.asarray(t[column][first:]) for t in clinics().values()])


def test_standardised_rows_are_those_of_the_pooled_table() -> None:
    preparation = prepare(COLUMNS, clinics())
    rows = {name: preparation.apply(table) for name, table in clinics().items()}
    assert {name: int(kept.sum()) for name, (_, kept) in rows.items()} == {"north": 58, "south": 58}
    age = pooled("age", 2)  # without the rows that have missing values
    expected = (clinics()["north"]["age"][2:] - age.mean()) / age.std()
    np.testing.assert_allclose(rows["north"][0][:, 0], expected, rtol=1e-9)
    assert set(np.unique(rows["north"][0][:, 2:])) == {0.0, 1.0}  # categories are left as they are
    assert preparation.names == ["age", "dose", "sex=f", "sex=m"]


def test_centres_come_back_in_their_own_units() -> None:
    preparation = prepare(COLUMNS, clinics())
    rows, kept = preparation.apply(clinics()["north"])
    back = preparation.in_units(rows)
    np.testing.assert_allclose(back[:, 0], clinics()["north"]["age"][kept], rtol=1e-12)
    np.testing.assert_allclose(back[:, 1], clinics()["north"]["dose"][kept], rtol=1e-12)


def test_min_max_uses_public_bounds_or_quantiles() -> None:
    preparation = prepare(COLUMNS, clinics(), scaling="min-max")
    assert (preparation.offset[0], preparation.scale[0]) == (0.0, 100.0)
    logs = np.log(pooled("dose", 2))
    assert logs.min() < preparation.offset[1] < np.quantile(logs, 0.1)  # not an extreme value
    exact = prepare(COLUMNS, clinics(), scaling="min-max", min_count=1)
    assert exact.offset[1] == pytest.approx(np.quantile(logs, 0.01), abs=0.1)
    bounded = (Column("dose", log=True, low=0.1, high=100.0),)
    logged = prepare(bounded, clinics(), scaling="min-max")
    assert logged.offset[0] == pytest.approx(np.log(0.1))
    plain = prepare(COLUMNS, clinics(), scaling="none")
    assert plain.scale.tolist() == [1.0] * 4


@pytest.mark.parametrize("missing", ["mean", "median-of-means"])
def test_missing_values_are_filled_from_all_clients(missing: str) -> None:
    preparation = prepare(COLUMNS, clinics(), missing=missing, scaling="none")
    rows, kept = preparation.apply(clinics()["north"])
    assert kept.all()
    middle = np.nanmean(pooled("age"))
    assert rows[0, 0] == pytest.approx(middle, abs=1e-9 if missing == "mean" else 1.0)
    assert 0 < rows[1, 2] < 1  # a missing category becomes the shares over all clients


def test_constant_columns_are_not_scaled() -> None:
    same = {"a": {"x": np.full(20, 7.0)}, "b": {"x": np.full(20, 7.0)}}
    rows, _ = prepare((Column("x"),), same).apply(same["a"])
    assert (rows == 0).all()


def test_a_preparation_survives_a_file() -> None:
    for missing in ("drop", "mean"):
        preparation = prepare(COLUMNS, clinics(), missing=missing)
        back = Preparation.from_config(json.loads(json.dumps(preparation.as_config())))
        np.testing.assert_array_equal(
            back.apply(clinics()["south"])[0], preparation.apply(clinics()["south"])[0]
        )
        assert back.columns == preparation.columns


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"age": ["old"] * 60}, "client 'north': column 'age' is not numeric"),
        ({"age": [np.inf] * 60}, "client 'north': column 'age' has infinite values"),
        ({"dose": [0.0] * 60}, "column 'dose' has values that are not above zero"),
        ({"sex": ["x", "y"] * 30}, r"column 'sex' has undeclared categories \(x, y\)"),
        ({"age": [1.0] * 9}, "client 'north': its columns have different lengths"),
    ],
)
def test_wrong_columns_are_named_with_their_client(change: dict[str, Any], message: str) -> None:
    tables = clinics()
    with pytest.raises(DataError, match=message):
        prepare(COLUMNS, {**tables, "north": {**tables["north"], **change}})


@pytest.mark.parametrize("listed", [("true", "false"), ("TRUE", "FALSE"), ("True", "False")])
def test_truth_values_are_the_same_however_a_file_writes_them(listed: tuple[str, str]) -> None:
    ill = Column("ill", categories=listed)
    for values in ([True, None, False], ["TRUE", None, "FALSE"], ["True", None, "false "]):
        np.testing.assert_array_equal(ill.encode(values, "a"), [[1, 0], [np.nan] * 2, [0, 1]])
    both = Column("ill", categories=("true", "TRUE"))
    np.testing.assert_array_equal(both.encode(["TRUE", True], "a"), [[0, 1], [1, 0]])


def test_absent_and_empty_columns_are_named() -> None:
    tables = clinics()
    with pytest.raises(DataError, match="client 'north': column 'weight' does not exist"):
        prepare((*COLUMNS, Column("weight")), tables)
    two = {"a": {"age": [1.0]}, "b": {"age": [2.0]}}
    with pytest.raises(DataError, match="fewer than min_count = 5 rows have a value in every"):
        prepare((Column("age"),), two)
    with pytest.raises(DataError, match="fewer than min_count = 5 values in column 'age'; leave"):
        prepare((Column("age"),), two, missing="mean")
    assert prepare((Column("age"),), two, min_count=2).offset.tolist() == [1.5]
    empty = {name: {**t, "age": [np.nan] * 60} for name, t in tables.items()}
    with pytest.raises(DataError, match="rows have a value in every column; leave out columns"):
        prepare(COLUMNS, empty)
    for privacy in ("none", "guarded"):
        with pytest.raises(DataError, match="fewer than min_count = 5 values in column 'age'"):
            prepare(COLUMNS, empty, missing="mean", privacy=privacy)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Column("x", low=1.0), "column 'x': give both low and high, or neither"),
        (lambda: Column("x", low=1.0, high=0.0), "low must be below high"),
        (lambda: Column("x", log=True, low=-1.0, high=5.0), "with log, bounds must be above zero"),
        (lambda: Column("x", categories=("a",), log=True), "categories cannot have bounds or log"),
        (lambda: Column("x", categories=("a", "a")), "a category is listed twice"),
        (lambda: prepare(COLUMNS, clinics(), scaling="z"), "scaling must be one of standard"),
        (lambda: prepare(COLUMNS, clinics(), missing="x"), "missing must be one of drop"),
        (lambda: prepare((), clinics()), "no columns to cluster by"),
    ],
)
def test_wrong_settings_are_named(build: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        build()


def test_the_box_of_a_column_bounds_its_encoding() -> None:
    assert Column("x").box is None
    for column, values in [
        (Column("x", low=2.0, high=5.0), [2.0, 5.0]),
        (Column("x", low=0.3, high=7.7, log=True), [0.3, 7.7]),
        (Column("x", ("a", "b", "c")), ["a", "b", "c"]),
    ]:
        box, encoding = column.box, column.encode(values, "it")
        assert box is not None
        assert np.array_equal(box, np.stack([encoding.min(axis=0), encoding.max(axis=0)], axis=1))
