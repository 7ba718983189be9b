"""The tier of guards: clients withhold what differs by too little from what they have said."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from ..core import AnyAlgorithm, ConfigError, Plan, Schema, Stage, Summed, Transform, checks
from .guard import PAIRED, ChangeGuard
from .policy import QueryLimit
from .suppression import MinCount, MinSamples
from .tiers import CHANGE, MAX_QUERIES, RELEASES, ROUNDS, Tier, uncovered

_GUARDABLE: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "fuzzifier": (lambda m: m >= 1.5, "memberships would nearly be labels; 1.5 or more"),
    "n_clusters": (lambda k: k <= PAIRED, f"too many sums to compare; {PAIRED} or fewer"),
    "neighbours": (lambda n: n == 5, "two sizes of one neighbourhood differ by a row; 5"),
}
# One round each, of which a minimum of records stands behind every number.
ONE_LOOK = (
    *("moments", "histogram", "median-of-means", "presence", "evaluation", "key-exchange"),
    *("careful", "client", "fkm", "uniform", "k-fed", "one-shot", "ffcf"),
)
SOFT_ROUNDS = 10  # of fuzzy sums in the open: each round gives equations for the records


@dataclass(frozen=True)
class Guarded(Tier):
    """The client withholds what differs by too little from what it has said."""

    change: Annotated[int, CHANGE] = 5
    max_queries: Annotated[int, MAX_QUERIES] = RELEASES

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
        if algorithm.key in ChangeGuard.guards:
            return limit, MinSamples(2 * self.change), ChangeGuard(self.change)
        if algorithm.soft and issubclass(algorithm.up, Summed):
            return limit, MinSamples(self.fewest(algorithm, schema.n_features))
        counted = (MinCount(self.change),) if algorithm.counted else ()
        return limit, MinSamples(2 * self.change), *counted

    def check(self, algorithm: AnyAlgorithm) -> None:
        """Of several rounds only those that are guarded, or fuzzy and few; some looks of one."""
        settings, name = vars(algorithm), f"privacy={self.name!r}"
        soft_sums = algorithm.soft and algorithm.lossless and issubclass(algorithm.up, Summed)
        one_look = algorithm.key in ONE_LOOK and "max_rounds" not in settings
        if not (soft_sums or one_look or algorithm.key in ChangeGuard.guards):
            raise ConfigError(
                f"{name}: nobody guards the rounds of {algorithm.key!r}; use "
                f"{'llf-fcm' if algorithm.soft else 'llf-cm'!r}"
            )
        for key, (fits, words) in _GUARDABLE.items():
            asked = key in settings and (key != "fuzzifier" or soft_sums)
            if asked and not fits(settings[key]):
                raise ConfigError(f"{name}: {key}={settings[key]!r}: {words}")
        if algorithm.unguarded:
            raise ConfigError(f"{name}: {algorithm.unguarded}")

    def missing_protection(self, plan: Plan, schema: Schema) -> str:
        algorithm, stages = plan.algorithm, {t.stage for t in plan.transforms}
        if Stage.NOISE in stages:  # the gate sees to its strength
            return ""
        try:
            self.check(algorithm)
        except ConfigError as problem:
            return str(problem)
        rounds, most = vars(algorithm).get("max_rounds"), self.most_rounds(algorithm)
        if rounds is not None and rounds > most:
            return f"max_rounds of at most {most}"
        return uncovered(plan, self.transforms(algorithm, schema))

    def fewest(self, algorithm: AnyAlgorithm, n_features: int) -> int:
        """Records whose values several rounds of fuzzy sums leave open: more than equations."""
        rounds = min(getattr(algorithm, "max_rounds", 1), SOFT_ROUNDS)
        k = algorithm.n_clusters
        return math.floor(rounds * k * (n_features + 1) / n_features) + 1

    def _words(self) -> str:
        return (
            "A heuristic, not a proof. Clients repeat their last message while fewer than "
            f"{self.change} members of a cluster changed, answer {self.max_queries} questions per "
            "data set, and say nothing if they are small. The attacks we know recover no record "
            "of a client of 50 or more. The result is not exact."
        )
