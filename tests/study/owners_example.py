"""A study of two owners of columns, and where to change it."""

import csv
from pathlib import Path
from typing import Any

import numpy as np

STUDY = """
[clients]
bank = "bank.csv"
shop = "shop.csv"

[data]
split = "columns"
id = "person"
{data}

[clustering]
algorithm = "lossless"
n_clusters = 3
seed = 7
{clustering}

[outputs]
labels = "csv"
report = false
{more}
"""


Frame = dict[str, Any]


def frames(n: int = 90) -> dict[str, Frame]:
    rng = np.random.default_rng(3)
    X = rng.normal(0, 4, (3, 3))[rng.integers(0, 3, n)] + rng.normal(size=(n, 3))
    mine, yours = rng.permutation(n)[:80], rng.permutation(n)[:85]
    return {
        "bank": {"person": [f"p{i}" for i in mine], "income": X[mine, 0], "debt": X[mine, 1]},
        "shop": {"person": [f"p{i}" for i in yours], "spent": 100 + 30 * X[yours, 2]},
    }


def write(
    folder: Path,
    tables: dict[str, Frame] | None = None,
    data: str = "",
    clustering: str = "",
    more: str = "",
) -> Path:
    for owner, table in (tables or frames()).items():
        with open(folder / f"{owner}.csv", "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(table)
            writer.writerows(zip(*(map(str, column) for column in table.values()), strict=True))
    path = folder / "s.toml"
    path.write_text(STUDY.format(data=data, clustering=clustering, more=more))
    return path
