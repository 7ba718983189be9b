"""Sums of integers: exact in any split and order, and the ground that masks and noise need.

Every record's contribution to the lossless algorithms' sums is rounded once, to a grid that all
clients share (docs/adr/0013-exact-sums.md); sums of other algorithms are rounded once per client.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, TypeVar, cast

import numpy as np

from ..core import (
    AnyAlgorithm,
    ConfigError,
    Data,
    DataError,
    Message,
    MessageError,
    RoundContext,
    Schema,
    Stage,
    Summed,
    Transform,
    checks,
)
from ..core.message import COARSER
from ..kernels.grid import Grid, make_grid
from .conservation import are_within_bounds

M = TypeVar("M", bound=Message)

MAX_RECORDS = 2**24
_FEWEST_BITS = 30  # of a record's contribution: a step is then a billionth of the range


@dataclass(frozen=True)
class FixedPoint(Transform):
    """Messages in steps of a grid over public bounds, fine enough and too coarse to overflow."""

    low: tuple[float, ...]
    high: tuple[float, ...]
    max_records: int = MAX_RECORDS  # of all clients together
    max_weight: float = 1.0  # of one record
    missing: bool = False  # whether rows may have missing cells, which makes distances longer

    stage: ClassVar[Stage] = Stage.ENCODE

    def __post_init__(self) -> None:
        checks.integer(self, "max_records")
        checks.number(self, "max_weight", above=True)
        for name in ("low", "high"):  # as plain numbers: two sides must write them alike
            object.__setattr__(self, name, tuple(float(v) for v in getattr(self, name)))
        low, high = np.asarray(self.low), np.asarray(self.high)
        if low.shape != high.shape or not (np.isfinite(high - low).all() and (low < high).all()):
            raise ConfigError("FixedPoint: low must be below high, both finite, in every column")
        bits = self.grid.bits
        if bits < _FEWEST_BITS:
            raise ConfigError(
                f"FixedPoint: max_records={self.max_records} leaves {bits} bits for a record, and "
                f"{_FEWEST_BITS} are needed; the sums of so many could overflow"
            )

    @classmethod
    def over(cls, schema: Schema, **settings: Any) -> "FixedPoint":
        """The grid over a schema's public bounds."""
        low, high = schema.box()
        return cls(tuple(low), tuple(high), missing=schema.missing, **settings)

    @cached_property
    def grid(self) -> Grid:
        """The grid that all clients share."""
        low, high = np.asarray(self.low), np.asarray(self.high)
        return make_grid(low, high, self.max_records, self.max_weight, missing=self.missing)

    def check(self, algorithm: AnyAlgorithm) -> None:
        if not issubclass(algorithm.up, Summed):
            raise ConfigError(
                f"FixedPoint: messages of {algorithm.key} stack; only messages that sum can be "
                "integers"
            )
        fuzzifier = getattr(algorithm, "fuzzifier", 1.0)
        lost = (fuzzifier - 1.0) * np.log2(max(2, algorithm.n_clusters)) if fuzzifier > 1 else 0.0
        if self.grid.bits - lost < _FEWEST_BITS - 4:
            raise ConfigError(
                f"FixedPoint: with fuzzifier={fuzzifier:g} and {algorithm.n_clusters} clusters the "
                f"weights u^m are too small for a grid of {self.grid.bits} bits; lower the "
                "fuzzifier or max_records"
            )

    def at_rows(self, data: Data, context: RoundContext) -> Data:
        """The client's rows with the grid, once they are seen to lie within the bounds."""
        who = f"client {context.party!r}"
        # A sum of up to eight times max_records is seen to be too large; beyond it could wrap.
        most = min(self.max_records, 8 * self.max_records // max(1, len(context.cohort)))
        if context.samples > most:
            raise DataError(
                f"{who}: more than {most} rows, the most that a client may have with "
                f"max_records={self.max_records}; raise it"
            )
        if len(data.weight) and data.weight.max() > self.max_weight:
            raise DataError(f"{who}: a sample_weight exceeds max_weight={self.max_weight:g}")
        if len(data):
            lowest, highest = data.extent
            outside = (lowest < np.asarray(self.low)) | (highest > np.asarray(self.high))
            for column in np.flatnonzero(outside).tolist():
                raise DataError(  # and not which value: this text may travel
                    f"{who}: column {column} has values outside its public bounds "
                    f"[{self.low[column]:g}, {self.high[column]:g}]; widen them or correct the data"
                )
        return replace(data, grid=self.grid)

    def at_client(self, message: M, context: RoundContext) -> M:
        integers = cast(Summed, message).on_grid(self.grid)
        if integers is message:  # made by records, whose number is bounded, hence so is their sum
            return message
        most = 2**62 // len(context.cohort)
        if any(a.size and max(a.max(), -a.min()) > most for a in integers.arrays().values()):
            raise MessageError(
                f"client {context.party!r}: {len(context.cohort)} sums of this size could "
                f"overflow; {COARSER}"
            )
        return cast(M, integers)

    def at_server(self, merged: M, context: RoundContext) -> M:
        weight = getattr(merged, "weight", None)
        if weight is not None and weight.dtype == np.int64:
            most = self.max_records * self.grid.mass * self.max_weight
            # Sums by cell have a weight in every column.
            if (weight < 0).any() or weight.astype(float).sum(axis=0).max() > most:
                raise MessageError(
                    f"round {context.round}: the clients' weights sum to less than nothing, or to "
                    f"more than max_records={self.max_records} allows"
                )
        sums = cast(M, cast(Summed, merged).off_grid(self.grid))
        self._check_means(sums, context)
        return sums

    def _check_means(self, sums: Any, context: RoundContext) -> None:
        """Refuse totals by cluster that no rows within the bounds can have."""
        weight, total = getattr(sums, "weight", None), getattr(sums, "total", None)
        if weight is None or total is None or total.shape != (len(weight), len(self.low)):
            return
        if not are_within_bounds(weight, total, np.asarray(self.low), np.asarray(self.high)):
            raise MessageError(
                f"round {context.round}: the merged sums are not those of rows within the public "
                "bounds: at least one client sent false sums, and masks hide which"
            )
