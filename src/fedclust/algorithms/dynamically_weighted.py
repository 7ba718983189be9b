"""DWF k-means: a client's centre is weighted by its rows at the start of the round.

P. Holzer, T. Jacob, S. Kavane: "Dynamically Weighted Federated k-Means", 2023; Algorithm 1, Eqs.
3-7.

The weights are the rows assigned to the *received* centres (Eq. 7), not to the trained ones as
line 3 of Algorithm 2 could be read. With one local step, learning rate 1 and no momentum this is
Lloyd's method on all rows.
"""

from dataclasses import dataclass
from typing import ClassVar

from ..core import Data
from ..kernels import divide_or_keep, hard_sums
from ..typing import Rng
from .centers import Centers, Sums
from .momentum import MomentumState, WeightedKMeans

# Eq. 4 has two cases: weights by rows if any client has rows, equal weights if no client has any.
# A client without rows of a cluster uses this weight, which rounding removes as soon as another
# client has rows, whatever their weights are.
_TINY_WEIGHT = 2.0**-500


@dataclass(frozen=True, eq=False)
class DynamicallyWeighted(WeightedKMeans[Sums]):
    """Local k-means steps, averaged by the rows behind each centre."""

    key: ClassVar[str] = "dwf"
    use_for: ClassVar[str] = (
        "Use its reference preset when only some clients take part in each round."
    )

    def client_step(self, down: Centers, data: Data, rng: Rng) -> Sums:
        held = hard_sums(data.X, down.centers, data.weight)
        weight = held.weight + _TINY_WEIGHT * (held.weight == 0) * (len(data) > 0)  # Eq. 7
        return Sums(weight, weight[:, None] * self.train(down, data, held))

    def server_step(self, state: MomentumState, merged: Sums, rng: Rng) -> MomentumState:
        target = divide_or_keep(merged.total, merged.weight, state.centers)  # Eqs. 4-5
        return self.step(state, target)
