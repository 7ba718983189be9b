"""Tables as data scientists have them: frames, lazy frames, a column of owners, a dict of sites."""

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fedclust import (
    ConfigError,
    FederatedFuzzyCMeans,
    FederatedKMeans,
    FederatedMixture,
    VerticalKMeans,
)

from .row_owners import owners, pd, rows

pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")
KINDS = [FederatedKMeans, FederatedFuzzyCMeans]
FRAMES = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "lazy": lambda frame: pl.from_pandas(frame).lazy(),
    "arrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}


def frame(n: int = 240) -> Any:
    table = pd.DataFrame(rows(n), columns=["age", "size"])
    table.insert(1, "owner", owners(n))  # between the features
    return table


@pytest.mark.parametrize("library", FRAMES)
@pytest.mark.parametrize("kind", KINDS)
def test_clients_can_name_the_column_of_owners(kind: Any, library: str) -> None:
    table = FRAMES[library](frame())
    named = kind(3, random_state=0).fit(table, clients="owner")
    split = kind(3, random_state=0).fit(rows(), clients=owners())
    np.testing.assert_array_equal(named.cluster_centers_, split.cluster_centers_)
    np.testing.assert_array_equal(named.labels_, split.labels_)
    assert named.feature_names_in_.tolist() == ["age", "size"]
    assert named.clients_ == ("bank", "clinic", "shop")
    for new in (table, FRAMES[library](frame().drop(columns="owner"))):
        np.testing.assert_array_equal(named.predict(new), named.labels_)
    assert named.transform(table).shape == (240, 3)
    assert named.score(table) == split.score(rows())


@pytest.mark.parametrize("kind", [*KINDS, FederatedMixture])
def test_a_dict_of_tables_is_transformed_and_scored(kind: Any) -> None:
    table, who = pd.DataFrame(rows(), columns=["age", "size"]), np.array(owners())
    tables = {name: table[who == name] for name in ("bank", "clinic", "shop")}
    tables["shop"] = tables["shop"][["size", "age"]]
    model = kind(3, random_state=0).set_output(transform="pandas")
    found = model.fit_transform(tables)
    pd.testing.assert_frame_equal(found["shop"], model.transform(table[who == "shop"]))
    np.testing.assert_allclose(model.score(tables), model.score(table), rtol=1e-12)
    weight = {name: np.arange(1.0, len(one) + 1) for name, one in tables.items()}
    together = pd.concat([one[["age", "size"]] for one in tables.values()])
    pooled = model.score(together, sample_weight=np.concatenate(list(weight.values())))
    np.testing.assert_allclose(model.score(tables, sample_weight=weight), pooled, rtol=1e-12)


def test_a_numeric_column_of_owners_is_not_a_feature() -> None:
    table = frame().assign(owner=np.arange(240) % 3)
    model = FederatedKMeans(3, random_state=0).fit(table, clients="owner")
    assert model.clients_ == ("0", "1", "2")
    assert model.n_features_in_ == 2


def test_the_column_of_owners_in_a_pipeline_and_a_search() -> None:
    scale = make_column_transformer(
        (StandardScaler(), ["age", "size"]),
        remainder="passthrough",
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    pipe = make_pipeline(scale, FederatedKMeans(3, random_state=0))
    labels = pipe.fit(frame(), federatedkmeans__clients="owner").predict(frame())
    assert pipe[-1].clients_ == ("bank", "clinic", "shop")
    np.testing.assert_array_equal(labels, pipe[-1].labels_)
    search = GridSearchCV(FederatedKMeans(random_state=0), {"n_clusters": [2, 3]}, cv=2)
    search.fit(frame(), clients="owner")
    assert search.best_params_ == {"n_clusters": 3}
    assert search.best_estimator_.clients_ == ("bank", "clinic", "shop")


@settings(max_examples=20, deadline=None)
@given(st.permutations(["age", "size", "weight"]), st.permutations(["age", "size", "weight"]))
def test_columns_are_aligned_by_name(second: list[str], third: list[str]) -> None:
    rng = np.random.default_rng(3)
    tables = {
        name: pd.DataFrame(rng.normal(i, 1.0, (30, 3)) * [1, 20, 300], columns=list("asw")).rename(
            columns={"a": "age", "s": "size", "w": "weight"}
        )
        for i, name in enumerate("xyz")
    }
    moved = {"x": tables["x"], "y": tables["y"][second], "z": tables["z"][third]}
    ours, theirs = (FederatedKMeans(3, random_state=0).fit(t) for t in (moved, tables))
    np.testing.assert_array_equal(ours.cluster_centers_, theirs.cluster_centers_)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    found = ours.predict(moved)
    assert list(found) == ["x", "y", "z"]
    for client, labels in found.items():
        np.testing.assert_array_equal(labels, ours.labels_of(client))


@pytest.mark.parametrize("library", FRAMES)
def test_tables_of_clients_can_be_of_any_library(library: str) -> None:
    table = frame()
    parts = {who: part.drop(columns="owner") for who, part in table.groupby("owner")}
    made = {who: FRAMES[library](part) for who, part in parts.items()}
    model = FederatedKMeans(3, random_state=0).fit(made)
    expected = FederatedKMeans(3, random_state=0).fit(rows(), clients=owners())
    np.testing.assert_array_equal(model.cluster_centers_, expected.cluster_centers_)
    for who, labels in model.predict(made).items():
        np.testing.assert_array_equal(labels, expected.labels_of(who))
    listed = FederatedKMeans(3, random_state=0).fit(list(made.values()))
    assert [len(labels) for labels in listed.predict(list(made.values()))] == [80, 80, 80]


@pytest.mark.parametrize("kind", KINDS)
def test_labels_of_each_client_in_its_own_order(kind: Any) -> None:
    who = np.array(owners())
    model = kind(3, random_state=0).fit(rows(), clients=who)
    model = pickle.loads(pickle.dumps(model))  # noqa: S301
    for name in ("bank", "clinic", "shop"):
        np.testing.assert_array_equal(model.labels_of(name), model.labels_[who == name])
    with pytest.raises(ConfigError, match="unknown client 'banks'; known clients: bank, clinic, s"):
        model.labels_of("banks")
    listed = kind(3, random_state=0).fit([rows(30 + i, i) for i in range(12)])
    assert [len(listed.labels_of(i)) for i in range(12)] == list(range(30, 42))
    alone = kind(3, random_state=0).fit(rows())
    np.testing.assert_array_equal(alone.labels_of("0"), alone.labels_)


def test_memberships_of_several_tables() -> None:
    tables = {1: rows(30, 1), 2: rows(50, 2)}
    model = FederatedFuzzyCMeans(3, random_state=0).fit(tables)
    found = model.predict_proba(tables)
    assert list(found) == [1, 2]  # the names as they were given
    np.testing.assert_array_equal(found[2], model.predict_proba(tables[2]))


@pytest.mark.parametrize("kind", [FederatedKMeans, VerticalKMeans])
def test_words_and_generators_of_newer_libraries_are_accepted(kind: Any) -> None:
    ours = kind(3, n_init="auto", random_state=np.random.default_rng(5)).fit(rows())
    again = kind(3, n_init=1, random_state=np.random.default_rng(5)).fit(rows())
    np.testing.assert_array_equal(ours.labels_, again.labels_)
    assert clone(ours).n_init == "auto"


def test_k_means_plus_plus_is_the_default_start() -> None:
    ours, default = (
        FederatedKMeans(3, init=init, random_state=0).fit(rows(), clients=owners())
        for init in ("k-means++", "auto")
    )
    np.testing.assert_array_equal(vars(ours.algorithm_)["init"], vars(default.algorithm_)["init"])
