"""Rows that do not fit into memory: read anew, batch by batch, whenever a step needs them."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..typing import FloatArray, Rng
from .algorithm import Data

SAMPLE_ROWS = 50_000  # what a seeding looks at where it cannot look at all


@dataclass(frozen=True, eq=False)
class Batches:
    """A client's rows as a source of batches; every reading gives the same rows in one order."""

    read: Callable[[], Iterable[Data]]
    n_rows: int
    n_features: int
    policy: Any = None  # as those of `Data`
    form: bytes = b""

    def __len__(self) -> int:
        return self.n_rows

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.n_rows, self.n_features

    def __iter__(self) -> Iterator[Data]:
        """One batch at least, for a client without rows has something to say, too."""
        there = False
        for batch in self.read():
            there = True
            yield batch
        if not there:
            yield self.without_rows()

    def without_rows(self) -> Data:
        """The client as it would be if it had no rows."""
        return Data(np.empty((0, self.n_features)), np.empty(0), policy=self.policy)

    def sample(self, rng: Rng, most: int = SAMPLE_ROWS) -> Data:
        """Rows drawn without replacement, each as likely as any other, in their order."""
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
