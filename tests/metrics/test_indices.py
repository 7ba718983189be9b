"""The registry of indices."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fedclust import ConfigError, metrics
from fedclust.metrics.registry import Indices
from fedclust.metrics.standard import STANDARD, inertia

PACKAGE = """
from fedclust.metrics import Index

mean = Index(
    name="a-mean",
    title="Mean",
    meaning="mean squared distance",
    better="lower",
    sums=lambda rows: rows.mean_of(rows.D.min(axis=1)),
    formula=lambda sums, centers: float(sums[0] / sums[1]),
    size=2,
)
"""


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, entries: str) -> Indices:
    """Return the indices after installing a package with these entry points."""
    (folder / "added_index.py").write_text(PACKAGE)
    about = folder / "added_index-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: added-index\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[fedclust.indices]\n{entries}\n")
    monkeypatch.syspath_prepend(str(folder))
    return Indices(STANDARD)


def test_an_installed_package_adds_an_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    indices = install(tmp_path, monkeypatch, "a-mean = added_index:mean")
    assert list(indices) == [*(index.name for index in STANDARD), "a-mean"]
    assert len(indices) == len(STANDARD) + 1
    X, C = np.arange(12.0).reshape(6, 2), np.zeros((1, 2))
    assert indices["a-mean"](X, C) == metrics.score(X, C)
    with pytest.raises(ConfigError, match="index 'a-mean' already exists"):
        indices.register(replace(inertia, name="a-mean"))


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ("a-mean = added_index:nothing", "cannot be imported"),
        ("a-mean = added_index_elsewhere:mean", "cannot be imported"),
        ("other = added_index:mean", "is not a fedclust.metrics.Index of that name"),
        ("Index = json:loads", "is not a fedclust.metrics.Index of that name"),
    ],
)
def test_an_unusable_entry_is_named_when_it_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry: str, problem: str
) -> None:
    indices = install(tmp_path, monkeypatch, entry)
    name = entry.partition(" ")[0]
    assert name in indices
    assert indices["inertia"] is inertia
    with pytest.raises(ConfigError, match=f"index '{name}' .* {problem}"):
        indices[name]


def test_registered_indices_come_after_the_standard_ones_by_name() -> None:
    indices = Indices(STANDARD)
    second, first = (indices.register(replace(inertia, name=name)) for name in ("z", "a"))
    assert list(indices)[len(STANDARD) :] == ["a", "z"]
    assert (indices["a"], indices["z"]) == (first, second)
    indices.unregister("z")
    assert "z" not in indices
    with pytest.raises(ConfigError, match="index 'inertia' is not registered"):
        indices.unregister("inertia")
    with pytest.raises(ConfigError, match="index 'inertia' already exists"):
        indices.register(inertia)


def test_sums_of_the_wrong_size_are_refused() -> None:
    wrong = replace(inertia, name="wrong", size=3)
    with pytest.raises(ConfigError, match=r"wrong: sums returned an array of shape \(2,\)"):
        wrong(np.zeros((4, 1)), np.zeros((1, 1)))


def test_which_standard_indices_a_study_reports() -> None:
    names = [index.name for index in metrics.reported_indices(2)]
    assert names == ["simplified-silhouette", "soft-davies-bouldin", "davies-bouldin", "xie-beni"]
    assert "simplified-silhouette" not in [i.name for i in metrics.reported_indices(1)]
