"""The tier of grouped rows: clients compute with means of a few rows in place of rows."""

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Self

from ..core import AnyAlgorithm, Plan, Schema, Stage, Transform, checks
from ..privacy import GroupedRows, QueryLimit
from ..settings import Key
from .base import MAX_QUERIES, MAX_QUERIES_KEY, ROUNDS, Tier, uncovered

GROUP_SIZE_KEY = Key("guarded: minimum number of rows that a client averages before use", low=3)


@dataclass(frozen=True)
class Guarded(Tier):
    """The client replaces each row by the mean of a fixed group of rows."""

    group_size: Annotated[int, GROUP_SIZE_KEY] = 5
    max_queries: Annotated[int, MAX_QUERIES_KEY] = MAX_QUERIES

    name: ClassVar[str] = "guarded"
    limits_queries: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checks.integer(self, "group_size", 3)
        checks.integer(self, "max_queries")

    def most_rounds(self, algorithm: AnyAlgorithm) -> int:
        return ROUNDS

    def transforms(
        self, algorithm: AnyAlgorithm, schema: Schema, n_clients: int = 1
    ) -> tuple[Transform, ...]:
        return QueryLimit(self.max_queries), GroupedRows(self.group_size)

    @property
    def alike(self) -> int:
        return 2 * self.group_size - 1

    @property
    def query_limit(self) -> int:
        return self.max_queries

    def for_client(self, max_queries: int) -> Self:
        return replace(self, max_queries=max_queries)

    def missing_protection(self, plan: Plan, schema: Schema) -> str:
        if Stage.NOISE in {t.stage for t in plan.transforms}:  # the policy sees to its strength
            return ""
        return uncovered(plan, self.transforms(plan.algorithm, schema))

    def _words(self) -> str:
        return (
            f"Each client replaces its rows by means of groups of {self.group_size} or more near "
            "rows, and all it sends is computed from these means. The groups never change, so no "
            f"set of queries gives anything about fewer than {self.group_size} rows, except that "
            "someone who knows the other rows of a group can compute the last. Means of near rows "
            "are similar to the rows. A client with fewer than "
            f"{2 * self.group_size} rows sends nothing. The result is not exact."
        )
