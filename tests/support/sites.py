"""Studies of many uneven sites, as files: heavy tails, missing cells, and sites of few rows."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fedclust.typing import FloatArray, IntArray

STUDY = """
[clients]
{clients}
[clustering]
algorithm = "{algorithm}"
{clustering}
[features]
{features}
[data]
{data}
[outputs]
{outputs}
[privacy]
tier = "{tier}"
{privacy}
"""
LOW, HIGH = -80.0, 80.0
PLAIN = (
    "x0 = { low = -80, high = 80 }\nx1 = { low = -80, high = 80 }\nx2 = { low = -80, high = 80 }"
)


def heavy_tailed(n: int, seed: int, n_features: int = 3, k: int = 4) -> FloatArray:
    """Rows of clusters with heavy tails, within the bounds."""
    rng = np.random.default_rng(seed)
    middles = rng.normal(0, 4, (k, n_features))
    rows = middles[rng.integers(0, k, n)] + rng.standard_t(2.0, (n, n_features))
    clipped: FloatArray = np.clip(rows, LOW, HIGH)
    return clipped


def sixty_sites(seed: int = 0) -> tuple[FloatArray, IntArray]:
    """Rows and their owners: 60 sites of 3 to 100 rows."""
    rng = np.random.default_rng(seed)
    sizes = np.concatenate([[3, 3, 4, 100], rng.integers(3, 101, 56)])
    return heavy_tailed(int(sizes.sum()), seed), np.repeat(np.arange(60), sizes)


def write_sites(
    folder: Path,
    X: FloatArray,
    owner: IntArray,
    *,
    tier: str = "none",
    features: str = PLAIN,
    missing: Mapping[tuple[int, int], str] | None = None,
    algorithm: str = "lossless",
    clustering: str = "n_clusters = 3",
    privacy: str = "",
    data: str = "",
    outputs: str = "report = false",
) -> Path:
    """Write a CSV file for each owner, and the study; `missing` replaces cells by text."""
    folder.mkdir(parents=True, exist_ok=True)
    cells: list[list[Any]] = [[repr(float(v)) for v in row] for row in X]
    for (row, column), text in (missing or {}).items():
        cells[row][column] = text
    names = []
    for m in np.unique(owner).tolist():
        lines = [",".join(f"x{f}" for f in range(X.shape[1]))]
        lines += [",".join(cells[i]) for i in np.flatnonzero(owner == m)]
        (folder / f"s{m:02d}.csv").write_text("\n".join(lines) + "\n")
        names.append(f's{m:02d} = "s{m:02d}.csv"')
    text = STUDY.format(
        clients="\n".join(names),
        algorithm=algorithm,
        clustering=clustering,
        features=features,
        data=data,
        outputs=outputs,
        tier=tier,
        privacy=privacy,
    )
    (folder / "study.toml").write_text(text)
    return folder / "study.toml"
