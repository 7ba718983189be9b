"""Tiers: how far a run is protected, what that takes, and what may be promised in plain words."""

import math
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import ClassVar

from ..core import AnyAlgorithm, Channel, ConfigError, Schema, Summed, Transform, checks
from .accounting import mu_for
from .fixed_point import MAX_RECORDS, FixedPoint
from .guard import ChangeGuard
from .noise import IntegerGaussian
from .promise import Promise
from .released import Released
from .secure_channel import SecureChannel
from .suppression import MinCount, MinSamples

RELEASES = 50  # questions to a data set, seeds and scores included
ROUNDS = 40  # of a run, which leaves some of these for seeds and a score
SOFT_ROUNDS = 10  # of fuzzy sums in the open: each round gives equations for the records


@dataclass(frozen=True)
class Tier(ABC):
    """What a word for `privacy` stands for."""

    name: ClassVar[str]
    sums_only: ClassVar[bool] = False  # messages that stack are refused
    noisy: ClassVar[bool] = False

    def most_rounds(self, algorithm: AnyAlgorithm) -> int | None:
        """Rounds after which a run ends, whatever the algorithm says."""
        return None

    def transforms(
        self, algorithm: AnyAlgorithm, schema: Schema, n_clients: int = 1
    ) -> tuple[Transform, ...]:
        """The transforms of a plan."""
        return ()

    def channel(self, channel: Channel) -> Channel:
        """The way to the clients."""
        return channel

    def check(self, algorithm: AnyAlgorithm) -> None:
        """Refuse an algorithm that this tier cannot protect, and name one that it can."""
        if self.sums_only and not issubclass(algorithm.up, Summed):
            lossless = "llf-fcm" if algorithm.soft else "llf-cm"
            raise ConfigError(
                f"privacy={self.name!r}: messages of {algorithm.key!r} stack, so the server would "
                f"see every client's own; {lossless!r} sums, and is lossless (seeds: 'cells' or "
                "'uniform')"
            )

    @property
    def promise(self) -> Promise:
        """What is promised, in plain words."""
        return Promise(self.name, asdict(self), self._words())

    @abstractmethod
    def _words(self) -> str:
        """The promise itself."""


@dataclass(frozen=True)
class Unprotected(Tier):
    """No transform at all: exact, and open."""

    name: ClassVar[str] = "none"

    def _words(self) -> str:
        return (
            "Nothing is promised. The server sees every client's sums in every round, and can work "
            "out single records from them."
        )


@dataclass(frozen=True)
class Paper(Tier):
    """The rule of the algorithm's paper."""

    name: ClassVar[str] = "paper"

    def transforms(
        self, algorithm: AnyAlgorithm, schema: Schema, n_clients: int = 1
    ) -> tuple[Transform, ...]:
        rule = algorithm.rule(schema.n_features)
        wanted: list[Transform] = []
        if rule.min_samples > 1:
            wanted.append(MinSamples(rule.min_samples))
        if rule.min_count > 1:
            wanted.append(MinCount(rule.min_count))
        return tuple(wanted)

    def _words(self) -> str:
        return (
            "Each message by itself shows no single record. Several rounds together do: a server "
            "that keeps them can work out records from their differences."
        )


@dataclass(frozen=True)
class Guarded(Tier):
    """The client withholds what differs by too little from what it has said."""

    change: int = 5
    max_releases: int = RELEASES

    name: ClassVar[str] = "guarded"

    def __post_init__(self) -> None:
        checks.whole(self, "change", 2)
        checks.whole(self, "max_releases")

    def most_rounds(self, algorithm: AnyAlgorithm) -> int:
        return SOFT_ROUNDS if algorithm.soft else ROUNDS

    def transforms(
        self, algorithm: AnyAlgorithm, schema: Schema, n_clients: int = 1
    ) -> tuple[Transform, ...]:
        limit = Released(self.max_releases)
        if algorithm.key == ChangeGuard.guards:
            return limit, MinSamples(2 * self.change), ChangeGuard(self.change)
        if algorithm.soft and issubclass(algorithm.up, Summed):
            return limit, MinSamples(self.fewest(algorithm, schema.n_features))
        counted = (MinCount(self.change),) if algorithm.counted else ()
        return limit, MinSamples(2 * self.change), *counted

    def check(self, algorithm: AnyAlgorithm) -> None:
        """One round is one look; of several only those that are guarded, or fuzzy and few."""
        soft_sums = algorithm.soft and algorithm.lossless and issubclass(algorithm.up, Summed)
        one_round = "max_rounds" not in vars(algorithm)
        if not (soft_sums or one_round or algorithm.key == ChangeGuard.guards):
            raise ConfigError(
                f"privacy={self.name!r}: nobody guards the rounds of {algorithm.key!r}; use "
                f"{'llf-fcm' if algorithm.soft else 'llf-cm'!r}"
            )

    def fewest(self, algorithm: AnyAlgorithm, n_features: int) -> int:
        """Records whose values several rounds of fuzzy sums leave open: more than equations."""
        rounds = min(getattr(algorithm, "max_rounds", 1), SOFT_ROUNDS)
        k = algorithm.n_clusters
        return math.floor(rounds * k * (n_features + 1) / n_features) + 1

    def _words(self) -> str:
        return (
            "A heuristic, not a proof. Clients repeat their last message while fewer than "
            f"{self.change} members of a cluster changed, answer {self.max_releases} questions per "
            "data set, and say nothing if they are small. The attacks we know recover no record "
            "of a client of 50 or more. The result is not exact."
        )


@dataclass(frozen=True)
class Secure(Tier):
    """Masks: the server sees sums over at least three clients."""

    min_cohort: int = 3
    max_releases: int = RELEASES
    max_records: int = MAX_RECORDS
    change: int | None = None  # guard k-means inside the masks too, at the price of exactness

    name: ClassVar[str] = "secure"
    sums_only: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checks.whole(self, "min_cohort", 3)
        checks.whole(self, "max_releases")
        if self.change is not None:
            checks.whole(self, "change", 2)

    def most_rounds(self, algorithm: AnyAlgorithm) -> int:
        return ROUNDS

    def transforms(
        self, algorithm: AnyAlgorithm, schema: Schema, n_clients: int = 1
    ) -> tuple[Transform, ...]:
        limit, grid = (
            Released(self.max_releases),
            FixedPoint.over(schema, max_records=self.max_records),
        )
        if self.change is None or algorithm.key != ChangeGuard.guards:
            return limit, grid
        return limit, MinSamples(2 * self.change), ChangeGuard(self.change), grid

    def channel(self, channel: Channel) -> Channel:
        return SecureChannel(channel, min_cohort=self.min_cohort)

    def _words(self) -> str:
        told = (
            f"The server learns totals over at least {self.min_cohort} clients and nothing of a "
            "single client, as long as it does not pose as clients. "
        )
        if self.change is not None:
            return told + (
                f"Clients repeat their sums while fewer than {self.change} members of a cluster "
                "changed, which is a heuristic for single records. The result is not exact."
            )
        return told + (
            "The result is exact. Nothing is promised about single records: totals of several "
            "rounds can differ by one, and that one is then known, though not whose it is."
        )


@dataclass(frozen=True)
class Private(Tier):
    """Differential privacy: every client adds noise that hides any one record."""

    epsilon: float = 1.0
    delta: float = 1e-6
    rounds: int = 3
    seed_share: float = 0.5  # of the budget, for finding the start

    name: ClassVar[str] = "dp"
    sums_only: ClassVar[bool] = True
    noisy: ClassVar[bool] = True

    def __post_init__(self) -> None:
        mu_for(self.epsilon, self.delta)
        checks.whole(self, "rounds")
        checks.number(self, "seed_share", 0.01, 0.99)

    @property
    def budget(self) -> float:
        """The sum of squares of all mu."""
        return mu_for(self.epsilon, self.delta) ** 2

    def mu(self, algorithm: AnyAlgorithm) -> float:
        """The mu of one round of a plan."""
        stages = getattr(algorithm, "stages", None)
        if stages is not None:
            return math.sqrt(self.seed_share * self.budget / len(stages))
        return math.sqrt((1 - self.seed_share) * self.budget / self.rounds)

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

    def check(self, algorithm: AnyAlgorithm) -> None:
        super().check(algorithm)
        if not hasattr(algorithm, "sensitivity") and algorithm.key not in ("llf-cm", "llf-fcm"):
            raise ConfigError(
                f"privacy={self.name!r}: nobody knows how much one record can change the messages "
                f"of {algorithm.key!r}; 'llf-cm' and 'llf-fcm' can be made private"
            )

    def _words(self) -> str:
        return (
            f"Whatever anybody knows or does, what leaves a client tells about any one record at "
            f"most what epsilon={self.epsilon:g}, delta={self.delta:g} allows, seeding included. "
            "Nobody has to be trusted. The bounds must be public."
        )


@dataclass(frozen=True)
class SecurePrivate(Private):
    """Differential privacy inside secure aggregation: less noise for the same promise."""

    min_cohort: int = 3

    name: ClassVar[str] = "secure+dp"

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.whole(self, "min_cohort", 3)

    def variance_share(self, n_clients: int) -> float:
        """Half of the clients are enough for all the noise, so half may be dishonest."""
        return 1.0 / math.ceil(n_clients / 2)

    def channel(self, channel: Channel) -> Channel:
        # Without a client its noise is missing: no cohort may shrink.
        return SecureChannel(channel, min_cohort=self.min_cohort, max_shrinks=0)

    def _words(self) -> str:
        return (
            f"The result, and all the server sees, tell about any one record at most what epsilon="
            f"{self.epsilon:g}, delta={self.delta:g} allows, seeding included, as long as half of "
            f"at least {self.min_cohort} clients are honest. The bounds must be public."
        )
