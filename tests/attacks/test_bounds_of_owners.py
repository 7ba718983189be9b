"""Bounds that a study gives to other owners' columns: they once isolated one owner under masks.

A coordinator needs nothing but a study file. Bounds of +-1e60 for the columns of all other owners
shrink their distances to zero, and the masked sum is then the matrix of the owner that is left. Two
columns of that matrix differ by a linear function of its only column.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris

from fedclust.algorithms.vertical_c_means import VerticalCMeans
from fedclust.client import column_session
from fedclust.client.endpoint import ClientEndpoint
from fedclust.client.vertical import ClientColumns
from fedclust.core import TooFewClients
from fedclust.study.read import read_study
from fedclust.study.run import run_study
from fedclust.typing import FloatArray

from ..support.in_process import InProcess
from ..support.owners_in_process import OWNERS, SECRET, records, run_across

pytest.importorskip("cryptography")

WIDE = 1e60


@dataclass(frozen=True)
class Split:
    """A table whose columns belong to owners; the last owner has one column, the target."""

    X: FloatArray
    owners: Mapping[str, tuple[str, ...]]

    @property
    def target(self) -> FloatArray:
        return self.X[:, -1]


def split_of(X: FloatArray, *widths: int) -> Split:
    names = iter(f"x{i}" for i in range(X.shape[1]))
    return Split(X, {f"o{i}": tuple(next(names) for _ in range(n)) for i, n in enumerate(widths)})


SETS: dict[str, Callable[[], Split]] = {
    "example": lambda: Split(records(), OWNERS),
    "iris": lambda: split_of(load_iris().data, 2, 1, 1),
    "diabetes": lambda: split_of(load_diabetes(scaled=False).data[:, ::-1], 5, 4, 1),
}


def write_owners_of(folder: Path, split: Split, extra: str = "") -> dict[str, ClientEndpoint]:
    """A kit for each owner, with all records in its own order."""
    at, rng = 0, np.random.default_rng(1)
    for owner, columns in split.owners.items():
        part, at = split.X[:, at : at + len(columns)], at + len(columns)
        kit = folder / owner
        kit.mkdir(parents=True)
        lines = [",".join(["customer", *columns])]
        rows = rng.permutation(len(split.X))
        lines += [",".join([f"p{i}", *map(repr, part[i].tolist())]) for i in rows]
        (kit / "people.csv").write_text("\n".join(lines) + "\n")
        (kit / "client.toml").write_text(
            f'[data]\nfile = "people.csv"\nid = "customer"\nsecret = "{SECRET}"\n'
            f'[consent]\nsplit_columns = true\nprivacy = "secure"\n{extra}'
        )
    return {owner: ClientEndpoint(folder / owner, owner, "s") for owner in split.owners}


def write_hostile_study(folder: Path, split: Split, width: float | None) -> Any:
    """Bounds of that width for all columns but the last; with None, no bounds at all."""
    names = [name for columns in split.owners.values() for name in columns]
    tight = math.ceil(np.abs(split.target).max())
    bounds = [width] * (len(names) - 1) + [tight]
    features = [
        f"{name} = {{ low = {-b!r}, high = {b!r} }}" if width is not None else f"{name} = {{}}"
        for name, b in zip(names, bounds, strict=True)
    ]
    clients = [f'{owner} = "{owner}/people.csv"' for owner in split.owners]
    lines = ["[clients]", *clients, "[data]", 'split = "columns"', 'id = "customer"']
    lines += ["[clustering]", 'algorithm = "lossless"', "n_clusters = 3", "[outputs]"]
    lines += ['labels = "csv"', 'labels_in = "run"', "report = false"]
    lines += ["[privacy]", 'tier = "secure"', "[features]", *features]
    path = folder / "s.toml"
    path.write_text("\n".join(lines) + "\n")
    return read_study(path)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[FloatArray]:
    """The sums of distances as the server merges them, after the masks have cancelled."""
    kept: list[FloatArray] = []
    step = VerticalCMeans.server_step

    def keep(self: Any, state: Any, merged: Any, rng: Any) -> Any:
        kept.append(np.asarray(merged.d2))
        return step(self, state, merged, rng)

    monkeypatch.setattr(VerticalCMeans, "server_step", keep)
    return kept


@pytest.fixture
def scaled_by_the_study(monkeypatch: pytest.MonkeyPatch) -> None:
    """Owners as they were: a column is scaled by the bounds that the study gives."""

    def spread(self: Any, column: Any, values: FloatArray) -> float:
        return float(np.ptp(column.box))

    monkeypatch.setattr(ClientColumns, "_spread", spread)
    monkeypatch.setattr(column_session, "_require_variation", lambda rows: None)


def recovered(D: FloatArray, truth: FloatArray) -> float:
    """Share of values found exactly, up to sign, shift and scale, whichever record each is of."""
    difference = D[:, 1] - D[:, 0]
    found, wanted = np.sort(difference), np.sort(truth)
    best = 0.0
    for sign in (1.0, -1.0):
        guess = np.sort(sign * found)
        slope, shift = np.polyfit(guess, wanted, 1)
        error = np.abs(slope * guess + shift - wanted)
        best = max(best, float((error < 1e-6 * np.ptp(truth)).mean()))
    return best


def attack(folder: Path, split: Split, width: float | None, seen: list[FloatArray]) -> FloatArray:
    sites = write_owners_of(folder, split)
    seen.clear()
    run_across(write_hostile_study(folder, split, width), InProcess(sites), folder / "run")
    return seen[0]


@pytest.mark.parametrize("name", SETS)
def test_bounds_of_a_study_isolated_an_owner(
    name: str, tmp_path: Path, seen: list[FloatArray], scaled_by_the_study: None
) -> None:
    split = SETS[name]()
    D = attack(tmp_path, split, WIDE, seen)
    assert recovered(D, split.target) == 1.0


@pytest.mark.parametrize("name", SETS)
def test_bounds_of_a_study_isolate_nobody_now(
    name: str, tmp_path: Path, seen: list[FloatArray]
) -> None:
    """Owners send the same bits whatever bounds the study gives, or none."""
    split = SETS[name]()
    found = [
        attack(tmp_path / str(i), split, width, seen) for i, width in enumerate((WIDE, 1e4, None))
    ]
    assert recovered(found[0], split.target) < 0.1
    assert len({D.tobytes() for D in found}) == 1


def test_the_bounds_of_an_owner_take_the_place_of_those_of_the_study(
    tmp_path: Path, seen: list[FloatArray]
) -> None:
    split = SETS["iris"]()
    plain = attack(tmp_path / "a", split, WIDE, seen)
    own = write_owners_of(tmp_path / "b", split, extra="[bounds]\nx3 = [-10, 10]\n")
    seen.clear()
    study = write_hostile_study(tmp_path / "b", split, WIDE)
    run_across(study, InProcess(own), tmp_path / "b" / "run")
    assert np.abs(seen[0] - plain).max() > 1e-3


def test_one_process_and_many_machines_scale_alike(tmp_path: Path) -> None:
    split = SETS["iris"]()
    sites = write_owners_of(tmp_path, split)
    study = write_hostile_study(tmp_path, split, WIDE)
    across = run_across(study, InProcess(sites), tmp_path / "run")
    here = run_study(study, tmp_path / "here", secret=SECRET)
    assert across.model.sizes == here.model.sizes
    assert across.clustering.inertia == here.clustering.inertia


def test_an_owner_whose_columns_do_not_vary_hides_nobody(tmp_path: Path) -> None:
    """A study could choose columns that it knows to be constant."""
    X = np.array(load_iris().data)
    X[:, :3] = 1.0
    split = split_of(X, 2, 1, 1)
    sites = write_owners_of(tmp_path, split)
    with pytest.raises(TooFewClients, match="do not vary"):
        run_across(write_hostile_study(tmp_path, split, 9.0), InProcess(sites), tmp_path / "run")
