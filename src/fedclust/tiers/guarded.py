"""The tier of guards: clients withhold what differs by too little from what they have released."""

import math
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Self

from ..algorithms.micro_clusters import GUARDED_COUNT, MicroSeeding
from ..core import AnyAlgorithm, ConfigError, Plan, Schema, Stage, Summed, Transform, checks
from ..privacy import ChangeGuard, MinCount, MinSamples, QueryLimit
from ..privacy.guard import PAIRED
from .base import CHANGE_KEY, MAX_QUERIES, MAX_QUERIES_KEY, ROUNDS, Tier, uncovered

_LEAST_FUZZIFIER = 1.5  # of sums in the open: below, memberships are nearly labels
SOFT_ROUNDS = 10  # of fuzzy sums in the open: each round gives equations for the records


@dataclass(frozen=True)
class Guarded(Tier):
    """The client withholds what differs by too little from what it has released."""

    change: Annotated[int, CHANGE_KEY] = 5
    max_queries: Annotated[int, MAX_QUERIES_KEY] = MAX_QUERIES

    name: ClassVar[str] = "guarded"
    guards: ClassVar[bool] = True
    limits_queries: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checks.integer(self, "change", 2)
        checks.integer(self, "max_queries")

    def most_rounds(self, algorithm: AnyAlgorithm) -> int:
        return SOFT_ROUNDS if algorithm.soft else ROUNDS

    def transforms(
        self, algorithm: AnyAlgorithm, schema: Schema, n_clients: int = 1
    ) -> tuple[Transform, ...]:
        limit = QueryLimit(self.max_queries)
        if algorithm.traits.disjoint:
            return limit, MinSamples(2 * self.change), ChangeGuard(self.change)
        if algorithm.soft and issubclass(algorithm.up, Summed):
            return limit, MinSamples(self.fewest(algorithm, schema.n_features))
        counted = (MinCount(self.change),) if algorithm.traits.counted else ()
        return limit, MinSamples(2 * self.change), *counted

    def check(self, algorithm: AnyAlgorithm) -> None:
        """Of several rounds only those that are guarded, or fuzzy and few; some looks of one."""
        traits, name = algorithm.traits, f"privacy={self.name!r}"
        soft_sums = algorithm.soft and algorithm.lossless and issubclass(algorithm.up, Summed)
        once = traits.answered_once and not algorithm.has_parameter("max_rounds")
        if not (soft_sums or once or traits.disjoint):
            raise ConfigError(
                f"{name} does not support the algorithm {algorithm.key!r}; use "
                f"{'llf-fcm' if algorithm.soft else 'llf-cm'!r}"
            )
        m, k = algorithm.parameter("fuzzifier", 1.0), algorithm.parameter("n_clusters", 1)
        if soft_sums and m < _LEAST_FUZZIFIER:
            words = f"memberships would nearly be labels; {_LEAST_FUZZIFIER} or more"
            raise ConfigError(f"{name}: fuzzifier={m!r}: {words}")
        if k > PAIRED:
            words = f"too many sums to compare; {PAIRED} or fewer"
            raise ConfigError(f"{name}: n_clusters={k!r}: {words}")
        if algorithm.unguarded:
            raise ConfigError(f"{name}: {algorithm.unguarded}")

    def seeding(
        self, algorithm: AnyAlgorithm, schema: Schema, n_clients: int
    ) -> AnyAlgorithm | None:
        if algorithm.seeding != MicroSeeding.key:
            return None
        return MicroSeeding(algorithm.n_clusters, min_count=GUARDED_COUNT)

    @property
    def query_limit(self) -> int:
        return self.max_queries

    @property
    def needs_memory(self) -> bool:
        return True  # what the guard last let through

    def for_client(self, max_queries: int) -> Self:
        return replace(self, max_queries=max_queries)

    def missing_protection(self, plan: Plan, schema: Schema) -> str:
        algorithm, stages = plan.algorithm, {t.stage for t in plan.transforms}
        if Stage.NOISE in stages:  # the gate sees to its strength
            return ""
        try:
            self.check(algorithm)
        except ConfigError as problem:
            return str(problem)
        rounds, most = algorithm.parameter("max_rounds"), self.most_rounds(algorithm)
        if rounds is not None and rounds > most:
            return f"max_rounds of at most {most}"
        return uncovered(plan, self.transforms(algorithm, schema))

    def fewest(self, algorithm: AnyAlgorithm, n_features: int) -> int:
        """Records whose values several rounds of fuzzy sums leave open: more than equations."""
        rounds = min(int(algorithm.parameter("max_rounds", 1)), SOFT_ROUNDS)
        k = algorithm.n_clusters
        return math.floor(rounds * k * (n_features + 1) / n_features) + 1

    def _words(self) -> str:
        return (
            "A heuristic, not a proof. Clients repeat their last message while fewer than "
            f"{self.change} members of a cluster changed, answer {self.max_queries} questions per "
            "data set, and say nothing if they are small. The attacks we know recover no record "
            "of a client of 50 or more. The result is not exact."
        )
