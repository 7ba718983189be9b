"""The tier of masks: the server sees sums over clients only."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from ..core import AnyAlgorithm, Channel, Plan, Schema, Stage, Transform, checks
from ..privacy import FixedPoint, QueryLimit, SecureChannel
from ..privacy.fixed_point import MAX_RECORDS
from .base import MAX_QUERIES, MAX_QUERIES_KEY, ROUNDS, Guarantee, Tier
from .columns import TRUST


@dataclass(frozen=True)
class Secure(Tier):
    """Masks: the server sees sums over at least three clients."""

    min_cohort: int = 3
    max_queries: Annotated[int, MAX_QUERIES_KEY] = MAX_QUERIES
    max_records: int = MAX_RECORDS

    name: ClassVar[str] = "secure"
    sums_only: ClassVar[bool] = True
    masks: ClassVar[bool] = True
    limits_queries: ClassVar[bool] = True
    takes_missing: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checks.integer(self, "min_cohort", 3)
        checks.integer(self, "max_queries")

    def most_rounds(self, algorithm: AnyAlgorithm) -> int:
        return ROUNDS

    def transforms(
        self, algorithm: AnyAlgorithm, schema: Schema, n_clients: int = 1
    ) -> tuple[Transform, ...]:
        grid = FixedPoint.over(schema, max_records=self.max_records)
        return QueryLimit(self.max_queries), grid

    def channel(self, channel: Channel) -> Channel:
        if isinstance(channel, SecureChannel):
            return channel
        return SecureChannel(channel, min_cohort=self.min_cohort)

    @property
    def fewest_clients(self) -> int:
        return self.min_cohort

    @property
    def query_limit(self) -> int:
        return self.max_queries

    @property
    def exact(self) -> bool:
        return True

    def missing_protection(self, plan: Plan, schema: Schema) -> str:
        return "" if any(t.stage == Stage.MASK for t in plan.transforms) else "masks"

    def _words(self) -> str:
        return (
            f"The server learns totals over at least {self.min_cohort} clients and no number of a "
            "single client, as long as the other clients are not its own. The totals are exact. "
            "Single records are not protected: if totals of two rounds differ by one record, the "
            "server knows that record, though not whose it is."
        )

    def for_columns(self) -> Tier:
        return SecureColumns()


@dataclass(frozen=True)
class SecureColumns(Secure):
    """Masked distances where columns are split between clients."""

    advice: ClassVar[str] = ""  # noise needs rows that are whole

    def transforms(
        self, algorithm: AnyAlgorithm, schema: Schema, n_clients: int = 1
    ) -> tuple[Transform, ...]:
        """Integers for the masks: of columns from 0 to 1 no squared distance exceeds F."""
        return (FixedPoint.over(schema),)

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(self.name, {}, self._words(), self.exact)

    def _words(self) -> str:
        return (
            f"The server sees distances summed over at least {self.min_cohort} owners and no "
            f"owner's own, as long as it does not pose as owners. {TRUST}"
        )
