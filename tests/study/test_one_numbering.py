"""The same rows get the same cluster number, wherever a cluster is named.

Study labels, the loaded model, `fedclust label`, ONNX, skops, the report's profile and the
estimators are compared on the same rows: heavy tails, missing cells, a tiny client, and numbers
that skip because an earlier run is matched.
"""

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedclust import FederatedFuzzyCMeans, FederatedKMeans, load
from fedclust.clustering.model import Model
from fedclust.study import read_study
from fedclust.study.export import export
from fedclust.study.label import label_files
from fedclust.study.run import Outcome, run_study
from fedclust.typing import FloatArray

onnx = pytest.importorskip("onnx")
skops = pytest.importorskip("skops.io")
Table = dict[str, list[Any]]
STUDY = """
[clients]
north = "north.csv"
south = "south.csv"
tiny = "tiny.csv"

[clustering]
algorithm = "lossless"
fuzzy = {fuzzy}
n_clusters = {k}
seed = {seed}

[data]
id = "person"

[privacy]
min_count = 1

[outputs]
labels = "csv"
report = false
"""


class Fixed(np.random.RandomState):
    """Gives the estimators the seed of the study."""

    def __init__(self, seed: int) -> None:
        super().__init__(0)
        self._seed_of_study = seed

    def randint(self, *given: Any, **settings: Any) -> Any:
        return self._seed_of_study


def make_tables(seed: int, middles: FloatArray) -> dict[str, Table]:
    """Heavy tails around some middles, of unequal size; one cell in twenty is missing."""
    rng = np.random.default_rng(seed)
    tables: dict[str, Table] = {}
    for client, n in (("north", 60), ("south", 90), ("tiny", 3)):
        cluster = rng.choice(len(middles), n, p=np.arange(1, len(middles) + 1) / _sum(middles))
        values = middles[cluster] + rng.standard_t(3, (n, middles.shape[1]))
        cells = [[None if rng.random() < 0.05 else float(v) for v in row] for row in values]
        cells[0] = values[0].tolist()  # no column of the tiny client is empty
        columns = {f"x{p}": [row[p] for row in cells] for p in range(middles.shape[1])}
        tables[client] = {"person": [f"{client}{i}" for i in range(n)], **columns}
    return tables


def _sum(middles: FloatArray) -> int:
    return len(middles) * (len(middles) + 1) // 2


def write_tables(folder: Path, tables: dict[str, Table]) -> None:
    folder.mkdir(exist_ok=True)
    for client, table in tables.items():
        with open(folder / f"{client}.csv", "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(table)
            writer.writerows(zip(*table.values(), strict=True))


def run_tables(
    folder: Path, tables: dict[str, Table], match: Model | None = None, **keys: Any
) -> Outcome:
    write_tables(folder, tables)
    (folder / "s.toml").write_text(STUDY.format(**{"fuzzy": "false", "seed": 0, **keys}))
    return run_study(read_study(folder / "s.toml"), folder / "run", match=match)


def read_labels(path: Path) -> tuple[list[int | None], FloatArray]:
    """The clusters in a file of labels, and the memberships by the number in the column's name."""
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    named = sorted(int(n.removeprefix("membership_")) for n in rows[0] if n.startswith("memb"))
    U = [[float(row[f"membership_{id}"] or "nan") for id in named] for row in rows]
    return [int(row["cluster"]) if row["cluster"] else None for row in rows], np.array(U)


def as_rows(model: Model, table: Table) -> FloatArray:
    return np.array([table[name] for name in model.columns], dtype=float).T


def check_numbers(done: Outcome, tables: dict[str, Table], folder: Path) -> None:
    """Every way to a cluster number leads to the same one."""
    model = load(done.folder)
    found: Counter[int] = Counter()
    for client, table in tables.items():
        given, U = read_labels(Path(done.labels[client]))
        found.update(c for c in given if c is not None)
        assert model.predict(table) == given
        (again,) = label_files(
            model, [folder / f"{client}.csv"], out=folder / "again.csv", force=True
        )
        again_given, again_U = read_labels(again.target)
        assert again_given == given
        np.testing.assert_array_equal(again_U, U)
        check_exports(model, table, given, folder)
        if model.fuzzifier is not None:
            np.testing.assert_allclose(U, model.predict_proba(table), atol=1e-5)
    profile = json.loads((done.folder / "profile.json").read_text())
    assert tuple(cluster["id"] for cluster in profile["clusters"]) == model.ids
    sizes = {id: size or 0 for id, size in zip(model.ids, model.sizes, strict=True)}
    assert sizes == {id: found[id] for id in model.ids}


def check_exports(model: Model, table: Table, given: list[int | None], folder: Path) -> None:
    from onnx.reference import ReferenceEvaluator

    rows = as_rows(model, table)
    export(model, folder / "m.onnx")
    outputs = ReferenceEvaluator(onnx.load(folder / "m.onnx")).run(None, {"X": rows})
    assert [None if c < 0 else c for c in outputs[0].tolist()] == given
    if model.fuzzifier is not None:
        np.testing.assert_allclose(outputs[1], model.predict_proba(table), atol=1e-9)
        return
    export(model, folder / "m.skops")
    complete = ~np.isnan(rows).any(axis=1)
    expected = [c for c in given if c is not None]
    if expected:
        import pandas as pd

        frame = pd.DataFrame(rows[complete], columns=model.columns)
        assert skops.load(folder / "m.skops").predict(frame).tolist() == expected


@pytest.mark.parametrize("fuzzy", ["false", "true"])
@settings(max_examples=8, deadline=None)
@given(data=st.integers(0, 10**6), seed=st.integers(0, 10**6), k=st.integers(2, 5))
def test_all_ways_give_one_number(
    fuzzy: str, data: int, seed: int, k: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("study")
    middles = np.random.default_rng(data).normal(0, 6, (4, 3))
    tables = make_tables(data, middles)
    done = run_tables(folder, tables, fuzzy=fuzzy, k=k, seed=seed)
    assert done.model.ids == tuple(range(k))
    check_numbers(done, tables, folder)
    # The estimator on the prepared rows: the same centres in the same order, the same labels.
    kind = FederatedFuzzyCMeans if fuzzy == "true" else FederatedKMeans
    prepared = {client: done.model.rows(table)[0] for client, table in tables.items()}
    estimator = kind(k, random_state=Fixed(seed)).fit(prepared)
    np.testing.assert_allclose(estimator.cluster_centers_, done.model.centers, atol=1e-12)
    for client, table in tables.items():
        expected = [c for c in done.model.predict(table) if c is not None]
        assert estimator.labels_of(client).tolist() == expected
        if isinstance(estimator, FederatedFuzzyCMeans):
            U = done.model.predict_proba(table)
            U = U[~np.isnan(U).any(axis=1)]
            np.testing.assert_allclose(estimator.predict_proba(prepared[client]), U, atol=1e-9)


@pytest.mark.parametrize("fuzzy", ["false", "true"])
@pytest.mark.parametrize("gone", [0, 1, 2, 3])
def test_numbers_that_skip_are_the_same_everywhere(tmp_path: Path, fuzzy: str, gone: int) -> None:
    """Next month a cluster is gone, and its number stays unused."""
    corners = np.array([[0.0, 0.0], [40.0, 0.0], [0.0, 40.0], [40.0, 40.0]])
    may = make_tables(7, corners)
    first = run_tables(tmp_path / "may", may, k=4, fuzzy=fuzzy)
    kept = {
        client: _without_cluster(table, first.model.predict(table), gone)
        for client, table in may.items()
    }
    june = run_tables(tmp_path / "june", kept, load(first.folder), k=3, fuzzy=fuzzy)
    assert june.model.ids == tuple(id for id in range(4) if id != gone)
    check_numbers(june, kept, tmp_path / "june")
    for table in kept.values():
        now, before = june.model.predict(table), first.model.predict(table)
        same = [a == b for a, b in zip(now, before, strict=True)]
        assert sum(same) >= 0.9 * len(same)


def _without_cluster(table: Table, labels: list[int | None], gone: int) -> Table:
    keep = [row for row, c in enumerate(labels) if c != gone]
    return {name: [values[row] for row in keep] for name, values in table.items()}
