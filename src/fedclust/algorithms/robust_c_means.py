"""k-means that is robust to a few hostile clients: only means near to their median count.

One Lloyd step per round at every client. The mean of rows that are nearest to a centre is nearest
to that centre, too. A client that sends another mean lies, and is left out of the round. The server
takes the weighted coordinate-wise median of the other clients' means of a cluster (Yin et al. 2018,
Byzantine-robust distributed learning), and moves the centre to the mean of those that are near
(`outvoting`). Means are stacked, so the server sees those of every client: this is for clients that
are less trusted than the server. On heterogeneous data the result differs from that of pooled data.
The seeding is robust, too.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from ..core import AnyAlgorithm, Data, Dims, Role, Schema, Stacked, Traits, checks
from ..kernels import divide_or_keep, hard_sums, inertia
from ..typing import FloatArray, Rng
from .centers import CenterAlgorithm, Centers, CenterState
from .micro_clusters import RivalQuery, Rivals
from .outvoting import (
    ClientPoints,
    cap_clients,
    count_liars,
    exaggerated,
    outside_cells,
    outvoting_mean,
    score_by_most,
)

_FULL_STEPS, _HALVED_AFTER = 30, 5  # rounds


@dataclass(frozen=True, eq=False)
class RobustCMeans(CenterAlgorithm[CenterState, ClientPoints]):
    """Centres at the mean of those clients' means that are near to their median."""

    # A mean of fewer records is not sent.
    min_count: Annotated[int, Role.RECORDS] = 2

    key: ClassVar[str] = "robust-cm"
    use_for: ClassVar[str] = "Use it when some clients may send false means."
    traits: ClassVar[Traits] = Traits(counted=True)
    seeding: ClassVar[str | None] = "robust"

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.integer(self, "min_count")

    def client_step(self, down: Centers, data: Data, rng: Rng) -> ClientPoints:
        return _local_means(data, down.centers, self.min_count)

    def server_step(self, state: CenterState, merged: ClientPoints, rng: Rng) -> CenterState:
        means = merged.centers.reshape(-1, *state.centers.shape)
        weight = merged.weight.reshape(means.shape[:2])
        moved = _move(state.centers, means, weight)
        # Votes can change sides for ever, so late steps become shorter until the centres rest.
        step = 0.5 ** max(0.0, (state.round - _FULL_STEPS) / _HALVED_AFTER)
        return state.move_to(state.centers + step * (moved - state.centers))

    def sizes(self, schema: Schema) -> dict[str, int]:
        return super().sizes(schema) | {"K": self.n_clusters}

    def rival_steps(self, init: FloatArray, *, step: bool) -> AnyAlgorithm:
        return RobustRivals(self.n_clusters, init, step, self.min_count)


@dataclass(frozen=True, eq=False)
class RivalMeans(Stacked):
    """A client's means of the clusters of several starts, and its inertia under each start."""

    inertia: Annotated[FloatArray, Dims("R")]
    mean: Annotated[FloatArray, Dims("RC", "F")]
    weight: Annotated[FloatArray, Dims("RC")]  # zero: withheld


@dataclass(frozen=True, eq=False)
class RobustRivals(RivalQuery[RivalMeans]):
    """Which of several starts most clients prefer, and one robust step from each."""

    # A mean of fewer records is not sent.
    min_count: Annotated[int, Role.RECORDS] = 2

    key: ClassVar[str] = "robust-rivals"
    traits: ClassVar[Traits] = Traits()

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.integer(self, "min_count")

    def client_step(self, down: Centers, data: Data, rng: Rng) -> RivalMeans:
        starts = self.split(down.centers)
        values = np.array([inertia(data.X, centers, data.weight) for centers in starts])
        if not self.step:
            return RivalMeans(values, np.empty((0, data.X.shape[1])), np.empty(0))
        found = ClientPoints.merge([_local_means(data, c, self.min_count) for c in starts])
        return RivalMeans(values, found.centers, found.weight)

    def model(self, state: RivalMeans) -> Rivals:
        starts = self.split(self.init)
        R, C, F = starts.shape
        errors = state.inertia.reshape(-1, R)
        means, weight = state.mean.reshape(-1, R, C, F), state.weight.reshape(-1, R, C)
        false = exaggerated(errors)
        for r, start in enumerate(starts if self.step else ()):
            false = false | outside_cells(start, means[:, r], weight[:, r])
        if false.all():
            return Rivals(starts, np.zeros(R))
        liars = count_liars(len(errors), int(false.sum()))
        score = score_by_most(errors[~false], liars)
        if not self.step:
            return Rivals(starts, score)
        each = zip(starts, means[~false].swapaxes(0, 1), weight[~false].swapaxes(0, 1), strict=True)
        return Rivals(np.stack([_outvote(*one, liars) for one in each]), score)


def _local_means(data: Data, centers: FloatArray, min_count: int) -> ClientPoints:
    """Client: the mean of each cluster that has at least `min_count` records."""
    sums = hard_sums(data.X, centers, data.weight)
    means = divide_or_keep(sums.total, sums.weight, centers)
    return ClientPoints(means, sums.weight, sums.records).keep(sums.records >= min_count)


def _move(centers: FloatArray, means: FloatArray, weight: FloatArray) -> FloatArray:
    """Server: move each centre to what most clients agree on, by their means (M, C, F)."""
    false = outside_cells(centers, means, weight)
    liars = count_liars(len(means), int(false.sum()))
    return _outvote(centers, means[~false], weight[~false], liars)


def _outvote(centers: FloatArray, means: FloatArray, weight: FloatArray, liars: int) -> FloatArray:
    """Server: the same, of clients that are not known to lie; so many of them may."""
    votes = cap_clients(weight)
    moved = [outvoting_mean(means[:, c], votes[:, c], old, liars) for c, old in enumerate(centers)]
    return np.stack(moved)
