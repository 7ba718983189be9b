"""GDF-FCM: the server follows the clients' gradients of the fuzzy c-means objective.

W. Pedrycz: "Federated FCM: Clustering Under Privacy Requirements", IEEE Transactions on Fuzzy
Systems, 2022, as J. L. Corcuera Barcena et al. (2024) describe and use it.

A client iterates fuzzy c-means from the global centres V, takes the memberships it ends with, and
sends the gradient of its objective at V, g_c = 2 sum_j u_jc^m (v_c - x_j). At its own optimum the
gradient would vanish. The sums grow with the data, and with them the step: a learning rate that
fits one data set diverges on another. The default therefore divides by the curvature 2 sum u^m: a
rate of 1 goes to the weighted mean, and with no local step that is LLF-FCM. `reference` follows
the paper. With V, a gradient and its curvature give the local mean, so the gradient of a
mean of one record is not sent.
"""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

import numpy as np

from ..core import Data, Dims, Role, Summed, Traits, Work, checks
from ..kernels import divide_or_keep, fuzzy_c_means, fuzzy_sums
from ..typing import FloatArray, Rng
from .centers import CenterAlgorithm, Centers, CenterState, find_supported


@dataclass(frozen=True, eq=False)
class Gradients(Summed):
    """Gradients at the global centres, and what to divide them by."""

    gradient: Annotated[FloatArray, Dims("C", "F")]
    curvature: Annotated[FloatArray, Dims("C")]
    records: Annotated[FloatArray, Dims("one")]


@dataclass(frozen=True, eq=False)
class GradientFCM(CenterAlgorithm[CenterState, Gradients]):
    """Gradient descent on the fuzzy c-means objective, over local memberships."""

    fuzzifier: float = 2.0
    local_steps: Annotated[int, Work(10_000)] = 10
    learning_rate: float = 1.0
    scaled: bool = True  # divide by the curvature; else by the number of records, as published
    # Records that must be nearest to a local centre for its gradient to be sent.
    min_count: Annotated[int, Role.RECORDS] = 2

    key: ClassVar[str] = "gdf-fcm"
    use_for: ClassVar[str] = "Use it to compare with its paper. Otherwise prefer llf-fcm."
    traits: ClassVar[Traits] = Traits(soft=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.fuzzifier(self)
        checks.integer(self, "local_steps", 0)
        checks.number(self, "learning_rate", 0.0, 1.0, above=True)
        checks.boolean(self, "scaled")
        checks.integer(self, "min_count")

    def client_step(self, down: Centers, data: Data, rng: Rng) -> Gradients:
        at = down.centers
        if self.local_steps:
            at, _ = fuzzy_c_means(data.X, at, self.fuzzifier, data.weight, steps=self.local_steps)
        sums = fuzzy_sums(data.X, at, self.fuzzifier, data.weight)
        gradient = 2.0 * (sums.weight[:, None] * down.centers - sums.total)
        records = np.array([data.weight.sum() if len(data.weight) else len(data)], dtype=float)
        if not self.scaled:
            gradient = records * gradient
        sent = Gradients(gradient, 2.0 * sums.weight, records)
        return sent.keep(find_supported(data, at, self.min_count))

    def server_step(self, state: CenterState, merged: Gradients, rng: Rng) -> CenterState:
        no_step = np.zeros_like(state.centers)
        divisor = merged.curvature if self.scaled else np.repeat(merged.records, self.n_clusters)
        step = self.learning_rate * divide_or_keep(merged.gradient, divisor, no_step)
        return state.move_to(state.centers - step)

    @classmethod
    def reference(cls, n_clusters: int, **changes: Any) -> Self:
        """Summed gradients, weighted by records, at the LLF paper's learning rate and rounds.

        Of its ten local iterations, the last ends with the memberships: with nine steps of the
        centres, and its split, the printed values of s1 and s2 come out.
        """
        settings = {
            "scaled": False,
            "local_steps": 9,
            "learning_rate": 0.005,
            "min_count": 1,
            "max_rounds": 30,
            "tol": 0.0,
        }
        return cls(n_clusters, **{**settings, **changes})
