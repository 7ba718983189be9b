"""Seeds that a few hostile clients cannot choose: what too few clients confirm is left out.

Every client sends as many candidates, so the server knows whose they are. A candidate counts only
if enough other clients have one nearby: more than may lie, so liars cannot confirm each other. No
candidate and no client weighs much more than is usual. Up to a quarter of the clients may lie.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..core import Data, Empty, EmptyRound, Schema
from ..kernels import sq_distances
from ..typing import BoolArray, FloatArray, IntArray, Rng
from .centers import Candidates
from .micro_clusters import MicroSeeding

_LIARS = 0.25  # share of clients
_HEAVY = 3.0  # times the usual weight: more does not count
_FAR = 3.5  # robust standard deviations, on a logarithmic scale


@dataclass(frozen=True, eq=False)
class RobustSeeding(MicroSeeding):
    """Means of small groups of rows that enough clients confirm, then a search for centres."""

    key: ClassVar[str] = "robust"

    def client_step(self, down: Empty, data: Data, rng: Rng) -> Candidates:
        found = super().client_step(down, data, rng)
        missing = self._n_groups - len(found.centers)
        pad = np.zeros((missing, data.X.shape[1]))
        return Candidates(
            np.concatenate([found.centers, pad]),
            np.concatenate([found.weight, np.zeros(missing)]),
            np.concatenate([np.asarray(found.support), np.zeros(missing)]),
        )

    def select(self, merged: Candidates) -> Candidates:
        weight = merged.weight.reshape(-1, self._n_groups)
        weight = _cap(weight)
        by_client = weight.sum(axis=1)
        weight = weight * (_cap(by_client) / np.maximum(by_client, 1e-300))[:, None]
        owner = np.repeat(np.arange(len(weight)), self._n_groups)
        used = np.flatnonzero(weight.ravel() > 0)
        if len(used) == 0:
            raise EmptyRound("no client has enough rows for a candidate")
        kept = used[_confirmed(merged.centers[used], owner[used])]
        return Candidates(merged.centers[kept], weight.ravel()[kept])

    def sizes(self, schema: Schema) -> dict[str, int]:
        return super().sizes(schema) | {"K": self._n_groups}


def _cap(weight: FloatArray) -> FloatArray:
    """Weights, none above a few times the median of those that are not zero."""
    used = weight[weight > 0]
    return np.minimum(weight, _HEAVY * np.median(used)) if len(used) else weight


def _confirmed(points: FloatArray, owner: IntArray) -> BoolArray:
    """Whether enough other clients have a point near to a point, compared with the other points."""
    clients = np.unique(owner)
    needed = int(np.ceil(_LIARS * len(clients)))  # others: one more than liars could be
    if needed >= len(clients):
        return np.ones(len(points), dtype=bool)
    distance = sq_distances(points, points)
    nearest = np.stack([distance[:, owner == c].min(axis=1) for c in clients], axis=1)
    nearest[owner[:, None] == clients] = np.inf
    gap = np.log(np.maximum(np.partition(nearest, needed - 1, axis=1)[:, needed - 1], 1e-300)) / 2
    middle = np.median(gap)
    spread = 1.4826 * np.median(np.abs(gap - middle))
    return np.asarray(gap <= middle + _FAR * max(spread, 0.05))
