"""Studies over rows with missing cells, from files to labels and report."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fedclust
from fedclust.cli.tools.examples import write_example
from fedclust.core import ConfigError
from fedclust.core.files import write_text
from fedclust.data.files import read_table
from fedclust.data.settings import ReadOptions
from fedclust.datasets import load
from fedclust.study import read_study, run_study
from fedclust.study.export import as_pipeline
from fedclust.study.label import label_files

STUDY = """
[clients]
north = "north.csv"
south = "south.csv"
west = "west.csv"

[clustering]
n_clusters = 2

[data]
missing = "partial"

[privacy]
tier = "{tier}"

[features]
a = {{ low = -10, high = 20 }}
b = {{ low = -10, high = 20 }}
c = {{ low = -10, high = 20 }}

[outputs]
report = false
"""


def write_clients(folder: Path, tier: str = "none") -> Path:
    """Three clients; one lacks a column, one has a row without any value."""
    rng = np.random.default_rng(0)
    for number, name in enumerate(("north", "south", "west")):
        X = rng.normal(size=(40, 3)) + 8.0 * (np.arange(40) % 2)[:, None]
        X[rng.random(X.shape) < 0.2] = np.nan
        X[:, 0] = np.where(np.isnan(X).all(axis=1), 1.0, X[:, 0])
        if number == 0:
            X[5] = np.nan
        names = ["a", "b"] if number == 2 else ["a", "b", "c"]
        X[:, 0] = np.where(number == 2, np.nan_to_num(X[:, 0]), X[:, 0])
        lines = [
            ",".join("" if np.isnan(v) else f"{v:.6f}" for v in row[: len(names)]) for row in X
        ]
        write_text(folder / f"{name}.csv", "\n".join([",".join(names), *lines]) + "\n")
    write_text(folder / "study.toml", STUDY.format(tier=tier))
    return folder / "study.toml"


def read_profile(run: Path) -> Any:
    return json.loads((run / "profile.json").read_text())
