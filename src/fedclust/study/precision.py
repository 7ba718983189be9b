"""How precisely results state numbers that are about all rows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from ..clustering.model import Model
from ..clustering.preparation import round_to
from ..core import RoundSummary
from ..kernels import Density
from ..typing import FloatArray

Value = TypeVar("Value", float, float | None)


@dataclass(frozen=True)
class Precision:
    """Rows that may make no visible difference, of so many rows; exact if there are none."""

    few: int = 0
    rows: float = 0.0

    def round(self, value: Value) -> Value:
        """An index or the inertia: a row has about one part of `rows` in it."""
        if value is None or not np.isfinite(value) or not self.rows:
            return value
        step: Any = np.array(self.few * abs(value) / self.rows)
        return float(round_to(np.array(value), step))

    def round_history(self, history: Sequence[RoundSummary]) -> list[RoundSummary]:
        """Rounds with one digit of how far centres moved: a single row may have moved them."""
        if not self.rows:
            return list(history)
        return [replace(line, shift=float(f"{line.shift:.0e}")) for line in history]


EXACT = Precision()


def publish_density(model: Model, few: int) -> FloatArray | None:
    """Densities around the published centres, with digits that `few` rows do not change."""
    if model.density is None:
        return None
    size = np.array([n or 0 for n in model.sizes])
    step = np.abs(model.density) * (few / np.maximum(size, 1))[:, None]
    rounded = Density.unpack(round_to(model.density, step))
    middle = np.where(rounded.middle == 0, 0.0, model.centers)
    density = rounded._replace(middle=middle).pack()
    density[np.isnan(model.centers).any(axis=1)] = 0.0  # withheld: new rows go to other clusters
    return density
