"""DWF and EWF, as in the paper, with clients that remember distances from round to round.

With the paper's small steps hardly any row changes its cluster from one round to the next. A client
keeps bounds of the distances from its rows to the centres of each local step, and computes a
distance only where the centres have moved too far since (Elkan 2003). The messages are those of
fedclust's own client step, bit for bit, if sums of rows are exact, as those of pixels are.
"""

from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from fedclust.algorithms.centers import Centers, Sums
from fedclust.algorithms.dynamically_weighted import _TINY_WEIGHT, DynamicallyWeighted
from fedclust.algorithms.equally_weighted import EquallyWeighted, LocalCenters
from fedclust.algorithms.momentum import WeightedKMeans
from fedclust.core import Data
from fedclust.typing import FloatArray, Rng

from . import remembering_loops

_MARGIN = 1e-5  # bounds in single precision are better than this


class _Client:
    """What a client remembers, by local step."""

    def __init__(self, X: FloatArray, k: int, steps: int) -> None:
        n, F = X.shape
        self._X = X
        self._known = 0  # steps that have been taken at least once
        self._centers = np.zeros((steps, k, F), np.float32)
        self._labels = np.zeros((steps, n), np.int32)
        self._upper = np.zeros((steps, n))
        self._lower = np.zeros((steps, n, k), np.float32)
        # The step whose means a centre is (-1: none), and which version of them.
        self._source = np.full((steps + 1, k, 2), -2, np.int64)
        self._version = np.zeros((steps, k), np.int64)
        self._count = np.zeros((steps, k))
        self._total = np.zeros((steps, k, F))
        self.trained: FloatArray = np.zeros((k, F))
        self._origin = np.zeros(k, np.int64)
        self._weighted = np.zeros((k, F + 1))  # weights, and trained centres times weights

    def train(self, received: FloatArray) -> None:
        """The local steps."""
        self._known = remembering_loops.train(
            self._X, received, _MARGIN, self._known, self._centers, self._labels, self._upper,
            self._lower, self._source, self._version, self._count, self._total, self.trained,
            self._origin, self._weighted, _TINY_WEIGHT,
        )  # fmt: skip

    @property
    def weight(self) -> FloatArray:
        """Rows at the received centres."""
        return self._weighted[:, 0].copy()

    @property
    def total(self) -> FloatArray:
        """Trained centres times weights."""
        return self._weighted[:, 1:]


# The clients of a run, by the place of their rows in memory.
_REMEMBERED: WeakKeyDictionary[Any, dict[int, _Client]] = WeakKeyDictionary()


def _train(algorithm: Any, down: Centers, data: Data) -> _Client:
    clients = _REMEMBERED.setdefault(algorithm, {})
    client = clients.get(id(data.X))
    if client is None:
        client = _Client(data.X, len(down.centers), algorithm.local_steps)
        clients[id(data.X)] = client
    client.train(down.centers)
    return client


class RememberingDWF(DynamicallyWeighted):
    """DWF k-means, for clients with pixels of weight 1."""

    def client_step(self, down: Centers, data: Data, rng: Rng) -> Sums:
        client = _train(self, down, data)
        return Sums(client.weight, client.total)


class RememberingEWF(EquallyWeighted):
    """EWF k-means, for clients with pixels of weight 1."""

    def client_step(self, down: Centers, data: Data, rng: Rng) -> LocalCenters:
        return LocalCenters(_train(self, down, data).trained, np.ones(1))


REMEMBERING: Mapping[str, type[WeightedKMeans[Any]]] = {
    kind.key: kind for kind in (RememberingDWF, RememberingEWF)
}
