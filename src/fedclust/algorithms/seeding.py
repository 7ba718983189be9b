"""Seedings: separate runs whose centres are the `init` of the next plan.

Clients never send a row as a seed: they send means of disjoint neighbourhoods. If a paper sends
rows, its `reference` preset does so too.
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
    """Centres drawn uniformly within the public bounds; it takes no round and sends no request.

    The data's own minimum and maximum cannot replace public bounds: they are values of records.
    """

    key: ClassVar[str] = "uniform"
    traits: ClassVar[Traits] = Traits(counted=True)

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
    traits: ClassVar[Traits] = Traits(one_client=True, counted=True, draws=True, samples=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.integer(self, "neighbours", 3)

    def client_step(self, down: Empty, data: Data, rng: Rng) -> Candidates:
        seeds = random_seeds(data.X, self.n_clusters, rng, data.weight, neighbours=self.neighbours)
        return _count_support(seeds, data)

    def centers(self, merged: Candidates, rng: Rng) -> FloatArray:
        return pad_centers(merged.centers, self.n_clusters)


@dataclass(frozen=True, eq=False)
class CarefulSeeding(OneRound[Candidates]):
    """k-means++ at every client, each seed averaged with its neighbours, then k-means over all.

    J. L. Corcuera Barcena et al. (2024), Section VI-D. The paper leaves open whether the distances
    of k-means++ are taken to the row or to the mean that replaces it, and whether the row is one
    of its five neighbours: here they are taken to the mean, and it is.
    """

    neighbours: Annotated[int, Role.RECORDS] = _NEIGHBOURS
    weighted: bool = False  # weight a seed by the rows nearest to it
    restarts: Annotated[int, Role.FREE] = 10  # of the server's k-means

    key: ClassVar[str] = "careful"
    traits: ClassVar[Traits] = Traits(counted=True, draws=True, samples=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.integer(self, "neighbours")
        if self.neighbours == 2:
            raise ConfigError(
                f"{self.key}: neighbours must be 1, or at least 3: means of 2 rows can reveal them"
            )
        checks.boolean(self, "weighted")
        checks.integer(self, "restarts")

    def client_step(self, down: Empty, data: Data, rng: Rng) -> Candidates:
        seeds = kmeans_plusplus(
            data.X, self.n_clusters, rng, data.weight, neighbours=self.neighbours
        )
        return _count_support(seeds, data)

    def centers(self, merged: Candidates, rng: Rng) -> FloatArray:
        return cluster_candidates(
            merged, self.n_clusters, rng, weighted=self.weighted, restarts=self.restarts
        )


def _count_support(seeds: FloatArray, data: Data) -> Candidates:
    """Weight each seed by the rows nearest to it."""
    if len(seeds) == 0:
        return Candidates.empty(data.X.shape[1])
    near = hard_sums(data.X, seeds, data.weight)
    return Candidates(seeds, near.weight, near.records)


@dataclass(frozen=True, eq=False)
class WeightedSeeding(CarefulSeeding):
    """FKM's seeding: seeds are weighted by the rows nearest to them.

    S. Garst, M. Reinders (2023), Algorithm 1, lines 2-5, where the seeds are rows.
    """

    weighted: bool = True
    # The paper's p: a seed with fewer nearest records is not sent. It costs clients nothing.
    min_nearest: Annotated[int, Role.FREE] = 1
    weighted_starts: bool = True  # the server's k-means++ draws seeds by weight, too

    key: ClassVar[str] = "fkm"

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.integer(self, "min_nearest")
        checks.boolean(self, "weighted_starts")

    def client_step(self, down: Empty, data: Data, rng: Rng) -> Candidates:
        return super().client_step(down, data, rng).keep_supported(self.min_nearest)

    def centers(self, merged: Candidates, rng: Rng) -> FloatArray:
        return cluster_candidates(
            merged,
            self.n_clusters,
            rng,
            weighted=self.weighted,
            restarts=self.restarts,
            weighted_starts=self.weighted_starts,
        )

    @classmethod
    def reference(cls, n_clusters: int, **changes: Any) -> Self:
        """As printed, and as in the authors' code of that time: the seeds are raw rows, p is 2.

        In the scikit-learn of that time k-means++ ignored the weights.
        """
        settings = {"neighbours": 1, "min_nearest": 2, "weighted_starts": False}
        return cls(n_clusters, **{**settings, **changes})
