"""The tiers of differential privacy: noise at every client, or once for all of them."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Self

from ..algorithms.bounded_c_means import BoundedCMeans
from ..algorithms.bounded_moments import BoundedMoments
from ..algorithms.cell_seeding import CellSeeding
from ..algorithms.range_counts import NOISY_ROUNDS, RangeCounts
from ..core import AnyAlgorithm, Channel, ConfigError, Plan, Schema, Stage, Transform, checks
from ..privacy import IntegerGaussian, SecureChannel
from ..privacy.accounting import epsilon_of, mu_for
from ..settings import Key
from .base import Conflicts, StudySettings, Tier

_PREPARATION_SHARE = 0.1  # of the budget, for bounds or for a scale
_SUMMARY_SEED_SHARE = 0.7  # of the budget, where micro-clusters are found and summed up once


@dataclass(frozen=True)
class Private(Tier):
    """Differential privacy: every client adds noise that hides any one record."""

    epsilon: Annotated[
        float, Key("with dp: epsilon, the bound on the privacy loss of a record", low=0, above=True)
    ] = 1.0
    delta: Annotated[
        float,
        Key("with dp: delta, the probability that the bound fails", low=0, high=1, above=True),
    ] = 1e-6
    rounds: int = 3
    seed_share: float = 0.5  # for finding the start, of what is left of the budget
    range_share: float = 0.0  # of the budget, for estimating bounds
    scale_share: float = 0.0  # of the budget, for means and deviations of columns

    name: ClassVar[str] = "dp"
    sums_only: ClassVar[bool] = True
    noisy: ClassVar[bool] = True
    advice: ClassVar[str] = ""
    limits_queries: ClassVar[bool] = True

    def __post_init__(self) -> None:
        mu_for(self.epsilon, self.delta)
        checks.integer(self, "rounds")
        checks.number(self, "seed_share", 0.01, 0.99)
        checks.number(self, "range_share", 0.0, 0.4)
        checks.number(self, "scale_share", 0.0, 0.4)

    @property
    def budget(self) -> float:
        """The sum of squares of all mu."""
        return mu_for(self.epsilon, self.delta) ** 2

    def mu(self, algorithm: AnyAlgorithm) -> float:
        """The mu of one round of a plan."""
        if isinstance(algorithm, RangeCounts):
            return math.sqrt(self.range_share * self.budget / NOISY_ROUNDS)
        if isinstance(algorithm, BoundedMoments):
            return math.sqrt(self.scale_share * self.budget)
        left = (1 - self.range_share - self.scale_share) * self.budget
        if isinstance(algorithm, CellSeeding):
            return math.sqrt(self.seed_share * left / len(algorithm.stages))
        return math.sqrt((1 - self.seed_share) * left / self.rounds)

    def cost(self, *, seeded: bool = True) -> float:
        """The part of the budget that a run spends, as a sum of squares of mu."""
        prepared = self.range_share + self.scale_share
        clustered = 1.0 if seeded else 1.0 - self.seed_share
        return self.budget * (prepared + (1.0 - prepared) * clustered)

    def variance_share(self, n_clients: int) -> float:
        """Of the noise of a sum, what each client adds."""
        return 1.0

    def noise(self, algorithm: AnyAlgorithm, n_clients: int) -> float:
        """Standard deviation of the noise in the sum of all clients, in sensitivities."""
        return math.sqrt(n_clients * self.variance_share(n_clients)) / self.mu(algorithm)

    def transforms(
        self, algorithm: AnyAlgorithm, schema: Schema, n_clients: int = 1
    ) -> tuple[Transform, ...]:
        return (IntegerGaussian(self.mu(algorithm), self.variance_share(n_clients)),)

    def missing_protection(self, plan: Plan, schema: Schema) -> str:
        full = any(isinstance(t, IntegerGaussian) and t.share == 1 for t in plan.transforms)
        return "" if full else "the full noise of this client"

    def check(self, algorithm: AnyAlgorithm) -> None:
        super().check(algorithm)
        if not (algorithm.traits.bounded or algorithm.traits.boundable):
            raise ConfigError(
                f"privacy={self.name!r}: no bound is known on how much one record changes the "
                f"messages of {algorithm.key!r}; 'llf-cm' and 'llf-fcm' can be made private"
            )

    def adapt(self, algorithm: AnyAlgorithm, schema: Schema, n_clients: int) -> AnyAlgorithm:
        """An algorithm of bounded influence in its place, with the noise that it must expect."""
        self.check_missing(missing=schema.missing)
        self.check(algorithm)
        if algorithm.traits.bounded:
            return algorithm
        low, high = schema.box()
        bounded = BoundedCMeans(
            algorithm.n_clusters,
            low,
            high,
            init=algorithm.parameter("init"),
            fuzzifier=float(algorithm.parameter("fuzzifier", 1.0)),
            rounds=self.rounds,
        )
        return replace(bounded, noise=self.noise(bounded, n_clients))

    def seeding(self, algorithm: AnyAlgorithm, schema: Schema, n_clients: int) -> AnyAlgorithm:
        cells = CellSeeding(algorithm.n_clusters, *schema.box())
        return replace(cells, noise=self.noise(cells, n_clients))

    def most_rounds(self, algorithm: AnyAlgorithm) -> int:
        return self.rounds

    def with_rounds(self, max_rounds: int | None) -> Self:
        return self if max_rounds is None else replace(self, rounds=max_rounds)

    def for_preparation(self, *, ranges: bool, scale: bool) -> Self:
        """A part of the budget for each."""
        return replace(
            self,
            range_share=_PREPARATION_SHARE if ranges else 0.0,
            scale_share=_PREPARATION_SHARE if scale else 0.0,
        )

    def for_summary(self) -> Self:
        """One round of micro-clusters; most of the budget finds their places."""
        return replace(self, rounds=1, seed_share=_SUMMARY_SEED_SHARE)

    def refused_limits(
        self, algorithm: AnyAlgorithm, max_rounds: int | None, tol: float | None
    ) -> Iterator[tuple[str, str]]:
        if tol is not None:
            words = "a run has a fixed number of rounds, each paid for; give max_rounds, not tol"
            yield "tol", f"tol={tol:g}: with privacy={self.name!r} {words}"

    def conflicts(self, study: StudySettings) -> Conflicts:
        name = f"tier = {self.name!r}"
        if study.clustering.n_init > 1:
            words = f"n_init must be 1 with {name}: every restart spends privacy budget"
            yield ("clustering", "n_init"), words
        if ("privacy", "min_count") in study.given:
            words = f"min_count has no meaning for {name}: noise stands behind every number"
            yield ("privacy", "min_count"), words

    def epsilon_after(self, repeated: float) -> float:
        return epsilon_of(math.sqrt(self.budget + repeated), self.delta)

    def _words(self) -> str:
        return (
            "Whatever anyone else knows or does, what leaves a client reveals about any one "
            f"record at most what epsilon={self.epsilon:g}, delta={self.delta:g} allows, seeding "
            "included. No other party has to be trusted. The bounds must be public."
        )


@dataclass(frozen=True)
class SecurePrivate(Private):
    """Differential privacy inside secure aggregation: less noise for the same guarantee."""

    min_cohort: int = 3

    name: ClassVar[str] = "secure+dp"
    masks: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.integer(self, "min_cohort", 3)

    @property
    def fewest_clients(self) -> int:
        return self.min_cohort

    def variance_share(self, n_clients: int) -> float:
        """Half of the clients are enough for all the noise, so half may be dishonest."""
        return 1.0 / math.ceil(n_clients / 2)

    def missing_protection(self, plan: Plan, schema: Schema) -> str:
        both = {Stage.NOISE, Stage.MASK} <= {t.stage for t in plan.transforms}
        return "" if both else "noise and masks"

    def channel(self, channel: Channel) -> Channel:
        if isinstance(channel, SecureChannel):
            return channel
        # Without a client its noise is missing: no cohort may shrink.
        return SecureChannel(channel, min_cohort=self.min_cohort, steady=True)

    def _words(self) -> str:
        return (
            "The result, and all the server sees, reveal about any one record at most what "
            f"epsilon={self.epsilon:g}, delta={self.delta:g} allows, seeding included, as long as "
            f"half of at least {self.min_cohort} clients are honest. The bounds must be public."
        )
