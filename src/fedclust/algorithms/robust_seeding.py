"""Seeds that a few hostile clients cannot choose: what too few clients confirm is left out.

Every client sends as many candidates, so the server knows whose they are. With L liars among the
clients, a candidate counts only near to the range that more than L clients reach, if L other
clients have a candidate nearby, and if more than L clients have candidates in its cluster. No
candidate and no client weighs much more than is usual. What liars still get through has no more
than their share of the weight, and most clients choose among the starts that are found.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple

import numpy as np

from ..core import Data, Dims, Empty, EmptyRound, Message, Record, Schema
from ..core.random import stream
from ..kernels import nearest, search_centers, sq_distances
from ..typing import BoolArray, FloatArray, IntArray, Rng
from .centers import Candidates, CenterState
from .micro_clusters import MicroSeeding, PointState, Summary
from .outvoting import ClientPoints, count_liars

_HEAVY = 3.0  # times the usual weight: more does not count
_FAR = 3.5  # robust standard deviations, on a logarithmic scale


class Points(NamedTuple):
    """Candidates that were not withheld, and whose they are."""

    rows: FloatArray  # (P, F)
    weight: FloatArray  # (P,)
    owner: IntArray  # (P,) numbers of clients

    def keep(self, mask: BoolArray) -> "Points":
        """Those in the mask; all, if the mask is empty."""
        if not mask.any():
            return self
        return Points(self.rows[mask], self.weight[mask], self.owner[mask])


@dataclass(frozen=True, eq=False)
class HeldState(PointState):
    """Centres, the weighted points, and which points are in clusters that enough clients hold."""

    held: Annotated[BoolArray, Dims("P")]


@dataclass(frozen=True, eq=False)
class RobustSeeding(MicroSeeding):
    """Means of small groups of rows that enough clients confirm, then a search for centres.

    A cluster of few clients may be a lie, or the only sign of rows that few clients have. Starts
    are searched with and without such clusters. Most clients choose among them.
    """

    key: ClassVar[str] = "robust"
    up: ClassVar[type[Message]] = ClientPoints
    state: ClassVar[type[Record]] = HeldState

    def start(self, schema: Schema, rng: Rng) -> HeldState:
        none = super().start(schema, rng)
        return HeldState(
            none.centers, none.round, none.shift, none.points, none.weight, np.zeros(0, dtype=bool)
        )

    def client_step(self, down: Empty, data: Data, rng: Rng) -> ClientPoints:
        found = super().client_step(down, data, rng)
        missing = self._n_groups - len(found.centers)
        return ClientPoints(
            np.concatenate([found.centers, np.zeros((missing, data.X.shape[1]))]),
            np.concatenate([found.weight, np.zeros(missing)]),
            np.concatenate([np.asarray(found.support), np.zeros(missing)]),
        )

    def server_step(self, state: CenterState, merged: Candidates, rng: Rng) -> HeldState:
        weight = _cap(np.maximum(merged.weight, 0.0).reshape(-1, self._n_groups))
        by_client = weight.sum(axis=1)
        weight = weight * (_cap(by_client) / np.maximum(by_client, 1e-300))[:, None]
        owner = np.repeat(np.arange(len(weight)), self._n_groups)
        if not (weight > 0).any():
            raise EmptyRound("no client has enough rows for a candidate")
        liars = count_liars(len(weight))
        points = Points(merged.centers, weight.ravel(), owner).keep(weight.ravel() > 0)
        points = points.keep(_within_reach(points, liars))
        points = points.keep(_confirmed(points, liars))
        held = _widely_held(points, self.n_clusters, liars)
        rows, weight = points.rows[held], points.weight[held]
        centers = search_centers(rows, self.n_clusters, rng, weight, most=1)[0]
        return HeldState(centers, state.round + 1, 0.0, points.rows, points.weight, held)

    def summaries(self, state: PointState) -> tuple[Summary, ...]:
        every = super().summaries(state)
        if not isinstance(state, HeldState) or state.held.all():
            return every
        return (Summary(state.points[state.held], state.weight[state.held]), *every)

    def sizes(self, schema: Schema) -> dict[str, int]:
        return super().sizes(schema) | {"K": self._n_groups}


def _cap(weight: FloatArray) -> FloatArray:
    """Weights from zero to a few times the median of those above zero."""
    used = weight[weight > 0]
    return np.clip(weight, 0.0, _HEAVY * np.median(used)) if len(used) else weight


def _within_reach(points: Points, liars: int) -> BoolArray:
    """Whether a point is near to the range that more clients reach than may lie."""
    owned = [points.rows[points.owner == c] for c in np.unique(points.owner)]
    liars = min(liars, (len(owned) - 1) // 2)
    low = np.sort([X.min(axis=0) for X in owned], axis=0)[liars]
    high = np.sort([X.max(axis=0) for X in owned], axis=0)[-1 - liars]
    slack = np.maximum(high - low, 0.0).max() + 1e-9 * np.abs([low, high]).max()
    outside = (points.rows < low - slack) | (points.rows > high + slack)
    return np.asarray(~outside.any(axis=1))


def _confirmed(points: Points, liars: int) -> BoolArray:
    """Whether enough other clients have a point near to a point, compared with the other points."""
    clients = np.unique(points.owner)
    needed = max(1, liars)  # others: a liar has fewer accomplices
    if needed >= len(clients):
        return np.ones(len(points.rows), dtype=bool)
    distance = sq_distances(points.rows, points.rows)
    to_client = np.stack([distance[:, points.owner == c].min(axis=1) for c in clients], axis=1)
    to_client[points.owner[:, None] == clients] = np.inf
    gap = np.partition(to_client, needed - 1, axis=1)[:, needed - 1]
    gap = np.log(np.maximum(gap, 1e-300)) / 2
    middle = np.median(gap)
    spread = 1.4826 * np.median(np.abs(gap - middle))
    return np.asarray(gap <= middle + _FAR * max(spread, 0.05))


def _widely_held(points: Points, k: int, liars: int) -> BoolArray:
    """Whether a point is in a cluster in which more clients have points than may lie."""
    rng = stream(0, "widely held", 0)
    held = np.ones(len(points.rows), dtype=bool)
    while liars > 0 and held.sum() > k:
        left = points.keep(held)
        centers = search_centers(left.rows, k, rng, left.weight, most=1)[0]
        cluster = nearest(left.rows, centers)[0]
        clients = np.array([len(np.unique(left.owner[cluster == c])) for c in range(k)])
        wide = (clients > liars)[cluster]
        if wide.all() or not wide.any():
            break
        held[held] = wide
    return held
