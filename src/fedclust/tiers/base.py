"""What a tier is: the protection of a run, what it takes, and what it guarantees in plain words."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Protocol, Self, cast

from ..algorithms.cell_seeding import CellSeeding
from ..core import AnyAlgorithm, Channel, ConfigError, Plan, Schema, Summed, Transform
from ..privacy import MinSamples
from ..settings import Key

MAX_QUERIES = 50  # to a data set, seeds and scores included
ROUNDS = 40  # of a run, which leaves some of these queries for seeds and a score
MAX_QUERIES_KEY = Key("guarded, secure: maximum number of queries to a data set", low=1)

Conflicts = Iterator[tuple[tuple[str, str], str]]  # table and key of a study file, and the reason


class StudySettings(Protocol):
    """What a tier sees of a study: its tables, as in the study file."""

    @property
    def clients(self) -> Mapping[str, str]: ...
    @property
    def clustering(self) -> Any: ...
    @property
    def sampling(self) -> Any: ...
    @property
    def given(self) -> frozenset[tuple[str, str]]: ...


@dataclass(frozen=True)
class Guarantee:
    """What a tier guarantees, as users read it."""

    tier: str
    parameters: Mapping[str, Any]
    words: str
    exact: bool = False  # a lossless result stays lossless

    def __str__(self) -> str:
        settings = ", ".join(f"{name}={value}" for name, value in self.parameters.items())
        return f"{self.tier}{f' ({settings})' if settings else ''}: {self.words}"


@dataclass(frozen=True)
class Tier(ABC):
    """A level of protection; its name is the value of `privacy`.

    A subclass is a frozen dataclass. Fields that are annotated with a `fedclust.settings.Key` are
    keys of [privacy] in a study file. `register_tier` makes it known by its name.
    """

    name: ClassVar[str]
    sums_only: ClassVar[bool] = False  # messages that stack are refused
    masks: ClassVar[bool] = False  # messages are masked: every client takes part in every round
    noisy: ClassVar[bool] = False  # every answer spends privacy budget
    publishes_all: ClassVar[bool] = False  # results have all digits, also of few rows
    advice: ClassVar[str] = (  # when to use another tier, for those who read the results
        "Recommendation for data about people: 'secure+dp'. It also limits what results show about "
        "any one row."
    )
    limits_queries: ClassVar[bool] = False  # so few queries are answered that none may be wasted
    takes_missing: ClassVar[bool] = False  # its guarantee also holds for sums over observed cells

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

    def check(self, algorithm: AnyAlgorithm) -> None:
        """Refuse an algorithm that this tier cannot protect, and name one that it can."""
        if algorithm.traits.needs_masks and not (self.takes_missing or self.noisy):
            raise ConfigError(
                f"privacy={self.name!r}: sums of {algorithm.key!r} over few rows show these rows, "
                "and no smaller protection than masks is known; use privacy 'secure', or 'none'"
            )
        if self.sums_only and not issubclass(algorithm.up, Summed):
            lossless = "llf-fcm" if algorithm.soft else "llf-cm"
            raise ConfigError(
                f"privacy={self.name!r}: messages of {algorithm.key!r} stack, so the server would "
                f"see every client's own; use algorithm={lossless!r}, with init='cells' or "
                "init='uniform'"
            )

    def check_missing(self, *, missing: bool) -> None:
        """Refuse rows with missing cells where nothing is proved of sums over observed cells."""
        if missing and not self.takes_missing:
            raise ConfigError(
                f"privacy={self.name!r} protects sums over complete rows only, so missing = "
                "'partial' is not available; use 'drop' or 'mean', or privacy 'none' or 'secure'"
            )

    def adapt(self, algorithm: AnyAlgorithm, schema: Schema, n_clients: int) -> AnyAlgorithm:
        """The algorithm as it runs under this tier, or a refusal that names another."""
        self.check_missing(missing=schema.missing)
        self.check(algorithm)
        changes: dict[str, int] = {}
        longest, most = algorithm.parameter("max_rounds"), self.most_rounds(algorithm)
        if most is not None and longest is not None and longest > most:
            changes["max_rounds"] = most
        if self.masks and (algorithm.parameter("min_count") or 1) > 1:
            changes["min_count"] = 1  # a total must be over all rows of all clients
        return (
            cast(AnyAlgorithm, replace(cast(Any, algorithm), **changes)) if changes else algorithm
        )

    def seeding(
        self, algorithm: AnyAlgorithm, schema: Schema, n_clients: int
    ) -> AnyAlgorithm | None:
        """The seeding that suits the tier; None: the algorithm's own."""
        return CellSeeding(algorithm.n_clusters, *schema.box()) if self.sums_only else None

    def most_rounds(self, algorithm: AnyAlgorithm) -> int | None:
        """Rounds after which a run ends, whatever the algorithm says."""
        return None

    def with_rounds(self, max_rounds: int | None) -> Self:
        """The tier for runs of that many rounds, where it divides a budget among them."""
        return self

    def for_preparation(self, *, ranges: bool, scale: bool) -> Self:
        """The tier for a study that estimates bounds or learns a scale, which costs a budget."""
        return self

    @property
    def alike(self) -> int:
        """The most rows that clients replace by the same values."""
        return 1

    def noise(self, algorithm: AnyAlgorithm, n_clients: int) -> float:
        """Standard deviation of the noise in the sum of all clients, in sensitivities."""
        return 0.0

    def for_summary(self) -> Self:
        """The tier for a summary of all rows, where it divides a budget between rounds."""
        return self

    def refused_limits(
        self, algorithm: AnyAlgorithm, max_rounds: int | None, tol: float | None
    ) -> Iterator[tuple[str, str]]:
        """Limits of a run that the tier cannot keep: the parameter, and the reason."""
        most = self.most_rounds(algorithm)
        if max_rounds is not None and most is not None and max_rounds > most:
            words = f"privacy={self.name!r} ends a run of {algorithm.key!r} after {most} rounds"
            yield "max_rounds", f"max_rounds={max_rounds}: {words}; give {most} or fewer"

    def conflicts(self, study: StudySettings) -> Conflicts:
        """Settings of a study that only this tier excludes: the table and key, and the reason."""
        return iter(())

    @property
    def fewest_clients(self) -> int:
        """The smallest number of clients that it can protect."""
        return 1

    @property
    def query_limit(self) -> int | None:
        """Queries to a data set after which clients stop answering; None: no limit."""
        return None

    def for_columns(self) -> "Tier | None":
        """The same protection where columns are split between clients; None: there is none."""
        return None

    def for_client(self, max_queries: int) -> Self:
        """The tier as a client demands it that answers this number of queries."""
        return self

    def missing_protection(self, plan: Plan, schema: Schema) -> str:
        """What a plan lacks to be as strict as this tier, in words; empty if it lacks nothing."""
        return uncovered(plan, self.transforms(plan.algorithm, schema))

    @property
    def exact(self) -> bool:
        """Whether the lossless algorithms are lossless under it."""
        return False

    @property
    def guarantee(self) -> Guarantee:
        """What is guaranteed, in plain words."""
        return Guarantee(self.name, asdict(self), self._words(), self.exact)

    @abstractmethod
    def _words(self) -> str:
        """The guarantee itself."""

    def epsilon_after(self, repeated: float) -> float | None:
        """Epsilon of a run with repeated rounds, given their squares of mu; None without noise."""
        return None


def uncovered(plan: Plan, wanted: tuple[Transform, ...]) -> str:
    """The first transform that a plan must have and that nothing in it stands for."""
    own = plan.algorithm.parameter("min_count") or 0  # withheld by the algorithm itself
    for one in wanted:
        implied = isinstance(one, MinSamples) and own >= one.samples
        if not implied and not any(given.covers(one) for given in plan.transforms):
            return str(one)
    return ""
