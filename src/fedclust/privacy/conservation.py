"""Laws of sums: means lie within the bounds, and k-means has the same records in every round.

On a grid the sums over clusters are the same integers in every round, run and restart, under
masks too. If they change, a client's data changed, a message was damaged, lost or doubled, or a
mask did not cancel: the run must stop.
"""

from collections.abc import Mapping

import numpy as np

from ..core import Message, MessageError, Plan, Request, Stage
from ..typing import FloatArray

_ROUNDING = 1e-9  # of the largest value: sums in floats keep about so much


def are_within_bounds(
    weight: FloatArray, total: FloatArray, low: FloatArray, high: FloatArray
) -> bool:
    """Whether sums can be those of rows of this weight, (C,) or (C, F), within bounds."""
    by_cell = weight if weight.ndim > 1 else weight[:, None]
    slack = _ROUNDING * np.abs(np.stack([low, high])).max() * (1 + by_cell)
    least, most = by_cell * low - slack, by_cell * high + slack
    return bool(((total >= least) & (total <= most)).all())


class Conservation:
    """The totals of each cohort, as first seen."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, tuple[str, ...]], tuple[bytes, ...]] = {}

    def check(self, plan: Plan, request: Request, replies: Mapping[str, Message]) -> None:
        """Refuse replies whose totals are not those of the rounds before."""
        grids = [repr(t) for t in plan.transforms if t.stage == Stage.ENCODE]
        rest = {t.stage for t in plan.transforms} - {Stage.ENCODE, Stage.MASK}
        if not plan.algorithm.traits.conserves or rest or not grids or not replies:
            return
        merged = plan.algorithm.up.merge([replies[c] for c in sorted(replies)])
        now = tuple(np.sum(a, axis=0).tobytes() for a in merged.arrays().values())
        before = self._seen.setdefault((grids[0], tuple(sorted(replies))), now)
        if now != before:
            raise MessageError(
                f"round {request.round}: the sums over all clusters differ from those of the "
                "rounds before, which k-means conserves: a client's data changed, or a message did"
            )
