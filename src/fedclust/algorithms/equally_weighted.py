"""EWF k-means: all clients' centres have equal weight.

P. Holzer, T. Jacob, S. Kavane: "Dynamically Weighted Federated k-Means", 2023; Eq. 8.

Clients without rows of a cluster send back the centre they received, which slows it down: on
heterogeneous data prefer `dwf`.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from ..core import Data, Dims, Summed
from ..typing import FloatArray, Rng
from .centers import Centers
from .momentum import MomentumState, WeightedKMeans


@dataclass(frozen=True, eq=False)
class LocalCenters(Summed):
    """A client's centres, and a 1 by which clients are counted."""

    total: Annotated[FloatArray, Dims("C", "F")]
    clients: Annotated[FloatArray, Dims("one")]


@dataclass(frozen=True, eq=False)
class EquallyWeighted(WeightedKMeans[LocalCenters]):
    """Local k-means steps, averaged over clients."""

    key: ClassVar[str] = "ewf"
    use_for: ClassVar[str] = "Use it to compare with its paper. Otherwise prefer dwf."

    def client_step(self, down: Centers, data: Data, rng: Rng) -> LocalCenters:
        sent = LocalCenters(self.train(down, data), np.ones(1))
        return sent if len(data) else sent.identity()

    def server_step(self, state: MomentumState, merged: LocalCenters, rng: Rng) -> MomentumState:
        return self.step(state, merged.total / merged.clients)  # Eq. 8
