"""How precisely results state numbers that are about all rows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from ..clustering.choose_k.score import STABILITY, WEAKEST_CLUSTER
from ..clustering.model import Model
from ..clustering.preparation import round_to
from ..core import RoundSummary
from ..kernels import Density
from ..results import ChoiceRecord
from ..typing import FloatArray

_AT_MOST_ONE = (STABILITY.name, WEAKEST_CLUSTER.name)  # also after rounding
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

    def round_sum(self, value: float) -> float:
        """A sum of logarithms over rows: each changes it by about one, also near zero."""
        if not np.isfinite(value) or not self.rows:
            return value
        step: Any = np.array(self.few * max(1.0, abs(value) / self.rows))
        return float(round_to(np.array(value), step))

    def round_choice(self, choice: ChoiceRecord) -> ChoiceRecord:
        """The evidence for a number of clusters, which is made of indices."""
        scores = (
            replace(score, indices={n: self._round_index(n, v) for n, v in score.indices.items()})
            for score in choice.scores
        )
        return replace(choice, scores=tuple(scores))

    def _round_index(self, name: str, value: float | None) -> float | None:
        rounded = self.round(value)
        return rounded if rounded is None or name not in _AT_MOST_ONE else min(rounded, 1.0)

    def round_history(self, history: Sequence[RoundSummary]) -> list[RoundSummary]:
        """Rounds with one digit of how far centres moved: a single row may have moved them."""
        if not self.rows:
            return list(history)
        return [replace(line, shift=float(f"{line.shift:.0e}")) for line in history]


EXACT = Precision()


def publish_density(model: Model, few: int) -> FloatArray | None:
    """Densities around the published centres, with digits that `few` rows do not change.

    Shares and deviations are rounded, and not their logarithms, which are near zero where a share
    is near one, and would then have many digits.
    """
    if model.density is None:
        return None
    size = np.array([n or 0 for n in model.sizes])
    exact = Density.unpack(model.density)
    part = (few / np.maximum(size, 1))[:, None]
    number = (exact.middle != 0).any(axis=0) | (exact.cost != 0).any(axis=0)
    spread = 1.0 / np.sqrt(np.where(number, exact.weight, 1.0))
    variance = round_to(spread, spread * part) ** 2
    share = np.clip(model.centers, np.minimum(part / 4, 1.0), 1.0)  # of a category
    held = np.exp(-exact.base / 2)  # of all rows
    step = np.full(len(held), few / max(size.sum(), 1))
    rounded = Density(
        base=-2.0 * np.log(np.clip(round_to(held, step), step / 4, 1.0)),
        middle=np.where(number, model.centers, 0.0),
        weight=np.where(number, 1.0 / variance, -2.0 * np.log(share)),
        cost=np.where(number, np.log(2.0 * np.pi * variance), 0.0),
    )
    density = rounded.pack()
    density[np.isnan(model.centers).any(axis=1)] = 0.0  # withheld: new rows go to other clusters
    return density
