"""Seeding: runs of their own, whose centres are the next plan's `init`.

No seed that leaves a client is a row: clients send means of neighbourhoods that share no row. Where
a paper sends rows, its `reference` preset does so too.
"""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

from ..core import ConfigError, Data, Empty, Role, Schema, Traits, checks
from ..kernels import hard_sums, kmeans_plusplus, pad_centers, random_seeds
from ..typing import FloatArray, Rng
from .centers import Candidates, CenterState, OneRound, cluster_candidates

_NEIGHBOURS = 5  # rows that a seed is the mean of


@dataclass(frozen=True, eq=False)
class UniformSeeding(OneRound[Candidates]):
    """Centres drawn uniformly in the schema's public box: no client is asked, zero rounds.

    The data's own minimum and maximum are no substitute for public bounds: they are people's
    values.
    """

    key: ClassVar[str] = "uniform"
    traits: ClassVar[Traits] = Traits(counted=True, answered_once=True)

    def start(self, schema: Schema, rng: Rng) -> CenterState:
        drawn = rng.uniform(*schema.box(), (self.n_clusters, schema.n_features))
        return CenterState(drawn, 1, 0.0)

    def client_step(self, down: Empty, data: Data, rng: Rng) -> Candidates:
        return Candidates.empty(data.X.shape[1])

    def centers(self, merged: Candidates, rng: Rng) -> FloatArray:
        return merged.centers


@dataclass(frozen=True, eq=False)
class RandomClientSeeding(OneRound[Candidates]):
    """A client drawn at random sends neighbourhood means of rows it draws at random.

    J. L. Corcuera Barcena et al. (2024), Section IV: a random participant draws the centres.
    """

    neighbours: Annotated[int, Role.RECORDS] = _NEIGHBOURS

    key: ClassVar[str] = "client"
    traits: ClassVar[Traits] = Traits(
        one_client=True, counted=True, draws=True, samples=True, answered_once=True
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.integer(self, "neighbours", 3)

    @property
    def unguarded(self) -> str:
        return _unguarded(self.neighbours)

    def client_step(self, down: Empty, data: Data, rng: Rng) -> Candidates:
        seeds = random_seeds(data.X, self.n_clusters, rng, data.weight, neighbours=self.neighbours)
        return _count_support(seeds, data)

    def centers(self, merged: Candidates, rng: Rng) -> FloatArray:
        return pad_centers(merged.centers, self.n_clusters)


@dataclass(frozen=True, eq=False)
class CarefulSeeding(OneRound[Candidates]):
    """k-means++ at every client, seeds blended with their neighbours, k-means over all of them.

    J. L. Corcuera Barcena et al. (2024), Section VI-D. The paper leaves open whether the distances
    of k-means++ are taken to the row or to the mean that replaces it, and whether the row is one
    of its five neighbours: here to the mean, and yes.
    """

    neighbours: Annotated[int, Role.RECORDS] = _NEIGHBOURS
    weighted: bool = False  # weigh a seed by the rows nearest to it
    restarts: Annotated[int, Role.FREE] = 10  # of the server's k-means

    key: ClassVar[str] = "careful"
    traits: ClassVar[Traits] = Traits(counted=True, draws=True, samples=True, answered_once=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.integer(self, "neighbours")
        if self.neighbours == 2:
            raise ConfigError(
                f"{self.key}: neighbours must be 3 or more (blends of 2 give rows back), or 1"
            )
        checks.boolean(self, "weighted")
        checks.integer(self, "restarts")

    @property
    def unguarded(self) -> str:
        return _unguarded(self.neighbours)

    def client_step(self, down: Empty, data: Data, rng: Rng) -> Candidates:
        seeds = kmeans_plusplus(
            data.X, self.n_clusters, rng, data.weight, neighbours=self.neighbours
        )
        return _count_support(seeds, data)

    def centers(self, merged: Candidates, rng: Rng) -> FloatArray:
        return cluster_candidates(
            merged, self.n_clusters, rng, weighted=self.weighted, restarts=self.restarts
        )


def _unguarded(neighbours: int) -> str:
    """Two sizes of one neighbourhood differ by a row, so a guard allows one size only."""
    if neighbours == _NEIGHBOURS:
        return ""
    return (
        f"neighbours={neighbours!r}: two sizes of one neighbourhood differ by a row; {_NEIGHBOURS}"
    )


def _count_support(seeds: FloatArray, data: Data) -> Candidates:
    """Seeds, and the rows nearest to each."""
    if len(seeds) == 0:
        return Candidates.empty(data.X.shape[1])
    near = hard_sums(data.X, seeds, data.weight)
    return Candidates(seeds, near.weight, near.records)


@dataclass(frozen=True, eq=False)
class WeightedSeeding(CarefulSeeding):
    """FKM's seeding: seeds count by the rows nearest to them.

    S. Garst, M. Reinders (2023), Algorithm 1, lines 2-5, where the seeds are rows.
    """

    weighted: bool = True

    key: ClassVar[str] = "fkm"

    @classmethod
    def reference(cls, n_clusters: int, **changes: Any) -> Self:
        """As printed, and as the authors' code of that time did: the seeds are raw rows."""
        return cls(n_clusters, **{"neighbours": 1, **changes})
