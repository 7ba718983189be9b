"""Tiers in the open: no protection at all, and the rules of the algorithms' papers."""

from dataclasses import dataclass
from typing import ClassVar

from ..core import AnyAlgorithm, Plan, Schema, Stage, Transform
from ..privacy import MinCount, MinSamples
from .base import Guarantee, Tier, uncovered
from .columns import TRUST


@dataclass(frozen=True)
class Unprotected(Tier):
    """No transform at all: exact, and open."""

    name: ClassVar[str] = "none"
    takes_missing: ClassVar[bool] = True
    publishes_all: ClassVar[bool] = True

    @property
    def exact(self) -> bool:
        return True

    def _words(self) -> str:
        return (
            "No protection. The server sees every client's sums in every round, and can work "
            "out single records from them."
        )

    def for_columns(self) -> Tier:
        return UnprotectedColumns()


@dataclass(frozen=True)
class UnprotectedColumns(Unprotected):
    """No protection where columns are split between clients."""

    advice: ClassVar[str] = ""  # noise needs rows that are whole

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(self.name, {}, self._words(), self.exact)

    def _words(self) -> str:
        return (
            "The server sees the distances of each owner, so it can also rebuild the columns of a "
            f"single owner. {TRUST}"
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
