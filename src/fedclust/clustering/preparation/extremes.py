"""The lowest and highest value of each column: values of single records, so never a default."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from ...core import Data, Dims, Empty, OneRoundQuery, Schema, Stacked, Traits
from ...typing import FloatArray, Rng

_LARGEST = float(np.finfo(np.float64).max)  # instead of infinity, which no message may have


@dataclass(frozen=True, eq=False)
class LocalExtremes(Stacked):
    """A client's lowest and highest value of each column."""

    low: Annotated[FloatArray, Dims("M", "F")]
    high: Annotated[FloatArray, Dims("M", "F")]


@dataclass(frozen=True, eq=False)
class Extremes(OneRoundQuery[Empty, LocalExtremes]):
    """Lowest and highest value of each column over all clients."""

    key: ClassVar[str] = "extremes"
    traits: ClassVar[Traits] = Traits(missing=True)

    def broadcast(self, state: Empty) -> Empty:
        return Empty()

    def client_step(self, down: Empty, data: Data, rng: Rng) -> LocalExtremes:
        present = ~np.isnan(data.X)
        low = np.where(present, data.X, _LARGEST).min(axis=0, initial=_LARGEST)
        high = np.where(present, data.X, -_LARGEST).max(axis=0, initial=-_LARGEST)
        return LocalExtremes(low[None], high[None])

    def model(self, state: LocalExtremes) -> tuple[FloatArray, FloatArray]:
        """Lowest and highest values; NaN in a column without any value."""
        low, high = state.low.min(axis=0), state.high.max(axis=0)
        known = low <= high
        return np.where(known, low, np.nan), np.where(known, high, np.nan)

    def sizes(self, schema: Schema) -> dict[str, int]:
        return {"F": schema.n_features}
