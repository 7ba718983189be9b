"""Rows that do not fit into memory: every step reads them again, batch by batch."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..typing import FloatArray, Rng
from .algorithm import Data

SAMPLE_ROWS = 50_000  # sample size of a seeding that cannot hold all rows in memory


@dataclass(frozen=True, eq=False)
class Batches:
    """A client's rows as a source of batches. Each pass yields the same rows in the same order."""

    read: Callable[[], Iterable[Data]]
    n_rows: int
    n_features: int
    policy: Any = None  # `policy`, `form` and `grouped` as in `Data`
    form: bytes = b""
    grouped: int = 0

    def __len__(self) -> int:
        return self.n_rows

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.n_rows, self.n_features

    def __iter__(self) -> Iterator[Data]:
        """Yield at least one (possibly empty) batch, so that empty clients still reply."""
        empty = True
        for batch in self.read():
            empty = False
            yield batch
        if empty:
            yield self.without_rows()

    def without_rows(self) -> Data:
        """Data with the client's columns and policy, but no rows."""
        return Data(np.empty((0, self.n_features)), np.empty(0), policy=self.policy)

    def sample(self, rng: Rng, most: int = SAMPLE_ROWS) -> Data:
        """Draw up to `most` rows uniformly without replacement; their order is kept."""
        if self.n_rows <= most:
            return _rows([batch.X for batch in self])
        drawn = np.sort(rng.choice(self.n_rows, most, replace=False))
        taken, first = [], 0
        for batch in self:
            here = drawn[(drawn >= first) & (drawn < first + len(batch))]
            taken.append(batch.X[here - first])
            first += len(batch)
        return _rows(taken)


def _rows(parts: list[FloatArray]) -> Data:
    return Data(np.concatenate(parts), np.empty(0))
