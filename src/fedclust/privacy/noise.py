"""Noise for differential privacy: Gaussian integers from OpenDP, never from floats.

Noise is added to integers of known sensitivity (`sensitivity` of the algorithm). Under
secure aggregation every client adds its share of the variance, and only the sum carries all of it.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, TypeVar

import numpy as np

from ..core import (
    AnyAlgorithm,
    ConfigError,
    Message,
    Refusal,
    RoundContext,
    Stage,
    Transform,
    checks,
)
from ..typing import IntArray
from .crypto import digest
from .policy import QueryLimit, policy_of
from .queries import array_parts, query_digest

M = TypeVar("M", bound=Message)
LEAST = 1_000.0  # standard deviation of all noise in a sum, in steps: as good as continuous
LARGEST = 2.0**52  # standard deviation of noise, in steps: a thousand of them do not overflow


@dataclass(frozen=True)
class IntegerGaussian(Transform):
    """Add Gaussian integers: the release is mu-GDP for every record."""

    mu: float
    share: float = 1.0  # of the variance that this client adds

    stage: ClassVar[Stage] = Stage.NOISE

    def __post_init__(self) -> None:
        checks.number(self, "mu", above=True)
        checks.number(self, "share", 0.0, 1.0, above=True)

    def check(self, algorithm: AnyAlgorithm) -> None:
        if not algorithm.traits.bounded:
            raise ConfigError(
                f"IntegerGaussian: {algorithm.key} does not say how much one record can change its "
                "messages"
            )

    def at_client(self, message: M, context: RoundContext) -> M:
        policy, plan = policy_of(context.data), context.plan
        what = f"{plan.algorithm.key}, round {context.round}"
        masked = any(t.stage == Stage.MASK for t in plan.transforms)
        # Under masks half of the cohort must be enough for all the noise; else each client is.
        if any(
            t.stage == Stage.SUPPRESS and not isinstance(t, QueryLimit) for t in plan.transforms
        ):
            # Whether something is withheld may hang on one record, and no noise hides that.
            raise Refusal(f"{what}: nothing may be withheld where noise is added")
        if self.share < (1.0 / math.ceil(len(context.cohort) / 2) if masked else 1.0) - 1e-12:
            raise Refusal(f"{what}: a share of {self.share:g} of the noise is too little")
        total = plan.algorithm.sensitivity(context.down) / self.mu
        if not total >= LEAST:  # the account is that of continuous noise
            raise Refusal(f"{what}: mu={self.mu:g} leaves noise of fewer than {LEAST:,.0f} steps")
        size = total * self.share**0.5
        if not size < LARGEST:  # beyond, sums would wrap, and what wraps is not hidden
            raise Refusal(f"{what}: mu={self.mu:g} needs more noise than integers can hold")
        arrays = message.arrays()
        n = sum(a.size for a in arrays.values())
        question = digest(query_digest(context), *array_parts(arrays))
        noise = policy.noise(question, self.mu**2, what, lambda: gaussian(size, n))
        parts = np.split(noise, np.cumsum([a.size for a in arrays.values()])[:-1])
        noised = {
            name: array + part.reshape(array.shape)
            for (name, array), part in zip(arrays.items(), parts, strict=True)
        }
        return type(message).from_arrays(noised)


def gaussian(scale: float, n: int) -> IntArray:
    """Independent draws from the discrete Gaussian distribution."""
    return np.array(_sampler(float(scale))([0] * n), dtype=np.int64)


@lru_cache(maxsize=64)
def _sampler(scale: float) -> Any:
    try:
        import opendp.prelude as dp
    except ImportError:
        raise ConfigError("differential privacy needs OpenDP: pip install 'fedclust[dp]'") from None
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T=float)
    return dp.m.make_gaussian(*space, scale=scale)
