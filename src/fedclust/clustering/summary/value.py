"""The summary: what one run of sums says about all rows, as a value.

Everything here is a pure function of the summary. No client is queried.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from ...core import ConfigError, stream
from ...kernels import nearest
from ...results import build, to_json
from ...typing import FloatArray


@dataclass(frozen=True, eq=False)
class DataSummary:
    """Small clusters of all rows: their means, weights, spreads and borders."""

    centers: FloatArray  # (M, P) the mean of each micro-cluster, in prepared units
    weight: FloatArray  # (M,) above zero
    square: FloatArray  # (M, P) sum of squared differences from the mean, by column
    borders: FloatArray  # (M, M) weight of the rows by their nearest and their second nearest
    queries: int = 0  # that it took
    noise: float = 0.0  # standard deviation of the noise of a weight; 0: exact
    cells: FloatArray | None = None  # (M, P) observed weight by column, where cells are missing
    shapes: tuple[int, ...] | None = None  # (M,) if they were found before the numbers were rounded

    def __post_init__(self) -> None:
        M, P = self.centers.shape if self.centers.ndim == 2 else (0, 0)
        shapes = {"weight": (M,), "square": (M, P), "borders": (M, M)}
        if self.cells is not None:
            shapes["cells"] = (M, P)
        wrong = [name for name, shape in shapes.items() if getattr(self, name).shape != shape]
        if M == 0 or wrong:
            raise ConfigError(f"summary: wrong shape of {', '.join(wrong or ['centers'])}")
        if self.shapes is not None and not (
            len(self.shapes) == M and all(0 <= shape < M for shape in self.shapes)
        ):
            raise ConfigError("summary: shapes must be a number of every micro-cluster, from 0")
        values = (self.centers, self.weight, self.square, self.borders)
        if not all(np.isfinite(a).all() for a in values) or not (self.weight > 0).all():
            raise ConfigError("summary: weights must be above zero, and all values finite")

    def __len__(self) -> int:
        return len(self.centers)

    @property
    def rows(self) -> float:
        """Weight of all rows."""
        return float(self.weight.sum())

    @property
    def seen(self) -> FloatArray:
        """Observed weight by micro-cluster and column, (M, P) or (M, 1)."""
        return self.weight[:, None] if self.cells is None else self.cells

    @property
    def bordered(self) -> bool:
        """Whether clusters by shape can be found; noise hides the borders that they need."""
        return self.shapes is not None or len(self) == 1 or bool(self.borders.any())

    @property
    def within(self) -> float:
        """Sum of squares of rows around the mean of their micro-cluster."""
        return float(self.square.sum())

    @property
    def total_inertia(self) -> float:
        """Sum of squares of all rows around their mean."""
        return self.inertia(self.mean[None])

    @property
    def mean(self) -> FloatArray:
        """The mean of all rows."""
        mean: FloatArray = self.weight @ self.centers / self.rows
        return mean

    def inertia(self, centers: FloatArray) -> float:
        """Inertia of centres, if all rows of a micro-cluster go to the same one.

        It is never below the inertia over all rows, where each row goes to its own nearest centre.
        """
        return self.within + float(self.weight @ nearest(self.centers, centers)[1])

    def scaled(self, factor: FloatArray) -> Self:
        """The summary of the same rows with every column multiplied by its factor."""
        return replace(self, centers=self.centers * factor, square=self.square * factor**2)

    def as_config(self) -> dict[str, Any]:
        """Plain values, for a file."""
        config: dict[str, Any] = to_json(self)
        return config

    @classmethod
    def from_config(cls, config: Mapping[str, Any], where: str = "summary") -> Self:
        """Inverse of `as_config`; `where` names the file in errors."""
        return build(cls, config, where)


def draw_rows(summary: DataSummary, most: int, seed: int = 0) -> FloatArray:
    """Up to `most` invented rows with the means, weights and spreads of the summary.

    They are drawn around each micro-cluster, by one Gaussian in each column. They show the shape
    of the data as well as the summary does, and hold nothing that the summary does not.
    """
    rng = stream(seed, "summary", 0)
    share = summary.weight * min(1.0, most / summary.rows)
    counts = np.floor(share).astype(np.int64)
    left = round(float(share.sum())) - int(counts.sum())
    counts[np.argsort(counts - share, kind="stable")[:left]] += 1
    label = np.repeat(np.arange(len(summary)), counts)
    spread = np.sqrt(summary.square / summary.weight[:, None])
    noise = rng.normal(size=(len(label), summary.centers.shape[1]))
    rows: FloatArray = summary.centers[label] + noise * spread[label]
    return rows[rng.permutation(len(rows))]
