"""Tiers: how far a run is protected, what that takes, and what may be promised in plain words."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any, ClassVar

from ..core import (
    AnyAlgorithm,
    Channel,
    ConfigError,
    Plan,
    Schema,
    Stage,
    Summed,
    Transform,
    checks,
)
from ..settings import Key
from .fixed_point import MAX_RECORDS, FixedPoint
from .guard import ChangeGuard
from .policy import QueryLimit
from .secure_channel import SecureChannel
from .suppression import MinCount, MinSamples

RELEASES = 50  # questions to a data set, seeds and scores included
ROUNDS = 40  # of a run, which leaves some of these for seeds and a score
CHANGE = Key("guarded, secure: minimum number of changed rows behind a new answer", low=2)
MAX_QUERIES = Key("guarded, secure: maximum number of queries to a data set", low=1)


@dataclass(frozen=True)
class Guarantee:
    """A tier as its users are told of it."""

    tier: str
    parameters: Mapping[str, Any]
    words: str
    exact: bool = False  # a lossless result stays lossless

    def __str__(self) -> str:
        settings = ", ".join(f"{name}={value}" for name, value in self.parameters.items())
        return f"{self.tier}{f' ({settings})' if settings else ''}: {self.words}"


@dataclass(frozen=True)
class Tier(ABC):
    """What a word for `privacy` stands for."""

    name: ClassVar[str]
    sums_only: ClassVar[bool] = False  # messages that stack are refused
    noisy: ClassVar[bool] = False
    guards: ClassVar[bool] = False  # clients withhold what is too like what they have said
    limits_queries: ClassVar[bool] = False  # so few questions are answered that none may be wasted

    def most_rounds(self, algorithm: AnyAlgorithm) -> int | None:
        """Rounds after which a run ends, whatever the algorithm says."""
        return None

    def transforms(
        self, algorithm: AnyAlgorithm, schema: Schema, n_clients: int = 1
    ) -> tuple[Transform, ...]:
        """The transforms of a plan."""
        return ()

    def channel(self, channel: Channel) -> Channel:
        """The way to the clients; one that is protected already stays as it is."""
        return channel

    def plan(
        self, algorithm: AnyAlgorithm, channel: Channel, schema: Schema, seed: int = 0
    ) -> Plan:
        """The algorithm with all that this tier adds to it, or a refusal."""
        self.check(algorithm)
        n_clients = len(tuple(channel.clients()))
        return Plan(algorithm, self.transforms(algorithm, schema, n_clients), seed)

    def missing_protection(self, plan: Plan, schema: Schema) -> str:
        """What a plan lacks to be as strict as this tier, in words; nothing if it is."""
        return ""

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
    def exact(self) -> bool:
        """Whether the lossless algorithms are lossless under it."""
        return False

    @property
    def guarantee(self) -> Guarantee:
        """What is promised, in plain words."""
        return Guarantee(self.name, asdict(self), self._words(), self.exact)

    @abstractmethod
    def _words(self) -> str:
        """The promise itself."""


@dataclass(frozen=True)
class Unprotected(Tier):
    """No transform at all: exact, and open."""

    name: ClassVar[str] = "none"

    @property
    def exact(self) -> bool:
        return True

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

    def missing_protection(self, plan: Plan, schema: Schema) -> str:
        if {Stage.NOISE, Stage.MASK} & {t.stage for t in plan.transforms}:
            return ""
        if plan.algorithm.traits.bounded:  # made for noise, and withholds nothing
            return "noise"
        return uncovered(plan, self.transforms(plan.algorithm, schema))

    def _words(self) -> str:
        return (
            "Each message by itself shows no single record. Several rounds together do: a server "
            "that keeps them can work out records from their differences."
        )


@dataclass(frozen=True)
class Secure(Tier):
    """Masks: the server sees sums over at least three clients."""

    min_cohort: int = 3
    max_queries: Annotated[int, MAX_QUERIES] = RELEASES
    max_records: int = MAX_RECORDS
    # Guard k-means inside the masks too, at the price of exactness.
    change: Annotated[int | None, CHANGE] = None

    name: ClassVar[str] = "secure"
    sums_only: ClassVar[bool] = True
    limits_queries: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checks.integer(self, "min_cohort", 3)
        checks.integer(self, "max_queries")
        if self.change is not None:
            checks.integer(self, "change", 2)

    def most_rounds(self, algorithm: AnyAlgorithm) -> int:
        return ROUNDS

    def transforms(
        self, algorithm: AnyAlgorithm, schema: Schema, n_clients: int = 1
    ) -> tuple[Transform, ...]:
        limit, grid = (
            QueryLimit(self.max_queries),
            FixedPoint.over(schema, max_records=self.max_records),
        )
        if self.change is None or not algorithm.traits.disjoint:
            return limit, grid
        return limit, MinSamples(2 * self.change), ChangeGuard(self.change), grid

    def channel(self, channel: Channel) -> Channel:
        if isinstance(channel, SecureChannel):
            return channel
        return SecureChannel(channel, min_cohort=self.min_cohort)

    @property
    def exact(self) -> bool:
        return self.change is None

    def missing_protection(self, plan: Plan, schema: Schema) -> str:
        return "" if any(t.stage == Stage.MASK for t in plan.transforms) else "masks"

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


def uncovered(plan: Plan, wanted: tuple[Transform, ...]) -> str:
    """The first transform that a plan must have and that nothing in it stands for."""
    own = plan.algorithm.parameter("min_count") or 0  # withheld by the algorithm itself
    for one in wanted:
        implied = isinstance(one, MinSamples) and own >= one.samples
        if not implied and not any(given.covers(one) for given in plan.transforms):
            return str(one)
    return ""
