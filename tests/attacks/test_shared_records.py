"""Nothing that a server or a study chooses changes the masked distances of one owner alone."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedclust.client.vertical import ClientColumns
from fedclust.core import TooFewClients
from fedclust.privacy import Ledger
from fedclust.typing import FloatArray

from .shared_records import Owners, leave_out_the_farthest, recovered

pytest.importorskip("cryptography")
datasets = pytest.importorskip("sklearn.datasets")
N = 120
TYPO = 5  # the record with a typing error


Table = dict[str, FloatArray]  # the columns of each owner


def heavy_tails() -> Table:
    """Normal columns, and one with heavy tails."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, N, 2))
    return {"a": a, "b": b, "c": np.round(rng.standard_t(1.5, (N, 1)), 3)}


def with_a_typo(load: Callable[[], Any], wide: int) -> Callable[[], Table]:
    """The last column has a value that is far from all others."""

    def read() -> Table:
        X = np.array(load().data[:, -2 * wide - 1 :])
        last = X[:, -1:].copy()
        last[TYPO] = 99_999.0
        return {"a": X[:, :wide], "b": X[:, wide:-1], "c": last}

    return read


SETS: Mapping[str, Callable[[], Table]] = {
    "heavy tails": heavy_tails,
    "iris": with_a_typo(datasets.load_iris, 1),
    "wine": with_a_typo(datasets.load_wine, 2),
}


@pytest.fixture
def scaled_by_shared_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """Owners as they were: the server's choice of records scales a column."""
    monkeypatch.setattr(ClientColumns, "_values_for_scale", lambda self, p, shared: shared)
    monkeypatch.setattr(Ledger, "settle", lambda self, hashes, what: None)


@pytest.fixture
def without_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Owners that compare a study with no earlier one."""
    monkeypatch.setattr(Ledger, "settle", lambda self, hashes, what: None)


def leave_out_a_record(folder: Path, columns: Table) -> float:
    """Two runs, of which the second is without the farthest record; what they give of c."""
    owners, c = Owners(folder, columns), columns["c"][:, 0]
    D = owners.ask()
    kept = leave_out_the_farthest(D)
    difference = owners.ask(kept) - D[kept]
    return recovered(difference, np.delete(c, np.abs(c - np.median(c)).argmax()))


@pytest.mark.parametrize("name", SETS)
def test_without_a_record_another_scale_gave_a_column(
    name: str, tmp_path: Path, scaled_by_shared_records: None
) -> None:
    assert leave_out_a_record(tmp_path, SETS[name]()) == 1.0


@pytest.mark.parametrize("name", SETS)
def test_records_that_are_left_out_change_no_distance(name: str, tmp_path: Path) -> None:
    assert leave_out_a_record(tmp_path, SETS[name]()) == 0.0


def fill_by_a_record(folder: Path) -> float:
    """How far distances move when a record is left out, and a gap in c is filled with a mean."""
    columns = heavy_tails()
    columns["c"] = np.random.default_rng(1).uniform(0, 1, (N, 1))
    columns["c"][:2, 0], columns["c"][2, 0] = (0.0, 1.0), np.nan
    owners = Owners(folder, columns)
    whole = owners.ask(data='missing = "mean"')
    kept = leave_out_the_farthest(whole)
    difference = owners.ask(kept, data='missing = "mean"') - whole[kept]
    return float(np.ptp(difference))


def test_what_is_filled_in_does_not_depend_on_shared_records(tmp_path: Path) -> None:
    assert fill_by_a_record(tmp_path) < 1e-12


def test_it_did(tmp_path: Path, scaled_by_shared_records: None) -> None:
    assert fill_by_a_record(tmp_path) > 1e-6


def other_columns(folder: Path, features: dict[str, str]) -> float:
    """Two studies over other columns of c; what they give of its first one."""
    columns = heavy_tails()
    columns["c"] = np.random.default_rng(2).lognormal(size=(N, 2))
    owners = Owners(folder, columns)
    everything = {n: "{}" for names in owners.names.values() for n in names}
    first = owners.ask(features=everything)
    wanted = {n: words for n, words in {**everything, **features}.items() if words}
    return recovered(first - owners.ask(features=wanted), columns["c"][:, 0])


def test_two_studies_that_differ_by_a_column_gave_it(tmp_path: Path, without_memory: None) -> None:
    assert other_columns(tmp_path, {"c0": ""}) == 1.0


@pytest.mark.parametrize("features", [{"c0": ""}, {"c0": "{ log = true }"}])
def test_an_owner_has_the_same_distances_in_all_studies(
    features: dict[str, str], tmp_path: Path
) -> None:
    with pytest.raises(TooFewClients, match="an earlier study was about other columns"):
        other_columns(tmp_path, features)


def test_a_study_may_be_repeated_with_other_bounds(tmp_path: Path) -> None:
    """Bounds of a study only check values."""
    owners = Owners(tmp_path, SETS["iris"]())
    first = owners.ask()
    wide = {n: "{ low = -1e6, high = 1e6 }" for names in owners.names.values() for n in names}
    assert (owners.ask(features=wide) == first).all()
