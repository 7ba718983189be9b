"""A small study of two clients, and where to change it."""

from pathlib import Path
from typing import Any

import numpy as np

SMALLEST = """
[clients]
north = "north.csv"
south = "south.csv"

[clustering]
algorithm = "lossless"
n_clusters = 2
"""


def write(folder: Path, study: str = SMALLEST, rows: int = 40) -> Path:
    rng = np.random.default_rng(0)
    for client, middle in (("north", 40), ("south", 60)):
        lines = ["patient,age,weight,sex"]
        for i in range(rows):
            age = "NA" if i == 3 else f"{rng.normal(middle, 4):.2f}"
            lines.append(f"{client}{i},{age},{rng.normal(70, 9):.2f},{'fm'[i % 2]}")
        (folder / f"{client}.csv").write_text("\n".join(lines) + "\n")
    (folder / "study.toml").write_text(study)
    return folder / "study.toml"


def read(done: Any, client: str) -> dict[str, list[Any]]:
    from pyarrow import parquet

    found: dict[str, list[Any]] = parquet.read_table(done.labels[client]).to_pydict()
    return found
